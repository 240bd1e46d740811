public import RenderCore

/// Makes loud passages softer: above the threshold the sound rises by 1 dB where its key rises by as many as the ratio
/// says. Edits the top.
///
///     let compressor = Compressor(threshold: -18, ratio: 4, attack: 0.01, release: 0.15)
///     let ducking = Compressor(threshold: -30, ratio: 8, key: .below)
///     …
///     context.run(voice)
///     context.run(music)
///     context.run(ducking)                    // the voice, which stays below the music, makes the music softer
///     …
///     compressor.gainReduction                // in dB
///
/// The level of the key in dB (``LevelDetector``) goes through a static curve with a soft knee, and the gain follows
/// the curve in dB: in `attack` seconds, or in `release` seconds, it goes 1 - 1/e (63 %) of the way to where the
/// curve wants it. <doc:DynamicsAndColour> has the formulas.
///
/// At a ratio of 1 and a make-up of 0 the sound stays as it is, bit for bit. Up to 64 channels.
/// Latency: the look-ahead in whole frames; none without. The dry sound is as late as the compressed one.
///
/// Its other parameters are those of ``DynamicsParameters``.
///
/// Threads: control.
public final class Compressor: DynamicsModule {
    /// The decibels of the key above the threshold for each that remains: 1…100. 1 changes nothing.
    public var ratio: Parameter { _read { yield core.controls.ratio } }
    /// The width in dB of the part of the curve that bends, with the threshold in its middle: 0…40. 0 is a corner.
    public var knee: Parameter { _read { yield core.controls.knee } }
    /// The part that does the work.
    public let core: DynamicsCore

    /// Creates a compressor.
    ///
    /// - Parameters:
    ///   - threshold: In dB.
    ///   - ratio: 1…100.
    ///   - knee: In dB.
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
        threshold: Float = -18, ratio: Float = 4, knee: Float = 6, attack: Float = 0.01, release: Float = 0.15,
        hold: Float = 0, makeUp: Float = 0, mix: Float = 1, detector: LevelDetector = .peak, key: KeySignal = .itself,
        isLinked: Bool = true, lookAhead: Double = 0
    ) {
        core = DynamicsCore(
            "Compressor",
            DynamicsControls(
                .compress, threshold: threshold, ratio: ratio, knee: knee, attack: attack,
                release: release, hold: hold, makeUp: makeUp, mix: mix),
            detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    public var stackEffect: StackEffect { core.stackEffect }

    /// Compresses the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { core.process(&context) }

    /// Forgets the sound before: the gain begins at no reduction.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.reset(&context) }
}
