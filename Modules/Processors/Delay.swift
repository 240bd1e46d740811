public import RenderCore

/// Adds echoes: the sound again after a time, and again, each time duller and softer. Edits the top.
///
///     let delay = Delay(time: 0.25, feedback: 0.4)
///     let dotted = Delay(beats: 0.75, feedback: 0.4)         // three quarters of a beat at the renderer's tempo
///
/// The memory is made on the control side, for the longest time, the sample rate and the most channels of the stack: 4 bytes
/// a frame and channel, 3 MB for 2 s of 8 channels at 48 kHz.
/// Latency: none (the dry sound is not delayed). The shortest time is one frame.
///
/// A whole number of frames is exact; between two frames it interpolates, flat within 0.01 dB up to 0.35 of the sample
/// rate (<doc:Filters>). The sound in the loop is limited above +12 dB and never exceeds +18 dB, so that a feedback of
/// 1 or -1 stays bounded whatever the input is.
///
/// Threads: control.
public final class Delay: Effect {
    /// The time between two echoes in seconds, from one frame to ``maximumTime``. ``Change`` has the ways in which a
    /// change arrives.
    public let time: Parameter
    /// The time between two echoes in beats of `Renderer.tempo`, 0…1024; 0: the ``time`` counts. It is taken as the
    /// nearest whole number of frames, from one frame to ``maximumTime``, which has to be long enough for the slowest
    /// tempo. When the tempo changes, the time changes like one that is set: ``Change``.
    public let beats: Parameter
    /// The share of an echo that goes into the next: -1…1.
    public let feedback: Parameter
    /// The cut-off of the low-pass filter in the loop, 6 dB an octave, in hertz: 10…half of the sample rate, where it is
    /// open. The first echo has not passed it.
    public let cutoff: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free; the echoes are forgotten) to echoes alone (1).
    /// When it leaves 0, the sound fades into the delay in 10 ms, so that no echo begins in the middle of a wave.
    public let mix: Parameter
    /// The longest time there is memory for, in seconds.
    public let maximumTime: Double
    /// Indicates whether echoes go from side to side. The sum of left and right goes in, and the first echo is on the
    /// left. Mono becomes stereo; of more channels each pair has its own.
    public let isPingPong: Bool

    private let change: DelayLoop.Change
    private let loop = RenderState(DelayLoop(channels: 1, frames: 1))

    /// The ways in which the time changes.
    ///
    /// Threads: any.
    public enum Change: Sendable, Hashable {
        /// The time changes like that of a tape whose speed changes: the echoes change their pitch on the way. A change
        /// on the way sets out anew.
        case glide(Duration)
        /// The sound fades from the old time to the new one, without a change of pitch. A change on the way waits for
        /// its end.
        case crossfade(Duration)
    }

    /// Creates a delay.
    ///
    /// - Parameters:
    ///   - time: In seconds.
    ///   - beats: In beats, instead of a time.
    ///   - feedback: -1…1.
    ///   - cutoff: Of the filter in the loop, in hertz.
    ///   - mix: 0…1.
    ///   - maximumTime: The longest time that may be set, in seconds. Of all channels together 4 GB are kept: at 48 kHz
    ///     and 8 channels 46 minutes, which a longer time becomes.
    ///   - isPingPong: `true` to send echoes from side to side.
    ///   - change: The way in which the time changes.
    /// - Precondition: `maximumTime` is more than 0 and at most an hour.
    public init(
        time: Float = 1, beats: Float = 0, feedback: Float = 0.5, cutoff: Float = 15_000, mix: Float = 0.5,
        maximumTime: Double = 2,
        isPingPong: Bool = false, change: Change = .crossfade(.milliseconds(50))
    ) {
        demand(
            maximumTime > 0 && maximumTime <= 3_600,
            "Delay: a maximum time of \(maximumTime) s; it must be more than 0 and up to 3,600")
        self.time = Parameter(time, in: 0...Float(maximumTime), unit: .seconds, glide: .none)
        self.beats = Parameter(beats, in: 0...1_024, unit: .beats, glide: .none)
        self.feedback = Parameter(feedback, in: -1...1)
        self.cutoff = Parameter(
            cutoff, in: 10...192_000, limit: .fractionOfRate(0.5), unit: .hertz, glide: .exponential(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1)
        self.maximumTime = maximumTime
        self.isPingPong = isPingPong
        switch change {
        case .glide(let time): self.change = DelayLoop.Change(isCrossfade: false, seconds: max(0, time.inSeconds))
        case .crossfade(let time): self.change = DelayLoop.Change(isCrossfade: true, seconds: max(0, time.inSeconds))
        }
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        let frames = Int((maximumTime * preparation.sampleRate).rounded(.up)) + 1
        // An hour of 64 channels at 1 MHz is more than a machine has.
        let longest = (1 << 30) / preparation.maximumChannelCount
        loop.replace(with: DelayLoop(channels: preparation.maximumChannelCount, frames: min(frames, longest)))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            time.named("time"), beats.named("beats"), feedback.named("feedback"), cutoff.named("cutoff"),
            mix.named("mix"),
        ]
    }

    /// Adds the echoes to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let beats = beats.current(context)
        let time =
            beats > 0
            ? DelayLoop.wholeFrames(min(context.frames(beats: Double(beats)), maximumTime * context.sampleRate))
            : DelayLoop.frames(time.current(context), context.sampleRate)
        let settings = DelayLoop.Settings(
            frames: time, feedback: feedback.glide(context), cutoff: cutoff.glide(context),
            mix: mix.glide(context), change: change, isPingPong: isPingPong)
        let frames = settings.mix.lastFrame(of: context.frameCount)
        if frames > 0 && settings.isPingPong && context.channelCount() == 1 {
            // Mono into two channels goes to both.
            context.push(channels: 2)
            context.mix(2)
        }
        loop.with(&context) { loop, context in
            if frames > 0 { loop.process(&context, settings, frames: frames) }
            if frames < context.frameCount { loop.rest(context.sampleRate) }
        }
    }

    /// Forgets all echoes.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { loop.with(&context) { loop, _ in loop.reset() } }
}

extension DelayLoop {
    /// The parameters in a slice.
    struct Settings: Sendable, BitwiseCopyable {
        /// The time between two echoes.
        var frames: Double
        var feedback: Glide
        var cutoff: Glide
        var mix: Glide
        var change: Change
        var isPingPong: Bool
    }
}
