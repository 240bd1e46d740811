import Processors
public import RenderCore
public import Tones

/// Lets notches wander through the sound: adds it to itself with its phase turned by a row of all-pass filters. Edits the
/// top.
///
///     let phaser = Phaser(stages: 4, rate: 0.3)
///     let deep = Phaser(stages: 8, beats: 16, range: 2, feedback: 0.6)
///
/// Each stage turns the phase by 90° at `centre · 2^(range · wave)` hertz. At a mix of ½ and without feedback the notches of n
/// stages lie where `tan(π f / rate) = tan(π c / rate) · tan((2 k + 1) π / 2n)`, for c that frequency and k from 0: one for two
/// stages. The feedback goes round without a delay, so it moves no notch, and the row cannot swing itself up, however fast
/// the wave is: at the ends a sine comes out of the row at most 26 dB louder.
///
/// The even channels are left, the odd ones right. Latency: none.
///
/// Threads: control.
public final class Phaser: Effect {
    /// The turns of the wave in a second: 0…20 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The frequency in the middle of the way, in hertz: 20…0.45 of the sample rate.
    public let center: Parameter
    /// The distance that the frequency goes up and down, in octaves: 0…4. It stays below 0.45 of the sample rate.
    public let range: Parameter
    /// The share of what comes out of the stages that goes in again: -0.95…0.95.
    public let feedback: Parameter
    /// The difference of the two sides, from 0 (alike) to 1 (one goes up while the other goes down).
    public let spread: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free; the stages are emptied) to the turned sound alone
    /// (1). The notches are deepest at ½.
    public let mix: Parameter
    /// The number of all-pass filters of the first order in a row.
    public let stages: Int
    /// The shape of a turn. A jump takes 2 ms, a quarter of a turn at most.
    public let shape: LFOCore.Shape

    private let row: RenderState<PhaserRow>

    /// Creates a phaser.
    ///
    /// - Parameters:
    ///   - stages: 2…12.
    ///   - shape: The shape of a turn, for good.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - center: In hertz.
    ///   - range: In octaves, to either side.
    ///   - feedback: -0.95…0.95.
    ///   - spread: 0…1.
    ///   - mix: 0…1.
    /// - Precondition: There are 2…12 stages.
    public init(
        stages: Int = 6, shape: LFOCore.Shape = .sine, rate: Float = 0.3, beats: Float = 0, center: Float = 800,
        range: Float = 1.5, feedback: Float = 0.3, spread: Float = 0.25, mix: Float = 0.5
    ) {
        demand((2...12).contains(stages), "Phaser: \(stages) stages; it must be 2…12")
        self.stages = stages
        self.shape = shape
        self.rate = .turns(rate, upTo: 20)
        self.beats = .beatsOfATurn(beats)
        self.center = Parameter(
            center, in: 20...192_000, limit: .fractionOfRate(0.45), unit: .hertz,
            glide: .smoothExponential(.milliseconds(100)))
        self.range = Parameter(range, in: 0...4, unit: .octaves, glide: .smooth(.milliseconds(50)))
        self.feedback = Parameter(feedback, in: -0.95...0.95, glide: .smooth(.milliseconds(50)))
        self.spread = Parameter(spread, in: 0...1, glide: .smooth(.milliseconds(50)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        row = RenderState(PhaserRow(channels: 1, stages: stages))
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        row.replace(with: PhaserRow(channels: preparation.maximumChannelCount, stages: stages))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            rate.named("rate"), beats.named("beats"), center.named("center"), range.named("range"),
            feedback.named("feedback"), spread.named("spread"), mix.named("mix"),
        ]
    }

    /// Adds the turned sound to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = PhaserRow.Settings(
            pace: SlowWave.Pace(context, shape, rate: rate, beats: beats), center: center.glide(context),
            range: range.glide(context), feedback: feedback.glide(context), spread: spread.glide(context),
            mix: mix.glide(context))
        let frames = settings.mix.lastFrame(of: context.frameCount)
        row.withTop(&context) { row, top in row.process(&top, settings, frames: frames) }
    }

    /// Forgets the sound before, and begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { row.with(&context) { row, _ in row.reset() } }
}

/// The stages of a ``Phaser``: four channels in the lanes of a vector.
///
/// A stage turns a vector of its input and its state (Gray and Markel's normalised ladder), which keeps its energy whatever
/// the coefficients do.
private struct PhaserRow: ~Copyable, Sendable {
    /// The parameters in a slice.
    struct Settings: Sendable, BitwiseCopyable {
        var pace: SlowWave.Pace
        var center: Glide
        var range: Glide
        var feedback: Glide
        var spread: Glide
        var mix: Glide
    }

    private var wave = SlowWave(reach: 0.5)
    private let stages: Int
    private let channelCount: Int
    /// The states, stage by stage for four channels at a time.
    private var states: RenderMemory<SIMD4<Float>>
    /// The share of its input that each stage gets from the states before it.
    private var replies: RenderMemory<SIMD4<Float>>
    private var isClear = true
    /// The samples of four channels in a block, and the coefficients of the two sides.
    private var lanes = RenderMemory<Float>(repeating: 0, count: 4 * SlowWave.block)
    private var turns = RenderMemory<Float>(repeating: 0, count: 2 * SlowWave.block)
    private var rests = RenderMemory<Float>(repeating: 0, count: 2 * SlowWave.block)
    /// The number of frames since the tiny states were last made 0.
    private var age = 0

    init(channels: Int, stages: Int) {
        self.stages = stages
        channelCount = channels
        replies = RenderMemory(repeating: .zero, count: stages)
        states = RenderMemory(repeating: .zero, count: (channels + 3) / 4 * stages)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        wave.reset()
        forget()
    }

    @_noLocks @_noAllocation
    private mutating func forget() {
        age = 0
        if isClear { return }
        isClear = true
        for i in 0..<states.count { states[i] = .zero }
    }

    @_noLocks @_noAllocation
    mutating func process(_ top: inout AudioBuffer, _ settings: Settings, frames: Int) {
        wave.begin(settings.pace)
        let channels = min(top.channelCount, channelCount)
        let isAlike = channels < 2 || (settings.spread.isFlat && settings.spread.end == 0)
        if frames > 0 { isClear = false }
        var done = 0
        while done < frames {
            let count = min(frames &- done, SlowWave.block &- age)
            wave.render(
                settings.pace, spread: settings.spread, from: done, count: count, columns: isAlike ? 1 : 2)
            for side in 0..<(isAlike ? 1 : 2) { aim(side, settings, from: done, count: count) }
            var first = 0
            while first < channels {
                let width = min(4, channels &- first)
                for lane in 0..<width {
                    let samples = top.samples(first &+ lane)
                    for i in 0..<count { lanes[4 &* i &+ lane] = samples[done &+ i] }
                }
                turn(first / 4 &* stages, other: isAlike ? 0 : SlowWave.block, settings, from: done, count: count)
                for lane in 0..<width {
                    var samples = top[first &+ lane]
                    for i in 0..<count { samples[done &+ i] = lanes[4 &* i &+ lane] }
                }
                first &+= 4
            }
            age &+= count
            if age == SlowWave.block { settle() }
            done &+= count
        }
        if frames < top.frameCount {
            wave.skip(settings.pace, from: frames, count: top.frameCount &- frames)
            forget()
        }
    }

    /// Makes tiny states 0, so that the sound ends: at the same frames whatever the slices are.
    @_noLocks @_noAllocation
    private mutating func settle() {
        age = 0
        for i in 0..<states.count {
            let state = states[i]
            states[i] = state.replacing(with: 0, where: (state * state) .< 1e-30)
        }
    }

    /// Computes the coefficients of a side: those of a turn by 90° at the frequency.
    @_noLocks @_noAllocation
    private mutating func aim(_ side: Int, _ settings: Settings, from first: Int, count: Int) {
        let rate = Float(settings.pace.sampleRate)
        let isFlat = settings.center.isFlat && settings.range.isFlat
        let start = side &* SlowWave.block
        var i = 0
        while i < count {
            var center = SIMD8<Float>(repeating: settings.center.end)
            var range = SIMD8<Float>(repeating: settings.range.end)
            if !isFlat {
                for k in 0..<8 {
                    center[k] = settings.center[first &+ i &+ k]
                    range[k] = settings.range[first &+ i &+ k]
                }
            }
            var place = center * RenderMath.exp2(range * wave.vector8(side, i)) * (1 / rate)
            Self.bend(&place)
            // (tan x - 1) / (tan x + 1) for half of the angle, without a tangent.
            let (sine, cosine) = (RenderMath.sin(turns: place), RenderMath.cos(turns: place))
            let under = 1 / (1 + sine)
            turns.store(0 - cosine * under, at: start &+ i)
            var rest = 2 * sine * under
            for k in 0..<8 { rest[k] = Self.root(rest[k]) }
            rests.store(rest, at: start &+ i)
            i &+= 8
        }
    }

    /// Bends frequencies, as parts of the sample rate, from 0.3 on so that they stay below 0.45. A corner would be heard.
    @_noLocks @_noAllocation @inline(__always)
    private static func bend(_ place: inout SIMD8<Float>) {
        var over: SIMD8<Float> = (place - 0.3) * (1 / 0.15)
        over.replace(with: 3, where: over .> 3)
        let square: SIMD8<Float> = over * over
        let share: SIMD8<Float> = over * (square + 27) / (square * 9 + 27)
        let bent: SIMD8<Float> = share * 0.15 + 0.3
        place.replace(with: bent, where: place .> 0.3)
    }

    /// Returns the square root of a number above 0: Newton's method from the well-known guess at `1 / √x`.
    @_noLocks @_noAllocation @inline(__always)
    private static func root(_ x: Float) -> Float {
        var y = Float(bitPattern: 0x5F37_59DF &- (x.bitPattern &>> 1))
        for _ in 0..<3 { y *= 1.5 - 0.5 * x * y * y }
        return x * y
    }

    /// Lets four channels of a block pass.
    @_noLocks @_noAllocation
    private mutating func turn(_ first: Int, other: Int, _ settings: Settings, from start: Int, count: Int) {
        for i in 0..<count {
            let (one, two) = (turns.value(at: i), turns.value(at: other &+ i))
            let (restOne, restTwo) = (rests.value(at: i), rests.value(at: other &+ i))
            let a = SIMD4<Float>(one, two, one, two)
            let b = SIMD4<Float>(restOne, restTwo, restOne, restTwo)
            let dry = lanes.vector4(at: 4 &* i)
            var sound = dry
            let feedback = settings.feedback[start &+ i]
            if feedback != 0 {
                // Stage n gets aⁿ · in, and what the states before it give. So what comes out is known as soon as what
                // goes in is, which is the sound and the feedback of that: solved for what goes in.
                var rest = SIMD4<Float>.zero
                var gain = SIMD4<Float>(repeating: 1)
                for stage in 0..<stages {
                    replies[stage] = rest
                    rest = a * rest + b * states[first &+ stage]
                    gain *= a
                }
                let input = (dry + feedback * rest) / (1 - feedback * gain)
                sound = gain * input + rest
                var share = SIMD4<Float>(repeating: 1)
                for stage in 0..<stages {
                    states[first &+ stage] = b * (share * input + replies[stage]) - a * states[first &+ stage]
                    share *= a
                }
            } else {
                for stage in 0..<stages {
                    let state = states[first &+ stage]
                    states[first &+ stage] = b * sound - a * state
                    sound = a * sound + b * state
                }
            }
            let share = settings.mix[start &+ i]
            lanes.store(dry * (1 - share) + sound * share, at: 4 &* i)
        }
    }
}
