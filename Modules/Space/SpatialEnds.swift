internal import RenderCore

/// Lets the sound end softly that sources leave in an environment when they move elsewhere while they sound: in the channels that they do
/// not go on with, such as that of the reverb, it would end with a step. It falls to nothing in a few milliseconds instead.
struct SpatialEnds: ~Copyable, Sendable {
    /// The last sample of each channel, and what is left to fall.
    private var last = SIMD16<Float>(repeating: 0)
    private var rest = SIMD16<Float>(repeating: 0)
    private var isFalling = false
    /// The number of the last move that was heard.
    private var seen = 0

    /// A move of a source from an environment: its number, and the first channel in which its sound ends.
    struct Move: ~Copyable, Sendable {
        var number = 0
        var first = 0
    }

    init() {}

    /// Forgets the sound.
    @_noLocks @_noAllocation
    mutating func reset() { (last, rest, isFalling) = (SIMD16(repeating: 0), SIMD16(repeating: 0), false) }

    /// Goes on with the top, the sum of all sources.
    ///
    /// - Parameters:
    ///   - move: The number of the last move.
    ///   - first: The first channel in which its sound ends.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, _ move: Int, from first: Int) {
        let (channels, frames) = (min(context.channelCount(), 16), context.frameCount)
        if frames == 0 { return }
        if move != seen {
            seen = move
            var channel = first
            while channel < channels {
                let step = last[channel] - context.samples(channel)[0]
                // Sound that is no number, or beyond all measure, leaves nothing.
                rest[channel] = abs(step) < 16 ? step : 0
                channel &+= 1
            }
            isFalling = true
        }
        if isFalling { fall(&context, channels) }
        for channel in 0..<channels { last[channel] = context.samples(channel)[frames &- 1] }
    }

    @_noLocks @_noAllocation
    private mutating func fall(_ context: inout RenderContext, _ channels: Int) {
        isFalling = false
        let decay = RenderMath.exp(Float(-1 / (0.002 * context.sampleRate)))
        var top = context.top
        for channel in 0..<channels where rest[channel] != 0 {
            var value = rest[channel]
            var samples = top[channel]
            for i in samples.indices {
                samples[i] += value
                value *= decay
                if !(abs(value) > 1e-7) { value = 0 }
            }
            rest[channel] = value
            if value != 0 { isFalling = true }
        }
    }
}
