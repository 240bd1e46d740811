public import RenderCore

/// Makes soft passages softer: each dB of the key below the threshold becomes as many as the ratio says. Edits the top.
///
///     let expander = Expander(threshold: -45, ratio: 2, range: 20)
///     …
///     context.run(guitar)
///     context.run(expander)                   // hum and hiss between the notes are up to 20 dB softer
///
/// Level, curve, knee and key are those of a ``Compressor``. In `attack` seconds the gain in dB goes 1 - 1/e (63 %) of the
/// way up to where the curve wants it, in `release` seconds as much of the way down. The first frame after a reset begins
/// where the curve wants it. <doc:DynamicsAndColour> has the formulas.
///
/// At a ratio of 1 or a range of 0, and a make-up of 0, the sound stays as it is, bit for bit. Up to 64 channels.
/// Latency: the look-ahead in whole frames; none without. The dry sound is as late as the expanded one.
///
/// Its other parameters are those of ``DynamicsParameters``.
///
/// Threads: control.
public final class Expander: DynamicsModule {
    /// The decibels of the sound below the threshold for each of the key: 1…100. 1 changes nothing.
    public var ratio: Parameter { _read { yield core.controls.ratio } }
    /// The width in dB of the part of the curve that bends, with the threshold in its middle: 0…40. 0 is a corner.
    public var knee: Parameter { _read { yield core.controls.knee } }
    /// The largest reduction in dB: 0…120.
    public var range: Parameter { _read { yield core.controls.range } }
    /// The part that does the work.
    public let core: DynamicsCore

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
            "Expander",
            DynamicsControls(
                .expand, threshold: threshold, ratio: ratio, knee: knee, range: range, attack: attack,
                release: release, hold: hold, makeUp: makeUp, mix: mix),
            detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
    }

    /// Listens to the noise of a room for a while, and then sets the ``DynamicsParameters/threshold`` above it.
    ///
    ///     let calibration = expander.calibrate()                  // and for two seconds nobody plays
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
        core.calibrate(for: duration, margin: margin, of: "Expander")
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    public var stackEffect: StackEffect { core.stackEffect }

    /// Expands the top.
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
