public import RenderCore

/// Makes soft passages softer: each dB of the key below the threshold becomes as many as the ratio says. Edits the top.
///
///     let expander = Expander(threshold: -45, ratio: 2, range: 20)
///     …
///     context.run(guitar)
///     context.run(expander)                   // hum and hiss between the notes are up to 20 dB softer
///
/// Level, curve, knee and key are those of a ``Compressor``. In ``attack`` seconds the gain in dB goes 1 - 1/e (63 %) of the
/// way up to where the curve wants it, in ``release`` seconds as much of the way down. The first frame after a reset begins
/// where the curve wants it. <doc:DynamicsAndColour> has the formulas.
///
/// At a ratio of 1 or a range of 0, and a make-up of 0, the sound stays as it is, bit for bit. Up to 64 channels.
/// Latency: the look-ahead in whole frames; none without. The dry sound is as late as the expanded one.
///
/// Threads: control.
public final class Expander: Module {
    /// The level below which the sound is made softer, in dB of full scale: -80…12.
    public let threshold: Parameter
    /// The decibels of the sound below the threshold for each of the key: 1…100. 1 changes nothing.
    public let ratio: Parameter
    /// The width in dB of the part of the curve that bends, with the threshold in its middle: 0…40. 0 is a corner.
    public let knee: Parameter
    /// The largest reduction in dB: 0…120.
    public let range: Parameter
    /// The time of the way to a smaller reduction, in seconds: 0.00002…1.
    public let attack: Parameter
    /// The time of the way to a larger reduction, in seconds: 0.001…10.
    public let release: Parameter
    /// The time in seconds for which a gain is wanted after the key has fallen: 0…1, rounded up by less than a
    /// millisecond. The sound goes by the highest gain that was wanted within this time, so that the zeros of a wave do
    /// not count.
    public let hold: Parameter
    /// The gain of the expanded sound in dB: -24…24.
    public let makeUp: Parameter
    /// The mix, from the unchanged sound (0, bit for bit) to the expanded one (1).
    public let mix: Parameter
    /// The cut-off of the high-pass filter of the key, in hertz: 10…0.49 of the sample rate. It counts where ``key`` is
    /// `.filtered`.
    public let keyHighPass: Parameter
    /// The cut-off of the low-pass filter of the key, in hertz: 10…0.49 of the sample rate. It counts where ``key`` is
    /// `.filtered`.
    public let keyLowPass: Parameter
    /// The sound that the detector hears.
    public var key: KeySignal { core.key }
    /// The way in which the level is measured.
    public var detector: LevelDetector { core.detector }
    /// Indicates whether all channels have one gain, by the loudest channel of the key, so that the stereo image stays. Else
    /// each goes by the same channel of the key: a key in mono counts for all, all channels of a key count for mono.
    public var isLinked: Bool { core.isLinked }
    /// The time in seconds by which the sound comes later than the gain: 0…0.1.
    public var lookAhead: Double { core.lookAhead }

    private let core: DynamicsCore

    /// Creates an expander.
    ///
    /// - Parameters:
    ///   - threshold: In dB.
    ///   - ratio: 1…100.
    ///   - knee: In dB.
    ///   - range: In dB.
    ///   - attack: In seconds.
    ///   - release: In seconds.
    ///   - hold: In seconds.
    ///   - makeUp: In dB.
    ///   - mix: 0…1.
    ///   - detector: The way in which the level is measured.
    ///   - key: The sound that the detector hears.
    ///   - isLinked: `true` for one gain for all channels.
    ///   - lookAhead: In seconds, which the sound is late.
    /// - Precondition: `lookAhead` is 0…0.1.
    public init(
        threshold: Float = -40, ratio: Float = 2, knee: Float = 6, range: Float = 60, attack: Float = 0.002,
        release: Float = 0.1, hold: Float = 0.02, makeUp: Float = 0, mix: Float = 1, detector: LevelDetector = .peak,
        key: KeySignal = .itself, isLinked: Bool = true, lookAhead: Double = 0
    ) {
        core = DynamicsCore(
            "Expander", detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
        self.threshold = .threshold(threshold)
        self.ratio = .ratio(ratio)
        self.knee = .knee(knee)
        self.range = .reductionRange(range)
        self.attack = .attack(attack)
        self.release = .release(release)
        self.hold = .hold(hold)
        self.makeUp = .makeUp(makeUp)
        self.mix = .mix(mix)
        keyHighPass = .keyFilter(key.frequencies.highPass)
        keyLowPass = .keyFilter(key.frequencies.lowPass)
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    public var stackEffect: StackEffect { core.stackEffect }

    /// The parameters by name; those of the filters if the key has any.
    public var parameters: [ParameterReference] {
        [
            threshold.named("threshold"), ratio.named("ratio"), knee.named("knee"), range.named("range"),
            attack.named("attack"),
            release.named("release"), hold.named("hold"), makeUp.named("makeUp"), mix.named("mix"),
        ] + (key.isFiltered ? [keyHighPass.named("keyHighPass"), keyLowPass.named("keyLowPass")] : [])
    }

    /// The decibels by which the sound is made softer at the moment, without the make-up and the mix: of channels
    /// that are not linked the largest. 0 where nothing is made softer, and within a second after the audio stops.
    public var gainReduction: Float { core.gainReduction }

    /// The reductions of the channels, each as ``gainReduction`` is; one for all where they are linked.
    public var gainReductions: [Float] { core.gainReductions }

    /// Returns the look-ahead in frames.
    public func latency(at sampleRate: Double) -> Int { core.latency(at: sampleRate) }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) { core.prepare(preparation) }

    /// Expands the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if let threshold = threshold.atRest(context),
            let ratio = ratio.atRest(context),
            let knee = knee.atRest(context),
            let range = range.atRest(context),
            let makeUp = makeUp.atRest(context),
            let mix = mix.atRest(context),
            let attack = attack.atRest(context),
            let release = release.atRest(context)
        {
            let settings = RestingSettings(
                threshold: threshold, ratio: ratio, knee: knee, range: range, makeUp: makeUp, mix: mix, attack: attack,
                release: release)
            core.process(
                &context, settings, isCompressing: false, hold: hold.current(context), keyHighPass: keyHighPass,
                keyLowPass: keyLowPass)
            return
        }
        let settings = GainSettings(
            shape: .expand, threshold: threshold.glide(context), ratio: ratio.glide(context),
            knee: knee.glide(context), range: range.glide(context), makeUp: makeUp.glide(context),
            mix: mix.glide(context),
            attack: attack.glide(context), release: release.glide(context), hold: hold.current(context))
        core.process(&context, settings, keyHighPass: keyHighPass, keyLowPass: keyLowPass)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.reset(&context) }
}
