public import RenderCore

/// A module whose gain follows the level of a key: a ``Compressor``, an ``Expander`` or a ``Gate``.
///
/// Threads: control.
public protocol DynamicsModule: DynamicsParameters, Module {
    /// The part that does the work.
    var core: DynamicsCore { get }
}

extension DynamicsModule {
    /// All parameters but those of the key, from which the settings of a slice are made.
    public var controls: DynamicsControls { _read { yield core.controls } }
    /// The cut-off of the high-pass filter of the key, in hertz: 10…0.49 of the sample rate. It counts where ``key`` is
    /// `.filtered`.
    public var keyHighPass: Parameter { _read { yield core.keyHighPass } }
    /// The cut-off of the low-pass filter of the key, in hertz: 10…0.49 of the sample rate. It counts where ``key`` is
    /// `.filtered`.
    public var keyLowPass: Parameter { _read { yield core.keyLowPass } }
    /// The sound that the detector hears.
    public var key: KeySignal { core.key }
    /// The way in which the level is measured.
    public var detector: LevelDetector { core.detector }
    /// Indicates whether all channels have one gain, by the loudest channel of the key, so that the stereo image stays. Else
    /// each goes by the same channel of the key: a key in mono counts for all, all channels of a key count for mono.
    public var isLinked: Bool { core.isLinked }
    /// The time in seconds by which the sound comes later than the gain: 0…0.1.
    public var lookAhead: Double { core.lookAhead }

    /// The decibels by which the sound is made softer at the moment, without the make-up and the mix: of channels that
    /// are not linked the largest. 0 where nothing is made softer, and within a second after the audio stops.
    public var gainReduction: Float { core.reduction.largest }

    /// The reductions of the channels, each as ``gainReduction`` is; one for all where they are linked.
    public var gainReductions: [Float] { core.reduction.all }

    /// The parameters by name; those of the filters if the key has any.
    public var parameters: [ParameterReference] {
        controls.parameters
            + (key.isFiltered ? [keyHighPass.named("keyHighPass"), keyLowPass.named("keyLowPass")] : [])
    }

    /// Returns the look-ahead in frames.
    public func latency(at sampleRate: Double) -> Int {
        DynamicsProcessor.frames(lookAhead: lookAhead, sampleRate)
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) { core.prepare(preparation) }
}

/// The work of a ``DynamicsModule``: its parameters, how it hears its key, the processor, and the reductions for control code.
///
/// Threads: control.
public struct DynamicsCore: ~Copyable, Sendable {
    let controls: DynamicsControls
    let keyHighPass, keyLowPass: Parameter
    let key: KeySignal
    let detector: LevelDetector
    let isLinked: Bool
    /// In seconds.
    let lookAhead: Double
    let reduction = GainReduction()
    private let desk = CalibrationDesk()
    /// The desk's, for the render thread.
    private let words: SharedWords
    private let processor: RenderState<DynamicsProcessor>

    /// - Precondition: `lookAhead` is 0…0.1.
    init(
        _ module: String, _ controls: consuming DynamicsControls, detector: LevelDetector, key: KeySignal,
        isLinked: Bool, lookAhead: Double
    ) {
        DynamicsProcessor.check(lookAhead: lookAhead, of: module)
        self.controls = controls
        keyHighPass = .crossing(at: key.frequencies.highPass, from: 10)
        keyLowPass = .crossing(at: key.frequencies.lowPass, from: 10)
        (self.key, self.detector, self.isLinked, self.lookAhead) = (key, detector, isLinked, lookAhead)
        words = SharedWords(sharing: desk.words)
        processor = RenderState(
            DynamicsProcessor(
                channels: 1, frames: 0, sampleRate: 48_000, detector: detector, key: key, isLinked: isLinked,
                lookAhead: 0))
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    var stackEffect: StackEffect { key.isBelow ? StackEffect(pops: 2, pushes: 2) : .edits }

    /// Makes the memory.
    func prepare(_ preparation: Preparation) {
        processor.replace(
            with: DynamicsProcessor(
                channels: preparation.maximumChannelCount, frames: preparation.maximumFrameCount,
                sampleRate: preparation.sampleRate, detector: detector, key: key, isLinked: isLinked,
                lookAhead: lookAhead))
    }

    /// Begins to listen to the noise of a room: see ``Gate/calibrate(for:margin:)``.
    func calibrate(for duration: Duration, margin: Float, of module: String) -> NoiseCalibration {
        let duration = nearest(
            to: duration, in: .milliseconds(50) ... .seconds(60),
            "\(module).calibrate: a duration of \(duration); it must be 0.05…60 s")
        let margin = nearest(
            to: margin, in: 0...40, insteadOfNaN: 6, "\(module).calibrate: a margin of \(margin) dB; it must be 0…40")
        let blocks = UInt32((duration.inSeconds * 100).rounded(.up))
        return desk.begin(blocks: blocks, margin: margin, controls)
    }

    /// Changes the top, and shows the reductions to control code.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        guard processor.belongs(to: context) else { return }
        // The note comes before the glides: a parameter that is set in between is another note for the next slice.
        let rest = ParametersAtRest(context, controls.changes)
        var goesOn = false
        processor.with(&context) { processor, _ in goesOn = processor.computer.goesOn(rest) }
        if !goesOn {
            let settings = GainSettings(controls, context)
            processor.with(&context) { processor, _ in processor.computer.take(settings, rest) }
        }
        let (isFiltered, none) = (key.isFiltered, Glide(0))
        let highPass = isFiltered ? keyHighPass.glide(context) : none
        let lowPass = isFiltered ? keyLowPass.glide(context) : none
        var (count, first, answer) = (0, Float(0), UInt64(0))
        let request = context.isDryRun ? 0 : words[0]
        processor.with(&context) { processor, context in
            processor.survey.heed(request)
            answer = processor.process(&context, highPass: highPass, lowPass: lowPass)
            (count, first) = (processor.laneCount, processor.reduction(0))
        }
        if request != 0 {
            if answer != 0 { words[1] = answer }
            words[2] = words[2] &+ 1
        }
        reduction.show(first, at: 0)
        var lane = 1
        while lane < count {
            var value: Float = 0
            processor.with(&context) { processor, _ in value = processor.reduction(lane) }
            reduction.show(value, at: lane)
            lane &+= 1
        }
        reduction.finish(count, context)
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) {
        guard processor.belongs(to: context) else { return }
        processor.with(&context) { processor, _ in processor.reset() }
        reduction.forget()
    }
}

extension Parameter {
    /// The cut-off of a key's filter, or the frequency at which two bands meet, in hertz.
    static func crossing(
        at frequency: Float, from lowest: Float, file: StaticString = #fileID, line: UInt = #line
    ) -> Parameter {
        Parameter(
            frequency, in: lowest...192_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .smoothExponential(.milliseconds(200)), file: file, line: line)
    }
}
