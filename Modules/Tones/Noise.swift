public import RenderCore

/// White or pink noise. Pushes one buffer of several independent channels; no latency.
///
///     let hiss = Noise(.white, level: 0.1)
///     let test = Noise(.pink, channels: 2, seed: 7)
///
/// White noise is evenly distributed between -1 and 1 times the level: RMS -4.77 dB. Pink noise falls by 3.01 dB per
/// octave, within 0.21 dB from 0.0001 of the sample rate (20 Hz at 192 kHz) up to half of it: RMS -16 dB, nearly normally
/// distributed. A seed gives the same samples each time, after a reset too, however the cycles are cut.
///
/// Threads: control.
public final class Noise: Generator {
    /// The factor of the noise: an amplitude factor.
    public let level: Parameter
    /// The color of the noise.
    public let color: NoiseCore.Color
    /// Channels of its buffer.
    public let channelCount: Int
    /// The number of its random sequence.
    public let seed: UInt64

    private let state: RenderState<Channels>

    private struct Channels: ~Copyable, Sendable {
        var cores: RenderMemory<NoiseCore>

        init(_ color: NoiseCore.Color, _ count: Int, _ seed: UInt64) {
            cores = RenderMemory(repeating: NoiseCore(color), count: count)
            for channel in 0..<count { cores[channel] = NoiseCore(color, seed: seed, channel: channel) }
        }
    }

    /// Creates a generator of noise.
    ///
    /// - Parameters:
    ///   - color: The color of the noise, for good.
    ///   - level: The amplitude factor, 0…4.
    ///   - channels: The channels of its buffer, 1…64, for good; not more than the renderer's layout has.
    ///   - seed: The number of the sequence. The same seed gives the same noise.
    /// - Precondition: The number of channels is in range.
    public init(_ color: NoiseCore.Color = .white, level: Float = 1, channels: Int = 1, seed: UInt64 = 0) {
        demand((1...64).contains(channels), "Noise: \(channels) channels; it must be 1…64")
        self.color = color
        self.level = Parameter(level, in: 0...4)
        channelCount = channels
        self.seed = seed
        state = RenderState(Channels(color, channels, seed))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [level.named("level")] }

    /// Pushes a slice of noise.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channelCount)
        let level = level.glide(context)
        state.with(&context) { state, context in
            var top = context.top
            var channel = 0
            while channel < top.channelCount {
                var samples = top[channel]
                state.cores[channel].render(into: &samples)
                level.apply(to: &samples)
                channel &+= 1
            }
        }
    }

    /// Begins its sequence anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        state.with(&context) { state, _ in
            var channel = 0
            while channel < state.cores.count {
                state.cores[channel].reset()
                channel &+= 1
            }
        }
    }
}
