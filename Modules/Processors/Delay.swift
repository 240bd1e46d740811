public import RenderCore

/// Echoes: the sound again after a time, and again, each time duller and softer. Edits the top.
///
///     let delay = Delay(time: 0.25, feedback: 0.4)
///
/// The memory is made on the control side, for the longest time, the sample rate and the most channels of the stack: 4 bytes
/// a frame and channel, 3 MB for 2 s of 8 channels at 48 kHz.
/// Latency: none (the dry sound is not delayed). The shortest time is one frame.
///
/// A whole number of frames is exact; between two frames it interpolates, flat within 0.01 dB up to 0.35 of the sample
/// rate (<doc:Filters>). What goes round in the loop is limited above +12 dB and never exceeds +18 dB, so that a feedback of
/// 1 or -1 stays bounded whatever comes in.
public final class Delay: Effect {
    /// The time between two echoes in seconds, from one frame to ``maximumTime``. How a change arrives: ``Change``.
    public let time: Parameter
    /// How much of an echo goes into the next: -1…1.
    public let feedback: Parameter
    /// The cut-off of the low-pass filter in the loop, 6 dB an octave, in hertz: 10…half of the sample rate, where it is
    /// open. The first echo has not passed it.
    public let cutoff: Parameter
    /// From the sound as it was (0, bit for bit and for free; the echoes are forgotten) to echoes alone (1).
    public let mix: Parameter
    /// The longest time there is memory for, in seconds.
    public let maximumTime: Double
    /// Whether echoes go from side to side. The sum of left and right goes in, the first echo is on the left; mono becomes
    /// stereo, of more channels each pair has its own.
    public let isPingPong: Bool

    private let change: DelayLoop.Change
    private let loop = RenderState(DelayLoop(channels: 1, frames: 1))

    /// How the time changes.
    public enum Change: Sendable, Hashable {
        /// As the speed of a tape: the echoes change their pitch on the way. A change on the way sets out anew from there.
        case glide(Duration)
        /// From the old time to the new one, without a change of pitch. A change on the way waits for its end.
        case crossfade(Duration)
    }

    /// A delay.
    ///
    /// - Parameters:
    ///   - time: in seconds.
    ///   - feedback: -1…1.
    ///   - cutoff: of the filter in the loop, in hertz.
    ///   - mix: 0…1.
    ///   - maximumTime: the longest time that may be set, in seconds.
    ///   - isPingPong: whether echoes go from side to side.
    ///   - change: how the time changes.
    /// - Precondition: `maximumTime` is more than 0 and at most an hour.
    public init(
        time: Float = 1, feedback: Float = 0.5, cutoff: Float = 15_000, mix: Float = 0.5, maximumTime: Double = 2,
        isPingPong: Bool = false, change: Change = .crossfade(.milliseconds(50))
    ) {
        precondition(maximumTime > 0 && maximumTime <= 3_600, "Delay: a maximum time of \(maximumTime) s")
        self.time = Parameter(time, in: 0...Float(maximumTime), unit: .seconds, glide: .none)
        self.feedback = Parameter(feedback, in: -1...1)
        self.cutoff = Parameter(
            cutoff, in: 10...192_000, limit: .fractionOfRate(0.5), unit: .hertz, glide: .exponential(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
        self.maximumTime = maximumTime
        self.isPingPong = isPingPong
        switch change {
        case .glide(let time): self.change = DelayLoop.Change(isCrossfade: false, seconds: time / .seconds(1))
        case .crossfade(let time): self.change = DelayLoop.Change(isCrossfade: true, seconds: time / .seconds(1))
        }
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        let frames = Int((maximumTime * preparation.sampleRate).rounded(.up)) + 1
        loop.replace(with: DelayLoop(channels: preparation.maximumChannelCount, frames: frames))
    }

    /// Adds the echoes to the top.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = DelayLoop.Settings(
            seconds: time.current(context), feedback: feedback.glide(context), cutoff: cutoff.glide(context),
            mix: mix.glide(context), change: change, isPingPong: isPingPong)
        let frames = settings.mix.lastFrame(of: context.frameCount)
        if frames > 0 && settings.isPingPong && context.channelCount() == 1 {
            // Mono into two channels goes to both.
            context.push(channels: 2)
            context.mix(2)
        }
        loop.with(&context) { loop, context in
            if frames > 0 { loop.process(&context, settings, frames: frames) }
            if frames < context.frameCount { loop.reset() }
        }
    }

    /// Forgets all echoes.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { loop.with(&context) { loop, _ in loop.reset() } }
}
