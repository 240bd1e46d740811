public import RenderCore

/// A tone whose frequency follows the buffer on top: vibrato, frequency modulation, a theremin. Edits the top: takes the
/// modulator, leaves the tone; no latency.
///
///     let vibrato = LFO(.sine, rate: 5.5)
///     let tone = ModulatedOscillator(.saw, frequency: 220, deviation: 3)
///     …
///     context.run(vibrato)        // pushes the modulator
///     context.run(tone)           // puts the tone in its place
///
/// Modulation is linear and passes through zero: at each frame the frequency is
/// `frequency + deviation × modulator` in hertz, and where that is negative the wave runs backwards. For the timbres of
/// phase modulation with an index `i` (in radians) and a sine of `m` hertz as the modulator, set a deviation of `i × m`.
/// The first channel is the modulator; the tone goes to all channels of the buffer.
///
/// The edges of triangle, saw and pulse are rounded off for the frequency of the frame: without modulation the bits are
/// those of an ``Oscillator``. Modulation at audio rates makes sidebands without end, and those beyond half the sample
/// rate fold back as with any digital modulation.
///
/// Threads: control.
public final class ModulatedOscillator: Effect {
    /// The frequency of the wave when the modulator is 0, in hertz.
    public let frequency: Parameter
    /// The change of the frequency at a modulator of 1.
    public let deviation: Parameter
    /// The amplitude of the tone: 1 is full scale.
    public let level: Parameter
    /// The offset of the phase, in turns.
    public let phase: Parameter
    /// The part of its turn in which a pulse is high. The other waves have none.
    public let width: Parameter
    /// The shape.
    public let wave: Waveform

    private let voice: RenderState<Voice>

    private struct Voice: ~Copyable, Sendable {
        var tone = ToneCore()
        let edges: EdgeTable
    }

    /// Creates a tone that is modulated.
    ///
    /// - Parameters:
    ///   - wave: Its shape, for good.
    ///   - frequency: In hertz, 0 up to 0.49 of the sample rate.
    ///   - deviation: In hertz, ±96,000. The sum of both is held within ±0.49 of the sample rate.
    ///   - level: An amplitude, 0…4.
    ///   - phase: In turns, -1…1: where the wave begins.
    ///   - width: Of a pulse, 0.01…0.99.
    public init(
        _ wave: Waveform = .sine, frequency: Float = 440, deviation: Float = 0, level: Float = 1, phase: Float = 0,
        width: Float = 0.5
    ) {
        self.wave = wave
        self.frequency = Parameter(
            frequency, in: 0...96_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .exponential(.milliseconds(10)))
        self.deviation = Parameter(deviation, in: -96_000...96_000, unit: .hertz)
        self.level = Parameter(level, in: 0...4)
        self.phase = Parameter(phase, in: -1...1)
        self.width = Parameter(width, in: 0.01...0.99)
        voice = RenderState(Voice(edges: EdgeTable(for: wave)))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [
            frequency.named("frequency"), deviation.named("deviation"), level.named("level"), phase.named("phase"),
            width.named("width"),
        ]
    }

    /// Puts a slice of the tone in the place of the modulator.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let frequency = frequency.glide(context)
        let deviation = deviation.glide(context)
        let level = level.glide(context)
        let phase = phase.glide(context)
        let width = width.glide(context)
        let wave = wave
        voice.with(&context) { voice, context in
            let rate = context.sampleRate
            var top = context.top
            var samples = top[0]
            for i in samples.indices {
                // This is in double precision: at a modulator of 0 the step is that of the frequency alone.
                let hertz = Double(frequency[i]) + Double(deviation[i]) * Double(samples[i])
                samples[i] = voice.tone.next(
                    wave, step: ToneCore.step(frequency: hertz, sampleRate: rate),
                    offset: ToneCore.phase(turns: phase[i]), width: ToneCore.width(width[i]), edges: voice.edges)
            }
            level.apply(to: &samples)
            for channel in 1..<max(1, top.channelCount) {
                top.withChannels(0, channel) { first, other in for i in first.indices { other[i] = first[i] } }
            }
        }
    }

    /// Begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        voice.with(&context) { voice, _ in voice.tone = ToneCore() }
    }
}
