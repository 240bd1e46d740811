import RenderStack

/// Pushes the values of a parameter at each frame, and in a second channel the value that is read once in a slice.
final class Probe: Generator {
    let parameter: Parameter
    private let channels: Int

    init(
        _ value: Float = 0, in range: ClosedRange<Float> = -1...1, limit: Parameter.RateLimit? = nil,
        glide: Parameter.Curve = .none, channels: Int = 2
    ) {
        self.channels = channels
        parameter = Parameter(value, in: range, limit: limit, glide: glide)
    }

    var parameters: [ParameterReference] { [parameter.named("parameter")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        let glide = parameter.glide(context)
        let current = parameter.current(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = glide[i] }
        if channels < 2 { return }
        var others = top[1]
        for i in others.indices { others[i] = current }
    }
}

/// A renderer that runs an automation and the probe that it sets.
func renderer(_ automation: Automation, _ probe: Probe, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, layout: StackLayout(frames: 4_096)) { context in
        context.run(automation)
        context.run(probe)
        context.output()
    }
}
