public import RenderStack

/// Plays samples once, then silence.
public final class Playback: Generator {
    private struct Line: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        let channels: Int
        let frames: Int
        var position = 0

        init(_ input: [[Float]]) {
            channels = input.count
            frames = input[0].count
            samples = RenderMemory(repeating: 0, count: channels * frames)
            var all = samples.span
            for (i, sample) in input.joined().enumerated() { all[i] = sample }
        }
    }
    private let line: RenderState<Line>
    private let channels: Int

    /// - Parameter input: The channels, all of them as long.
    public init(_ input: [[Float]]) {
        line = RenderState(Line(input))
        channels = input.count
    }

    /// Pushes the samples of a slice.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        line.with(&context) { line, context in
            let (channels, frames, position) = (line.channels, line.frames, line.position)
            let count = min(frames - position, context.frameCount)
            line.position += count
            var top = context.top
            for channel in 0..<channels {
                var samples = top[channel]
                for i in 0..<count { samples[i] = line.samples[channel * frames + position + i] }
            }
        }
    }
}
