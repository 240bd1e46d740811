import Processors
public import RenderCore
public import Tones

/// Makes one sound into many: adds copies of it whose delays go slowly up and down, each in its own phase, so that they
/// are a little out of tune. Edits the top.
///
///     let chorus = Chorus()                                       // three voices a side, wide
///     let slow = Chorus(voices: 1, beats: 8, depth: 0.003)        // a turn of eight beats
///
/// The delays of the voices `0..<n` are `delay + depth · wave(t + v / n)`; the right side is ahead by another
/// `spread / 2n` of a turn. Each voice is as loud as the sound, divided by √n. With a sine, the voices are out of tune
/// by 2π · rate · depth at most: 0.6 %, 11 cents, as it comes.
///
/// Mono becomes stereo, unless ``isStereo`` says otherwise or the stack has one channel only; of more channels the even
/// ones are left and the odd ones right. Between two samples a voice is read over six (-0.4 dB at a quarter of the
/// sample rate where it lies midway). Latency: none, the dry sound is not delayed.
///
/// Threads: control.
public final class Chorus: Effect {
    /// The turns of the wave in a second: 0…20 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The delay of the voices, from which they go up and down, in seconds: 0.001…0.05. A change takes a second.
    public let delay: Parameter
    /// The distance that the delay goes up and down, in seconds: 0…0.01. The chorus keeps every delay at two frames or
    /// more, and so makes the depth smaller, softly, from half of the delay on. A change takes 100 ms.
    public let depth: Parameter
    /// The difference of the two sides: from 0 (alike) to 1 (the voices of one side lie midway between those of the
    /// other).
    public let spread: Parameter
    /// The mix, from the unchanged sound (0, bit for bit and for free; the voices are forgotten) to the voices alone
    /// (1).
    public let mix: Parameter
    /// The number of voices on each side.
    public let voices: Int
    /// The shape of a turn.
    public let shape: LFOCore.Shape
    /// Indicates whether mono becomes stereo.
    public let isStereo: Bool

    private let choir: RenderState<Choir>

    /// Creates a chorus.
    ///
    /// - Parameters:
    ///   - voices: 1…8 on each side.
    ///   - shape: A sine, a triangle or a random curve.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - delay: In seconds.
    ///   - depth: In seconds.
    ///   - spread: 0…1.
    ///   - mix: 0…1.
    ///   - isStereo: `true` to make mono stereo.
    /// - Precondition: There are 1…8 voices, and the shape has no jumps.
    public init(
        voices: Int = 3, shape: LFOCore.Shape = .sine, rate: Float = 0.5, beats: Float = 0, delay: Float = 0.012,
        depth: Float = 0.002, spread: Float = 1, mix: Float = 0.5, isStereo: Bool = true
    ) {
        demand((1...8).contains(voices), "Chorus: \(voices) voices; it must be 1…8")
        shape.demandNoJumps("Chorus")
        self.voices = voices
        self.shape = shape
        self.isStereo = isStereo
        self.rate = .turns(rate, upTo: 20)
        self.beats = .beatsOfATurn(beats)
        self.delay = Parameter(delay, in: 0.001...0.05, unit: .seconds, glide: .smooth(.milliseconds(1_000)))
        self.depth = Parameter(depth, in: 0...0.01, unit: .seconds, glide: .smooth(.milliseconds(100)))
        self.spread = Parameter(spread, in: 0...1, glide: .smooth(.milliseconds(50)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        choir = RenderState(Choir(channels: 1, voices: voices, sampleRate: 48_000))
    }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        choir.replace(
            with: Choir(
                channels: preparation.maximumChannelCount, voices: voices, sampleRate: preparation.sampleRate))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            rate.named("rate"), beats.named("beats"), delay.named("delay"), depth.named("depth"),
            spread.named("spread"), mix.named("mix"),
        ]
    }

    /// Adds the voices to the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let settings = Choir.Settings(
            pace: SlowWave.Pace(context, shape, rate: rate, beats: beats),
            sweep: SweptLine.Sweep(
                delay: delay.glide(context), depth: depth.glide(context), sampleRate: context.sampleRate),
            spread: spread.glide(context), mix: mix.glide(context))
        let frames = settings.mix.lastFrame(of: context.frameCount)
        let isStereo = isStereo
        if isStereo && context.channelCount() == 1 {
            // At a mix of 0 too: where two channels become one again, the level must not depend on the mix.
            var hasTwo = false
            choir.with(&context) { choir, _ in hasTwo = choir.line.channelCount >= 2 }
            if hasTwo { _ = context.widenTop() }
        }
        choir.withTop(&context) { choir, top in choir.process(&top, settings, frames: frames) }
    }

    /// Forgets the sound before, and begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { choir.with(&context) { choir, _ in choir.reset() } }
}

/// The voices of a ``Chorus``.
private struct Choir: ~Copyable, Sendable {
    /// The parameters in a slice.
    struct Settings: Sendable, BitwiseCopyable {
        var pace: SlowWave.Pace
        var sweep: SweptLine.Sweep
        var spread: Glide
        var mix: Glide
    }

    var line: SweptLine
    private var wave: SlowWave
    private let voices: Int
    private let level: Float

    init(channels: Int, voices: Int, sampleRate: Double) {
        let frames = Int(0.06 * sampleRate) + 4
        line = SweptLine(channels: channels, frames: frames, columns: 2 * voices)
        wave = SlowWave(voices: voices, reach: 0.5 / Float(voices), movesDelay: true)
        self.voices = voices
        level = 1 / Float(voices).squareRoot()
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        wave.reset()
        line.reset()
    }

    @_noLocks @_noAllocation
    mutating func process(_ top: inout AudioBuffer, _ settings: Settings, frames: Int) {
        let (voices, level) = (voices, level)
        line.process(
            &top, settings.pace, settings.sweep, spread: settings.spread, &wave, frames: frames
        ) { line, top, channel, column, first, count in
            var samples = top[channel]
            line.write(channel, &samples, from: first, count: count)
            line.sum(channel, column: column, count: voices, level: level, frames: count)
            Choir.sing(line, &samples, settings.mix, from: first, count: count)
        }
    }

    /// Mixes the voices of a block into a channel.
    @_noLocks @_noAllocation
    private static func sing(
        _ line: borrowing SweptLine, _ samples: inout MutableSpan<Float>, _ mix: Glide, from first: Int, count: Int
    ) {
        var i = 0
        if mix.isFlat {
            let share = mix.end
            while i &+ 8 <= count {
                let dry = samples.vector8(at: first &+ i)
                samples.store(dry * (1 - share) + line.wet.vector8(at: i) * share, at: first &+ i)
                i &+= 8
            }
        }
        while i < count {
            let share = mix[first &+ i]
            samples[first &+ i] = samples[first &+ i] * (1 - share) + line.wet.value(at: i) * share
            i &+= 1
        }
    }
}
