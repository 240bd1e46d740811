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
/// The gain moves in dB: in `attack` seconds it goes 1 - 1/e (63 %) of the way up, in `release` seconds as much of the way
/// down, and leaves and arrives without a corner. The first frame after a reset is open or closed at once.
///
/// At a range of 0 and a make-up of 0 the sound stays as it is, bit for bit. Up to 64 channels.
/// Latency: the look-ahead in whole frames; none without. The dry sound is as late as the gated one.
///
/// Its other parameters are those of ``DynamicsParameters``.
///
/// Threads: control.
public final class Gate: DynamicsModule {
    /// The dB below the threshold at which the gate closes: 0…40.
    public var hysteresis: Parameter { _read { yield core.controls.knee } }
    /// The reduction where the gate is closed, in dB: 0…120.
    public var range: Parameter { _read { yield core.controls.range } }
    /// The part that does the work.
    public let core: DynamicsCore

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
            "Gate",
            DynamicsControls(
                .gate, threshold: threshold, knee: hysteresis, range: range, attack: attack,
                release: release, hold: hold, makeUp: makeUp, mix: mix),
            detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
    }

    /// Listens to the noise of a room for a while, and then sets the ``DynamicsParameters/threshold`` so far above it that the gate
    /// stays closed, and the ``hysteresis`` so that it closes.
    ///
    ///     let calibration = gate.calibrate()                  // and for two seconds nobody plays
    ///     print(await calibration.wait())
    ///
    /// The sound goes on meanwhile. A call while it listens ends the calibration before, which sets nothing then. See
    /// ``NoiseCalibration`` for what is measured, and for what happens where no renderer runs the module.
    ///
    /// - Parameters:
    ///   - duration: The time to listen, 0.05…60 s, in steps of 10 ms.
    ///   - margin: The distance from the noise to the threshold, 0…40 dB.
    @discardableResult
    public func calibrate(for duration: Duration = .seconds(2), margin: Float = 6) -> NoiseCalibration {
        core.calibrate(for: duration, margin: margin, of: "Gate")
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    public var stackEffect: StackEffect { core.stackEffect }

    /// Opens and closes.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { core.process(&context) }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.reset(&context) }
}
