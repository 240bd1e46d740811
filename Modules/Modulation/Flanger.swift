import Processors
public import RenderCore
public import Tones

/// Adds the sound again after a very short time that goes up and down: a comb whose teeth wander. Edits the top.
///
///     let flanger = Flanger(rate: 0.1, feedback: 0.7)
///     let hollow = Flanger(beats: 16, feedback: -0.8)             // the other teeth; a turn of sixteen beats
///
/// The delay is `delay · (1 + depth · wave)`, two frames at least. What comes out of it goes in again by the feedback. With
/// a depth of 0 this is a comb at rest: its gain is `1 - mix + mix · z / (1 - feedback · z)`, where z is the delay.
/// The sound that goes round is limited above +12 dB and never exceeds +18 dB, as in a `Delay`.
///
/// The even channels are left, the odd ones right. Between two samples it reads over four (-1.1 dB at a quarter of the
/// sample rate midway). Latency: none, the dry sound is not delayed.
///
/// Threads: control.
public final class Flanger: Effect {
    /// The turns of the wave in a second: 0…20 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The delay in the middle of its way, in seconds: 0.0001…0.02. A change takes 200 ms.
    public let delay: Parameter
    /// The distance that the delay goes up and down, as a share of it: 0…1. A change takes 100 ms.
    public let depth: Parameter
    /// The share of the delayed sound that goes in again: -0.98…0.98.
    public let feedback: Parameter
    /// The difference of the two sides, from 0 (alike) to 1 (one goes up while the other goes down).
    public let spread: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free; the delayed sound is forgotten) to the delayed sound
    /// alone (1). The comb is deepest at ½.
    public let mix: Parameter
    /// The shape of a turn.
    public let shape: LFOCore.Shape

    private let loop: RenderState<FlangerLoop>

    /// Creates a flanger.
    ///
    /// - Parameters:
    ///   - shape: A sine, a triangle or a random curve.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - delay: In seconds.
    ///   - depth: 0…1.
    ///   - feedback: -0.98…0.98.
    ///   - spread: 0…1.
    ///   - mix: 0…1.
    /// - Precondition: The shape has no jumps.
    public init(
        _ shape: LFOCore.Shape = .sine, rate: Float = 0.2, beats: Float = 0, delay: Float = 0.003, depth: Float = 0.8,
        feedback: Float = 0.5, spread: Float = 0.5, mix: Float = 0.5
    ) {
        shape.demandNoJumps("Flanger")
        self.shape = shape
        self.rate = .turns(rate, upTo: 20)
        self.beats = .beatsOfATurn(beats)
        self.delay = Parameter(delay, in: 0.0001...0.02, unit: .seconds, glide: .smooth(.milliseconds(200)))
        self.depth = Parameter(depth, in: 0...1, glide: .smooth(.milliseconds(100)))
        self.feedback = Parameter(feedback, in: -0.98...0.98, glide: .smooth(.milliseconds(20)))
        self.spread = Parameter(spread, in: 0...1, glide: .smooth(.milliseconds(50)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        loop = RenderState(FlangerLoop(channels: 1, sampleRate: 48_000))
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        loop.replace(
            with: FlangerLoop(channels: preparation.maximumChannelCount, sampleRate: preparation.sampleRate))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            rate.named("rate"), beats.named("beats"), delay.named("delay"), depth.named("depth"),
            feedback.named("feedback"), spread.named("spread"), mix.named("mix"),
        ]
    }

    /// Adds the delayed sound to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = FlangerLoop.Settings(
            pace: SlowWave.Pace(context, shape, rate: rate, beats: beats),
            sweep: SweptLine.Sweep(
                delay: delay.glide(context), depth: depth.glide(context), isShare: true,
                sampleRate: context.sampleRate),
            feedback: feedback.glide(context), spread: spread.glide(context), mix: mix.glide(context))
        let frames = settings.mix.lastFrame(of: context.frameCount)
        loop.withTop(&context) { loop, top in loop.process(&top, settings, frames: frames) }
    }

    /// Forgets the sound before, and begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { loop.with(&context) { loop, _ in loop.reset() } }
}

/// The lines of a ``Flanger`` with their feedback.
private struct FlangerLoop: ~Copyable, Sendable {
    /// The parameters in a slice.
    struct Settings: Sendable, BitwiseCopyable {
        var pace: SlowWave.Pace
        var sweep: SweptLine.Sweep
        var feedback: Glide
        var spread: Glide
        var mix: Glide
    }

    private var line: SweptLine
    private var wave = SlowWave(reach: 0.5, movesDelay: true)

    init(channels: Int, sampleRate: Double) {
        line = SweptLine(
            channels: channels, frames: Int(0.04 * sampleRate) + 4, columns: 2)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        wave.reset()
        line.reset()
    }

    @_noLocks @_noAllocation
    mutating func process(_ top: inout AudioBuffer, _ settings: Settings, frames: Int) {
        line.process(
            &top, settings.pace, settings.sweep, spread: settings.spread, &wave, frames: frames
        ) { line, top, channel, column, first, count in
            var samples = top[channel]
            FlangerLoop.turn(&line, &samples, channel, column: column, settings, from: first, count: count)
        }
    }

    @_noLocks @_noAllocation
    private static func turn(
        _ line: inout SweptLine, _ samples: inout MutableSpan<Float>, _ channel: Int, column: Int,
        _ settings: Settings, from first: Int, count: Int
    ) {
        let fades = !line.fadeIn.isOver
        for i in 0..<count {
            let frame = first &+ i
            let dry = samples[frame]
            let wet = line.read(channel, column: column, frame: i)
            let fed = fades ? dry * line.fadeIn.gain(i) : dry
            line.write(
                channel, frame: i, Kernel.keptInLoop(fed + settings.feedback[frame] * Kernel.heldInLoop(wet)))
            let share = settings.mix[frame]
            samples[frame] = dry * (1 - share) + wet * share
        }
    }
}
