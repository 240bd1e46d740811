public import RenderCore

/// Lets a sound through while its key is loud, and closes when it is soft. Edits the top.
///
///     let gate = Gate(threshold: -40, range: 60, hold: 0.05, key: .filtered(highPass: 60, lowPass: 200))
///     …
///     context.run(kickMicrophone)
///     context.run(gate)                       // only what booms opens it
///
/// The gate opens where the key's level (``LevelDetector``) reaches the threshold, and closes where it is below the threshold
/// by more than the hysteresis, and has been for the hold. Open it changes nothing; closed the sound is softer by the range.
/// The gain moves in dB: in ``attack`` seconds it goes 1 - 1/e (63 %) of the way up, in ``release`` seconds as much of the way
/// down, and leaves and arrives without a corner. The first frame after a reset is open or closed at once.
///
/// At a range of 0 and a make-up of 0 the sound stays as it is, bit for bit. Up to 64 channels.
/// Latency: the look-ahead in whole frames; none without. The dry sound is as late as the gated one.
///
/// Threads: control.
public final class Gate: Module {
    /// The level of the key at which the gate opens, in dB of full scale: -80…12.
    public let threshold: Parameter
    /// The dB below the threshold at which the gate closes: 0…40.
    public let hysteresis: Parameter
    /// The reduction where the gate is closed, in dB: 0…120.
    public let range: Parameter
    /// The time of opening, in seconds: 0.00002…1.
    public let attack: Parameter
    /// The time of closing, in seconds: 0.001…10.
    public let release: Parameter
    /// The time in seconds for which the gate stays open after the key has fallen: 0…1, rounded up by less than a
    /// millisecond. It should be longer than a half-wave of the lowest tone.
    public let hold: Parameter
    /// The gain of the gated sound in dB: -24…24.
    public let makeUp: Parameter
    /// The mix, from the unchanged sound (0, bit for bit) to the gated one (1).
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

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - threshold: In dB.
    ///   - hysteresis: In dB.
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
        threshold: Float = -40, hysteresis: Float = 4, range: Float = 80, attack: Float = 0.001,
        release: Float = 0.1, hold: Float = 0.05, makeUp: Float = 0, mix: Float = 1, detector: LevelDetector = .peak,
        key: KeySignal = .itself, isLinked: Bool = true, lookAhead: Double = 0
    ) {
        core = DynamicsCore(
            "Gate", detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
        self.threshold = .threshold(threshold)
        self.hysteresis = .knee(hysteresis)
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
            threshold.named("threshold"), hysteresis.named("hysteresis"), range.named("range"), attack.named("attack"),
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

    /// Opens and closes.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = GainSettings(
            shape: .gate, threshold: threshold.glide(context), ratio: Glide(1), knee: hysteresis.glide(context),
            range: range.glide(context), makeUp: makeUp.glide(context), mix: mix.glide(context),
            attack: attack.glide(context), release: release.glide(context), hold: hold.current(context))
        core.process(&context, settings, keyHighPass: keyHighPass, keyLowPass: keyLowPass)
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.reset(&context) }
}
