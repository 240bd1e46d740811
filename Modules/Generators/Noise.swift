public import RenderCore

/// White or pink noise. Pushes one buffer of as many independent channels as were asked for; no latency.
///
///     let hiss = Noise(.white, level: 0.1)
///     let test = Noise(.pink, channels: 2, seed: 7)
///
/// White noise is evenly distributed between -1 and 1 times the level: RMS -4.77 dB. Pink noise falls by 3.01 dB per
/// octave, within 0.21 dB from 0.0001 of the sample rate (20 Hz at 192 kHz) up to half of it: RMS -16 dB, nearly normally
/// distributed. A seed gives the same samples each time, after a reset too, however the cycles are cut.
public final class Noise: Generator {
    /// What the levels are multiplied by: an amplitude factor.
    public let level: Parameter
    /// What the noise is like.
    public let color: NoiseKernel.Color
    /// Channels of its buffer.
    public let channelCount: Int
    /// Which sequence it is.
    public let seed: UInt64

    private let state: RenderState<Channels>

    private struct Channels: ~Copyable, Sendable {
        var kernels: RenderMemory<NoiseKernel>

        init(_ color: NoiseKernel.Color, _ count: Int, _ seed: UInt64) {
            kernels = RenderMemory(repeating: NoiseKernel(color), count: count)
            for channel in 0..<count { kernels[channel] = NoiseKernel(color, seed: seed, channel: channel) }
        }
    }

    /// Noise.
    ///
    /// - Parameters:
    ///   - color: what it is like, for good.
    ///   - level: an amplitude factor, 0…4.
    ///   - channels: channels of its buffer, 1…64, for good; not more than the renderer's layout has.
    ///   - seed: which sequence. The same seed gives the same noise.
    /// - Precondition: the number of channels is in range.
    public init(_ color: NoiseKernel.Color = .white, level: Float = 1, channels: Int = 1, seed: UInt64 = 0) {
        precondition((1...64).contains(channels), "Noise: \(channels) channels; it must be 1…64")
        self.color = color
        self.level = Parameter(level, in: 0...4)
        channelCount = channels
        self.seed = seed
        state = RenderState(Channels(color, channels, seed))
    }

    /// Pushes a slice of noise.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channelCount)
        let level = level.glide(context)
        state.with(&context) { state, context in
            var top = context.top
            var channel = 0
            while channel < top.channelCount {
                var samples = top[channel]
                state.kernels[channel].render(into: &samples)
                level.apply(to: &samples)
                channel &+= 1
            }
        }
    }

    /// Begins its sequence anew.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        state.with(&context) { state, _ in
            var channel = 0
            while channel < state.kernels.count {
                state.kernels[channel].reset()
                channel &+= 1
            }
        }
    }
}
