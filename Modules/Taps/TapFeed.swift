internal import RenderCore
internal import Synchronization

/// The pipe from a tap to control code: a ring, and the number of frames that did not fit into it.
struct TapFeed: ~Copyable, Sendable {
    /// The frames that were heard and not yet taken.
    let ring: AudioRing
    private let lost = Atomic<Int>(0)
    /// The owner that writes: the ring has one writer.
    private let writer = RenderState<Bool>(false)

    /// - Parameters:
    ///   - channels: Channels that are kept, 1…64.
    ///   - seconds: The time that may wait, in seconds, up to 96 kHz; less at higher rates.
    init(channels: Int, seconds: Double) {
        ring = AudioRing(seconds: seconds, channels: channels, sampleRate: 96_000)
    }

    /// Frames that found the ring full.
    var lostFrameCount: Int { lost.load(ordering: .relaxed) }

    /// Frames that wait now. Who takes them takes no more: a renderer that runs offline may bring others as fast, without end.
    var waitingFrames: Int { ring.availableFrames }

    /// Counts frames that were lost elsewhere.
    func countLost(_ frames: Int) { lost.wrappingAdd(frames, ordering: .relaxed) }

    func prepare(_ preparation: Preparation) { ring.setSampleRate(preparation.sampleRate) }

    /// Copies the top. Mono goes to every channel; else channel to channel, and a channel without a counterpart is
    /// silent or left out.
    @_noLocks @_noAllocation
    borrowing func write(_ context: borrowing RenderContext) {
        guard writer.belongs(to: context) else { return }
        let frames = context.frameCount
        var grant = ring.reserve(frames: frames, time: context.time)
        if grant.frameCount == 0 {
            lost.wrappingAdd(frames, ordering: .relaxed)
            return
        }
        let channels = context.channelCount()
        var channel = 0
        while channel < ring.channelCount {
            if channels == 1 {
                ring.write(context.samples(0), channel: channel, to: &grant)
            } else if channel < channels {
                ring.write(context.samples(channel), channel: channel, to: &grant)
            }
            channel &+= 1
        }
        ring.commit(grant)
    }
}
