import RenderStack
import RenderStackPlugin

/// An effect of two modules.
public let plugin = Plugin(
    uri: "https://example.org/warm", name: "Warm", category: .distortion, author: "A. Uthor",
    license: "http://opensource.org/licenses/MIT", presets: [.init("Hot", ["Drive": 24])]
) { rate in
    let drive = Distortion(.tanh), filter = LowPass()
    return .effect(parameters: [drive.drive.named("Drive"), filter.cutoff.named("Cut-off")]) { context in
        context.run(drive)
        context.run(filter)
    }
}
