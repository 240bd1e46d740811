// A render loop that captures an object that any thread may change.
import RenderStack

final class Settings { var level: Float = 1 }  // expected-note {{class 'Settings' does not conform to the 'Sendable' protocol}}

func make(_ settings: Settings) throws -> Renderer {
    try Renderer { context in context.gain(settings.level) }  // expected-error {{capture of 'settings' with non-Sendable type 'Settings' in a '@Sendable' closure}}
}
