public import RenderCore

/// Distorts: clips, folds, crushes. Edits the top.
///
///     let fuzz = Distortion(.hardClip, drive: 26, tone: 6_000)
///     let radio = Distortion(preset: .speechRadioTower)
///     …
///     context.run(fuzz)
///
/// One after the other: an echo, the ``drive``, a ring modulation, a polynomial, a curve (``shape``), a lower rate
/// (``holdRate``), fewer ``bits``, a low-pass filter (``tone``), the ``level``, the ``mix``. At first all of them are
/// off but the drive and the curve.
///
/// A curve makes frequencies above half of the sample rate, which come back where they do not belong. The module does
/// two things against that. It takes the curve's second antiderivative: the mean along the lines between three samples,
/// in double precision. And it runs at ``times`` the rate. If you drive a 5 kHz sine at 48 kHz by 26 dB into a hard
/// clip, the aliases below 20 kHz lie 39, 55, 77 and 106 dB below the harmonics at 1, 2, 4 and 8 times. A quiet sound
/// passes within ±0.1 dB up to 16 kHz at 2 times and more; at 1 times the mean takes 1.3 dB at 5 kHz and 6 dB at
/// 10 kHz. A lower rate and fewer bits fold back on purpose.
///
/// Latency: 1 frame at 1 times; 150, 161, 165 and 166 at 2, 4, 8 and 16 times: ``latency(at:)``. The module delays
/// the dry sound of the mix as much. With a mix of 0 the sound comes out later by the latency, bit for bit.
///
/// Threads: control.
public final class Distortion: Effect {
    /// A curve, by which each sample becomes another.
    ///
    /// Threads: any.
    public enum Shape: Int, Sendable, CaseIterable {
        /// The sound as it is, bit for bit at 1 times.
        case none
        /// Straight up to full scale, flat beyond.
        case hardClip
        /// x - 4/27 x³ up to 1.5, flat beyond: full scale is reached without an edge.
        case softClip
        /// The hyperbolic tangent.
        case tanh
        /// Straight up to full scale, and back down beyond: the louder, the more turns.
        case fold
    }

    /// The gain before the polynomial and the curve, in decibels: -24…60. A change glides for 20 ms.
    public let drive: Parameter
    /// An offset before the curve, -1…1, which makes even harmonics: 0 makes odd ones alone. The module takes away
    /// again the constant that the offset adds to silence.
    public let bias: Parameter
    /// The cut-off of the filter behind the curve, 6 dB an octave, in hertz: 20…half of the sample rate, where it is
    /// open.
    public let tone: Parameter
    /// The gain behind it all, in decibels: -60…24.
    public let level: Parameter
    /// The mix, from the unchanged sound, later by the latency (0, bit for bit), to the distorted one (1).
    public let mix: Parameter
    /// The frequency of the sine by which the sound is multiplied, in hertz: 0…20,000.
    public let ringFrequency: Parameter
    /// The frequency of a second sine, in hertz: 0…20,000. It is heard where ``ringBalance`` is above 0.
    public let secondRingFrequency: Parameter
    /// The balance of both sines, by whose sum the sound is multiplied: from the first alone (0) to the second alone (1).
    public let ringBalance: Parameter
    /// The share of the sound that is multiplied by them: 0 (off) to 1.
    public let ringAmount: Parameter
    /// The factor of the sample x in the polynomial: 0…1.
    public let linearTerm: Parameter
    /// The factor of x² in the polynomial, -20…20: it makes even harmonics, and a constant.
    public let squaredTerm: Parameter
    /// The factor of x³ in the polynomial, -20…20: it makes odd harmonics.
    public let cubicTerm: Parameter
    /// The share of the sound that the polynomial is: 0 (off) to 1. At 4 times the rate it folds nothing back.
    public let polynomialMix: Parameter
    /// The number of times a second at which a sample is taken, to be held until the next, in hertz: 100…the sample
    /// rate, where it is off.
    public let holdRate: Parameter
    /// The bits that a sample has: 1…24, where it is off. Between two whole numbers the steps are between theirs.
    public let bits: Parameter
    /// The share of the sound that has the lower rate and fewer bits: 0 to 1 (all of it).
    public let decimationMix: Parameter
    /// The time between two echoes, in seconds: 0.0005…0.5. A change goes by in 50 ms, with another pitch on the way.
    public let echoTime: Parameter
    /// The share of an echo that goes into the next: 0…0.95.
    public let echoFeedback: Parameter
    /// The level of the first echo: 0 (off) to 1. When it leaves 0, the sound fades into the echo in 10 ms.
    public let echoLevel: Parameter
    /// The factor of the sample rate at which the curve runs.
    public let times: Int

    private let curve: Parameter
    private let changes = ChangeCount()
    private let core = RenderState(DistortionCore(channels: 1, times: 1, sampleRate: 1))

    /// Creates a distortion.
    ///
    /// - Parameters:
    ///   - shape: The curve.
    ///   - drive: The gain before it, in decibels.
    ///   - tone: The cut-off of the filter behind it, in hertz; by default it is open.
    ///   - level: The gain behind it, in decibels.
    ///   - mix: 0…1.
    ///   - times: The factor of the sample rate: 1, 2, 4, 8 or 16.
    /// - Precondition: The factor is one of those.
    public init(
        _ shape: Shape = .softClip, drive: Float = 12, tone: Float = 192_000, level: Float = 0, mix: Float = 1,
        times: Int = 4
    ) {
        demand([1, 2, 4, 8, 16].contains(times), "Distortion: \(times) times; it must be 1, 2, 4, 8 or 16")
        curve = Parameter(Float(shape.rawValue), in: 0...4, glide: .none)
        self.drive = Parameter(drive, in: -24...60, unit: .decibels, glide: .smooth(.milliseconds(20)))
        bias = Parameter(0, in: -1...1, glide: .smooth(.milliseconds(20)))
        self.tone = Parameter(
            tone, in: 20...500_000, limit: .fractionOfRate(0.5), unit: .hertz,
            glide: .smoothExponential(.milliseconds(20)))
        self.level = Parameter(level, in: -60...24, unit: .decibels, glide: .smooth(.milliseconds(20)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        ringFrequency = Parameter(100, in: 0...20_000, unit: .hertz, glide: .smooth(.milliseconds(20)))
        secondRingFrequency = Parameter(100, in: 0...20_000, unit: .hertz, glide: .smooth(.milliseconds(20)))
        ringBalance = Parameter(0, in: 0...1, glide: .smooth(.milliseconds(20)))
        ringAmount = Parameter(0, in: 0...1, glide: .smooth(.milliseconds(20)))
        linearTerm = Parameter(1, in: 0...1, glide: .smooth(.milliseconds(20)))
        squaredTerm = Parameter(0, in: -20...20, glide: .smooth(.milliseconds(20)))
        cubicTerm = Parameter(0, in: -20...20, glide: .smooth(.milliseconds(20)))
        polynomialMix = Parameter(0, in: 0...1, glide: .smooth(.milliseconds(20)))
        holdRate = Parameter(
            1_000_000, in: 100...1_000_000, limit: .fractionOfRate(1), unit: .hertz,
            glide: .smoothExponential(.milliseconds(10)))
        bits = Parameter(24, in: 1...24, glide: .smooth(.milliseconds(20)))
        decimationMix = Parameter(1, in: 0...1, glide: .smooth(.milliseconds(20)))
        echoTime = Parameter(0.1, in: 0.0005...0.5, unit: .seconds, glide: .smooth(.milliseconds(50)))
        echoFeedback = Parameter(0, in: 0...0.95, glide: .smooth(.milliseconds(20)))
        echoLevel = Parameter(0, in: 0...1, glide: .smooth(.milliseconds(20)))
        self.times = times
        changes.count(parameters)
    }

    /// Creates a distortion with the settings of a preset.
    ///
    /// - Parameters:
    ///   - preset: The preset.
    ///   - times: The factor of the sample rate: 1, 2, 4, 8 or 16.
    public convenience init(preset: Preset, times: Int = 4) {
        self.init(times: times)
        load(preset)
    }

    /// The curve. A change takes effect at once, and clicks.
    public var shape: Shape {
        get { Shape(rawValue: Int(curve.value + 0.5)) ?? .none }
        set { curve.value = Float(newValue.rawValue) }
    }

    /// Returns the delay of the filters, rounded up to whole frames.
    public func latency(at sampleRate: Double) -> Int { DistortionCore.latency(times: times) }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        core.replace(
            with: DistortionCore(
                channels: preparation.maximumChannelCount, times: times, sampleRate: preparation.sampleRate))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            curve.named("shape"), drive.named("drive"), bias.named("bias"), tone.named("tone"), level.named("level"),
            mix.named("mix"), ringFrequency.named("ringFrequency"), ringAmount.named("ringAmount"),
            holdRate.named("holdRate"), bits.named("bits"), echoTime.named("echoTime"),
            echoFeedback.named("echoFeedback"), echoLevel.named("echoLevel"),
            secondRingFrequency.named("secondRingFrequency"), ringBalance.named("ringBalance"),
            linearTerm.named("linearTerm"), squaredTerm.named("squaredTerm"), cubicTerm.named("cubicTerm"),
            polynomialMix.named("polynomialMix"), decimationMix.named("decimationMix"),
        ]
    }

    /// Distorts the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        // The note comes before the glides: a parameter that is set in between is another note for the next slice.
        let rest = ParametersAtRest(context, changes)
        var goesOn = false
        core.with(&context) { core, context in goesOn = core.goOn(&context, rest) }
        if goesOn { return }
        let settings = DistortionCore.Settings(
            shape: Int(curve.current(context) + 0.5), drive: drive.glide(context), bias: bias.glide(context),
            tone: tone.glide(context), level: level.glide(context), mix: mix.glide(context),
            ringFrequency: ringFrequency.glide(context), secondRingFrequency: secondRingFrequency.glide(context),
            ringBalance: ringBalance.glide(context), ringAmount: ringAmount.glide(context),
            linear: linearTerm.glide(context), squared: squaredTerm.glide(context), cubic: cubicTerm.glide(context),
            polynomialMix: polynomialMix.glide(context), holdRate: holdRate.glide(context), bits: bits.glide(context),
            decimationMix: decimationMix.glide(context), echoTime: echoTime.glide(context),
            echoFeedback: echoFeedback.glide(context), echoLevel: echoLevel.glide(context))
        core.with(&context) { core, context in core.process(&context, settings, rest) }
    }

    /// Forgets the sound before.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.with(&context) { core, _ in core.reset() } }
}

extension DistortionCore {
    /// The settings over a slice.
    struct Settings: Sendable, BitwiseCopyable {
        var shape: Int
        var drive, bias, tone, level, mix: Glide
        var ringFrequency, secondRingFrequency, ringBalance, ringAmount: Glide
        var linear, squared, cubic, polynomialMix: Glide
        var holdRate, bits, decimationMix: Glide
        var echoTime, echoFeedback, echoLevel: Glide

        /// Indicates whether nothing moves in this slice.
        var isAtRest: Bool {
            @_noLocks @_noAllocation get {
                drive.isFlat && bias.isFlat && tone.isFlat && level.isFlat && mix.isFlat && ringFrequency.isFlat
                    && secondRingFrequency.isFlat && ringBalance.isFlat && ringAmount.isFlat && linear.isFlat
                    && squared.isFlat && cubic.isFlat && polynomialMix.isFlat && holdRate.isFlat && bits.isFlat
                    && decimationMix.isFlat && echoTime.isFlat && echoFeedback.isFlat && echoLevel.isFlat
            }
        }
    }
}
