import RenderStack

/// The symmetrical clipper at several times the sample rate: the harmonics that it adds above half of the rate are
/// filtered away instead of being folded back to where they do not belong.
///
/// 1 in, 1 out. Latency: the reach of the two filters, see ``latency(at:)``; none at 1, which is the plain clipper.
final class OversampledClipper: Effect {
    /// An amplitude factor before the clipping.
    let drive = Parameter(1, in: 0...100)
    /// And one behind it.
    let level = Parameter(0.5, in: 0...1)
    var parameters: [ParameterReference] { [drive.named("drive"), level.named("level")] }

    /// Frames of delay.
    private let delay: Int
    private let line: RenderState<Line>

    /// The frames on their way up and down.
    private struct Line: ~Copyable, Sendable {
        /// The number of frames that are taken at once.
        static var chunk: Int { @_noLocks @_noAllocation get { 64 } }

        let factor: Int
        var up: Resampler
        var down: Resampler
        var low: AudioBlock
        var high: AudioBlock

        init(factor: Int, channels: Int) {
            self.factor = factor
            let step = Double(factor)
            up = Resampler(channels: channels, steps: 1 / step...1 / step)
            down = Resampler(channels: channels, steps: step...step)
            low = AudioBlock(channels: channels, frames: Self.chunk)
            high = AudioBlock(channels: channels, frames: Self.chunk * factor)
            reset()
        }

        @_noLocks @_noAllocation
        mutating func reset() {
            let step = Double(factor)
            up.reset(latency: up.latency(at: 1 / step), at: 1 / step)
            down.reset(latency: down.latency(at: step), at: step)
        }

        /// Frames of delay, at the lower rate.
        var latency: Int { up.latency(at: 1 / Double(factor)) / factor + down.latency(at: Double(factor)) }

        /// Clips the first frames of `low`.
        @_noLocks @_noAllocation
        mutating func clip(_ count: Int) {
            let frames = count * factor
            let (upwards, downwards) = (Resampler.Step(1 / Double(factor)), Resampler.Step(Double(factor)))
            up.push(low, frames: count)
            up.pull(frames, at: upwards, into: &high)
            for channel in 0..<high.channelCount {
                var samples = high[channel]
                for i in 0..<frames { samples[i] = symmetricallyClipped(samples[i]) }
            }
            down.push(high, frames: frames)
            down.pull(count, at: downwards, into: &low)
        }
    }

    /// - Parameters:
    ///   - factor: The factor of the sample rate, 1…16.
    ///   - channels: Channels of the buffer.
    /// - Precondition: The factor is in range.
    init(times factor: Int, channels: Int) {
        precondition(factor >= 1 && factor <= 16, "OversampledClipper: \(factor) times; it must be 1…16")
        delay = Line(factor: factor, channels: channels).latency
        line = RenderState(Line(factor: factor, channels: channels))
    }

    func latency(at sampleRate: Double) -> Int { delay }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let drive = drive.glide(context)
        let level = level.glide(context)
        line.with(&context) { line, context in
            let channels = min(context.channelCount(), line.low.channelCount)
            var first = 0
            while first < context.frameCount {
                let rest = context.frameCount - first
                let count = rest < Line.chunk ? rest : Line.chunk
                for channel in 0..<channels {
                    let samples = context.samples(channel)
                    var low = line.low[channel]
                    for i in 0..<count { low[i] = drive[first + i] * samples[first + i] }
                }
                line.clip(count)
                var top = context.top
                for channel in 0..<channels {
                    let low = line.low.samples(channel)
                    var samples = top[channel]
                    for i in 0..<count { samples[first + i] = level[first + i] * low[i] }
                }
                first += count
            }
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { line.with(&context) { line, _ in line.reset() } }
}

/// Straight to a third, a parabola to two thirds, flat above: see `symmetric-clipper`.
@_noLocks @_noAllocation
private func symmetricallyClipped(_ x: Float) -> Float {
    let size = abs(x)
    if size < 1 / 3 { return 2 * x }
    let bend = size < 2 / 3 ? 2 - 3 * size : 0
    let clipped = 1 - bend * bend / 3
    return x < 0 ? -clipped : clipped
}
