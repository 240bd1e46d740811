// A render loop that captures a variable: it would be shared between threads.
import RenderStack

func make() throws -> Renderer {
    var level: Float = 0.5
    defer { level = 1 }
    return try Renderer { context in context.gain(level) }  // expected-error {{reference to captured var 'level' in concurrently-executing code}}
}
