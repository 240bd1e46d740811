public import RenderCore

/// Puts a sound into a room: early reflections, and a reverberation that is dense at once. Edits the top.
///
///     let reverb = Reverb(.largeHall, mix: 0.25)
///     …
///     context.run(reverb)
///     …
///     reverb.decay.value = 4                      // while it plays
///     reverb.load(.cathedral)
///
/// It is a feedback delay network of 16 lines. A matrix mixes the lines without losing energy, and an equaliser in each
/// line takes as much as the decay asks for a line of that length. So each frequency decays by 60 dB in T, with
/// 1/T(f) = 1/``decay`` · (1 + (1/``lowRatio`` - 1) · l + (1/``highRatio`` - 1) · h), where l = 1/(1 +
/// (f/``lowCrossover``)²) and h = 1/(1 + (``highCrossover``/f)²): ``decayTime(at:)``. Slow modulation turns
/// neighbouring lines into each other, which changes neither pitch nor energy.
///
/// Mono becomes stereo where the stack has two channels. Up to eight channels have a reverberation each, all of one
/// room; the ninth and what follows it stay as they are.
///
/// The control side makes the memory: 1.6 MB for 16 lines and two channels at 48 kHz.
/// Latency: none (the dry sound is not delayed).
///
/// Threads: control.
public final class Reverb: Effect {
    /// The time in seconds in which middle frequencies decay by 60 dB: 0.1…60.
    public let decay: Parameter
    /// The decay of low frequencies, as a multiple of ``decay``: 0.1…4.
    public let lowRatio: Parameter
    /// The decay of high frequencies, as a multiple of ``decay``: 0.05…2.
    public let highRatio: Parameter
    /// The frequency in hertz at which decay is midway between low and middle: 40…1,000.
    public let lowCrossover: Parameter
    /// The frequency in hertz at which decay is midway between middle and high: 1,000…16,000.
    public let highCrossover: Parameter
    /// The mean path between two walls in metres, 2…45, which sound goes at 343 m/s. A change fades for 85 ms; the next
    /// one waits for the end of the fade. While it fades some of the sound is lost.
    public let size: Parameter
    /// The time in seconds before the room answers: 0…0.5. A change fades as that of the size.
    public let preDelay: Parameter
    /// The amplitude of the early reflections: 0…1.
    public let early: Parameter
    /// The share of diffusion before the network: 0 (single echoes at first) to 1.
    public let diffusion: Parameter
    /// The width of each pair of channels, from mono (0) to two channels that have nothing in common (1).
    public let width: Parameter
    /// The depth of the slow modulation: 0 (none) to 1.
    public let modulation: Parameter
    /// The rate of the slow modulation in hertz: 0.05…3. Each pair of lines has a rate of its own about it.
    public let modulationRate: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free; the reverberation is forgotten) to reverberation
    /// alone (1). When it leaves 0, the sound fades into the room in 10 ms.
    public let mix: Parameter
    /// The gain of the reverberation before the mix: -20…20 dB. At 0 it stays as it is, bit for bit.
    public let gain: Parameter
    /// The number from which the early reflections are drawn, 0…1,000: the same reflections from the same whole number. A change
    /// fades as that of the size.
    public let reflectionSeed: Parameter
    /// Holds the reverberation as it is: nothing goes in, nothing is lost, and the modulation stops.
    public let freeze = Switch(glide: .linear(.milliseconds(50)))
    /// The number of lines.
    public let quality: Quality

    private let core: RenderState<ReverbCore>

    /// The numbers of lines.
    ///
    /// Threads: any.
    public enum Quality: Int, Sendable, Hashable, CaseIterable {
        /// 8 lines: half of the work.
        case light = 8
        /// 16 lines.
        case standard = 16
        /// 32 lines: twice the work, for long decays of single tones in small rooms.
        case rich = 32
    }

    /// Creates a reverb.
    ///
    /// - Parameters:
    ///   - preset: The settings at first.
    ///   - mix: 0…1.
    ///   - quality: The number of lines.
    public init(_ preset: Preset = .mediumHall, mix: Float = 0.3, quality: Quality = .standard) {
        let preset = preset.clamped
        func share(_ value: Float, _ range: ClosedRange<Float> = 0...1) -> Parameter {
            Parameter(value, in: range, glide: .linear(.milliseconds(50)))
        }
        func frequency(_ value: Float, _ range: ClosedRange<Float>) -> Parameter {
            Parameter(value, in: range, unit: .hertz, glide: .exponential(.milliseconds(100)))
        }
        decay = Parameter(
            preset.decay, in: Preset.decays, unit: .seconds, glide: .exponential(.milliseconds(100)))
        lowRatio = Parameter(preset.lowRatio, in: Preset.lowRatios, glide: .exponential(.milliseconds(100)))
        highRatio = Parameter(preset.highRatio, in: Preset.highRatios, glide: .exponential(.milliseconds(100)))
        lowCrossover = frequency(preset.lowCrossover, Preset.lowCrossovers)
        highCrossover = frequency(preset.highCrossover, Preset.highCrossovers)
        size = Parameter(preset.size, in: Preset.sizes, glide: .none)
        preDelay = Parameter(preset.preDelay, in: Preset.preDelays, unit: .seconds, glide: .none)
        early = share(preset.early)
        diffusion = share(preset.diffusion)
        width = share(preset.width)
        modulation = share(preset.modulation)
        modulationRate = Parameter(
            preset.modulationRate, in: Preset.modulationRates, unit: .hertz, glide: .linear(.milliseconds(100)))
        self.mix = Parameter(mix, in: 0...1)
        gain = Parameter(0, in: -20...20, unit: .decibels, glide: .linear(.milliseconds(50)))
        reflectionSeed = Parameter(0, in: 0...1_000, glide: .none)
        self.quality = quality
        core = RenderState(ReverbCore(lines: quality.rawValue, channels: 1, sampleRate: 1))
    }

    /// Sets all parameters as a preset has them, but for mix, gain, seed and freeze. Inside of a transaction they change together.
    public func load(_ preset: Preset) {
        let preset = preset.clamped
        for (field, parameter) in zip(Preset.fields, parameters) { parameter.value = preset[keyPath: field.path] }
    }

    /// The settings as a preset, to be kept.
    ///
    /// - Parameter name: The name of the preset.
    public func settings(named name: String) -> Preset {
        var preset = Preset(name: name)
        for (field, parameter) in zip(Preset.fields, parameters) { preset[keyPath: field.path] = parameter.value }
        return preset
    }

    /// Returns the time in seconds in which a frequency decays by 60 dB.
    ///
    /// - Parameter frequency: In hertz.
    public func decayTime(at frequency: Double) -> Double { settings(named: "").decayTime(at: frequency) }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        core.replace(
            with: ReverbCore(
                lines: quality.rawValue, channels: preparation.maximumChannelCount, sampleRate: preparation.sampleRate))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            decay.named("decay"), lowRatio.named("lowRatio"), highRatio.named("highRatio"),
            lowCrossover.named("lowCrossover"), highCrossover.named("highCrossover"), size.named("size"),
            preDelay.named("preDelay"), early.named("early"), diffusion.named("diffusion"), width.named("width"),
            modulation.named("modulation"), modulationRate.named("modulationRate"), mix.named("mix"),
            freeze.named("freeze"), gain.named("gain"), reflectionSeed.named("reflectionSeed"),
        ]
    }

    /// Adds the reverberation to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = ReverbCore.Settings(
            decay: decay.glide(context), lowRatio: lowRatio.glide(context), highRatio: highRatio.glide(context),
            lowCrossover: lowCrossover.glide(context), highCrossover: highCrossover.glide(context),
            size: size.current(context), preDelay: preDelay.current(context), early: early.glide(context),
            diffusion: diffusion.glide(context), width: width.glide(context), modulation: modulation.glide(context),
            modulationRate: modulationRate.glide(context), freeze: freeze.glide(context), mix: mix.glide(context),
            gain: gain.glide(context), seed: Int32(reflectionSeed.current(context) + 0.5))
        let frames = settings.mix.lastFrame(of: context.frameCount)
        if context.channelCount() == 1 {
            var widens = false
            core.with(&context) { core, _ in widens = core.channelCount > 1 }
            if widens {
                // Mono into two channels goes to both.
                context.push(channels: 2)
                context.mix(2)
            }
        }
        core.with(&context) { core, context in
            if frames > 0 { core.process(&context, settings, frames: frames) }
            if frames < context.frameCount { core.rest() }
        }
    }

    /// Forgets the reverberation.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { core.with(&context) { core, _ in core.reset() } }
}

extension ReverbCore {
    /// The parameters over a slice.
    struct Settings: Sendable, BitwiseCopyable {
        let decay: Glide
        let lowRatio: Glide
        let highRatio: Glide
        let lowCrossover: Glide
        let highCrossover: Glide
        let size: Float
        let preDelay: Float
        let early: Glide
        let diffusion: Glide
        let width: Glide
        let modulation: Glide
        let modulationRate: Glide
        let freeze: Glide
        let mix: Glide
        let gain: Glide
        let seed: Int32
    }
}
