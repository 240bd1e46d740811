public import RenderStack

/// A sine that is a function of the sample clock: where another clock reads it, each sample can be computed.
public final class ClockSine: Generator {
    private let frequency: Double

    /// - Parameter frequency: In hertz.
    public init(_ frequency: Double) { self.frequency = frequency }

    /// Pushes the sine of a slice, with an amplitude of a half.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let (start, rate) = (context.sampleTime, context.sampleRate)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            let turns = frequency / rate * Double(start + Int64(i))
            samples[i] = Float(0.5 * RenderMath.sin(2 * Double.pi * (turns - Double(Int64(turns)))))
        }
    }
}

/// A renderer of one generator, in mono, on a small stack.
public func monoRenderer(_ module: some Generator, rate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: rate, channels: 1, layout: StackLayout(slots: 4, channels: 2, frames: 64)) { context in
        context.run(module)
        context.output()
    }
}
