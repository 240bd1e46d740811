import RenderCore

/// The note that a slice leaves to the next one if its last block was a hard clip between two gains at rest: as long as no
/// parameter is set, the next slice clips in the same way, and does not have to ask the parameters.
struct DistortionRest: Sendable, BitwiseCopyable {
    /// Indicates whether the last block was such a clip.
    var clips = false
    /// The number of times that a parameter had been set before the parameters were read; `nil` if one of them moves.
    var changes: UInt64?
    var sampleRate = 0.0
    /// How far the ring modulation moves in a frame, though it is not heard.
    var ringStep: UInt64 = 0

    @_noLocks @_noAllocation
    init() {}
}

extension DistortionCore {
    /// Notes that all parameters are at rest, and have been set so many times.
    @_noLocks @_noAllocation
    mutating func rest(_ changes: UInt64, _ settings: Settings, _ context: borrowing RenderContext) {
        guard rest.clips else { return }
        rest.changes = changes
        rest.sampleRate = context.sampleRate
        rest.ringStep = controls.ringStep(settings.ringFrequency.end)
    }

    /// Clips the top as the slice before did. Returns `false` if something has changed since then, and does nothing.
    @_noLocks @_noAllocation
    mutating func clipAtRest(_ context: inout RenderContext, _ changes: UInt64) -> Bool {
        guard rest.changes == changes && rest.sampleRate == context.sampleRate else { return false }
        let frames = context.frameCount
        if frames == 0 { return true }
        var channel = 0
        let channels = min(context.channelCount(), channelCount)
        while channel < channels {
            clip(&context, channel, 0, frames)
            channel &+= 1
        }
        ringPhase &+= rest.ringStep &* UInt64(truncatingIfNeeded: frames)
        return true
    }

    /// Clips frames of one channel where they are: what ``distort(_:_:_:_:_:_:echoes:)`` does, without its copies.
    @_noLocks @_noAllocation
    mutating func clip(_ context: inout RenderContext, _ channel: Int, _ first: Int, _ count: Int) {
        let last = first &+ count &- 1
        var top = context.top
        var samples = top[channel]
        // The latency is one frame here, and all of the dry sound that is not heard yet.
        dry[channel &* (latency &+ HalfBandResampler.room)] = samples[last]
        Signal.hardClip(&samples, from: first, count: count, gain: controls.drive[0], past: &past, at: 2 &* channel)
        filter.pass(samples[last], channel: channel)
        let level = controls.level[0]
        if level != 1 { for i in first...last { samples[i] *= level } }
    }
}
