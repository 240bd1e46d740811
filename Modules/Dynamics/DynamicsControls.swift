public import RenderCore

/// The parameters that a ``Compressor``, an ``Expander``, a ``Gate`` and a band of a ``MultibandCompressor`` have in common.
///
/// Threads: control.
public protocol DynamicsParameters: ~Copyable {
    /// All parameters, from which the settings of a slice are made.
    var controls: DynamicsControls { get }
}

extension DynamicsParameters where Self: ~Copyable {
    /// The level in dB of full scale: -80…12. A compressor makes softer what is above it, an expander what is below it. A gate opens
    /// at it.
    public var threshold: Parameter { _read { yield controls.threshold } }
    /// The time of the way to a larger reduction of a compressor, and to a smaller one of an expander or a gate, in seconds:
    /// 0.00002…1.
    public var attack: Parameter { _read { yield controls.attack } }
    /// The time of the way back, in seconds: 0.001…10.
    public var release: Parameter { _read { yield controls.release } }
    /// The time in seconds for which the loudest level counts after the level has fallen: 0…1, rounded up by less than a
    /// millisecond. The gain rests on a tone whose half-wave is shorter, because the zeros of a wave do not count.
    public var hold: Parameter { _read { yield controls.hold } }
    /// The gain of the changed sound in dB: -24…24.
    public var makeUp: Parameter { _read { yield controls.makeUp } }
    /// The mix, from the unchanged sound (0, bit for bit) to the changed one (1).
    public var mix: Parameter { _read { yield controls.mix } }
}

/// The parameters by which a gain follows a level, and the way from them to the settings of a slice.
///
/// Threads: control.
public struct DynamicsControls: ~Copyable, Sendable {
    let shape: GainSettings.Shape
    // A gate has no ratio, and a compressor no range. The knee of a gate is its hysteresis.
    let threshold, ratio, knee, range, attack, release, hold, makeUp, mix: Parameter
    /// The number of times that one of them was set.
    let changes = ChangeCount()

    init(
        _ shape: GainSettings.Shape, threshold: Float, ratio: Float = 1, knee: Float, range: Float = 0, attack: Float,
        release: Float, hold: Float, makeUp: Float, mix: Float
    ) {
        self.shape = shape
        self.threshold = Parameter(threshold, in: -80...12, unit: .decibels, glide: .smooth(.milliseconds(200)))
        self.ratio = Parameter(ratio, in: 1...100, glide: .smoothExponential(.milliseconds(150)))
        self.knee = Parameter(knee, in: 0...40, unit: .decibels, glide: .smooth(.milliseconds(20)))
        self.range = Parameter(range, in: 0...120, unit: .decibels, glide: .smooth(.milliseconds(20)))
        self.attack = Parameter(
            attack, in: 0.000_02...1, unit: .seconds, glide: .smoothExponential(.milliseconds(20)))
        self.release = Parameter(
            release, in: 0.001...10, unit: .seconds, glide: .smoothExponential(.milliseconds(20)))
        self.hold = Parameter(hold, in: 0...Float(DynamicsProcessor.longestHold), unit: .seconds, glide: .none)
        self.makeUp = Parameter(makeUp, in: -24...24, unit: .decibels, glide: .smooth(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        changes.count(parameters)
    }

    /// The parameters by name: those that the shape has.
    var parameters: [ParameterReference] {
        let curve =
            switch shape {
            case .compress: [ratio.named("ratio"), knee.named("knee")]
            case .expand: [ratio.named("ratio"), knee.named("knee"), range.named("range")]
            case .gate: [knee.named("hysteresis"), range.named("range")]
            }
        return [threshold.named("threshold")] + curve + [
            attack.named("attack"), release.named("release"), hold.named("hold"), makeUp.named("makeUp"),
            mix.named("mix"),
        ]
    }
}
