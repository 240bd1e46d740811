public import RenderCore

/// A tone: a sine, a triangle, a saw or a pulse. Pushes one mono buffer; no latency.
///
///     let tone = Oscillator(frequency: 440, level: 0.5)
///     let bass = Oscillator(.square, frequency: 55, width: 0.3)
///
/// The harmonics of a sine lie below -120 dB. Of the other waves every harmonic up to 20 kHz is within 0.1 dB of the
/// ideal (0.4535 of the sample rate, if that is less), and frequencies that fold back lie below -90 dB of the
/// fundamental, from the lowest tones up to 10 kHz: the figures are in <doc:OscillatorsAndNoise>. The waves are free of DC.
///
/// A wave runs from -1 to 1 times the level (a narrow pulse, without its DC, up to nearly 2), and a little beyond at its
/// edges: a band-limited step swings over by 9 % of its height. The phase is an integer, 2^64 to the turn: it never
/// drifts, and however the cycles are cut the samples are the same, bit for bit.
///
/// Threads: control.
public final class Oscillator: Generator {
    /// The frequency of the wave, in hertz.
    public let frequency: Parameter
    /// The amplitude of the tone: 1 is full scale.
    public let level: Parameter
    /// The offset of the phase, in turns.
    public let phase: Parameter
    /// The part of its turn in which a pulse is high. The other waves have none.
    public let width: Parameter
    /// The shape.
    public let wave: Waveform

    private let hasEdges, hasWidth: Bool
    private let voice: RenderState<Voice>

    private struct Voice: ~Copyable, Sendable {
        var tone = ToneCore()
        // Of a sine: the numbers of the last slice in which the parameters were at rest.
        var rest = ParametersAtRest.none
        var step: UInt64 = 0
        var offset: UInt64 = 0
        var level: Float = 0
        let edges: EdgeTable
    }

    /// Creates a tone.
    ///
    /// - Parameters:
    ///   - wave: Its shape, for good.
    ///   - frequency: In hertz, 0 up to 0.49 of the sample rate.
    ///   - level: An amplitude, 0…4.
    ///   - phase: In turns, -1…1: where the wave begins.
    ///   - width: Of a pulse, 0.01…0.99.
    public init(
        _ wave: Waveform = .sine, frequency: Float = 440, level: Float = 1, phase: Float = 0, width: Float = 0.5
    ) {
        self.wave = wave
        hasEdges = wave != .sine
        hasWidth = wave == .square
        self.frequency = Parameter(
            frequency, in: 0...96_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .exponential(.milliseconds(10)))
        self.level = Parameter(level, in: 0...4)
        self.phase = Parameter(phase, in: -1...1)
        self.width = Parameter(width, in: 0.01...0.99)
        voice = RenderState(Voice(edges: EdgeTable(for: wave)))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [frequency.named("frequency"), level.named("level"), phase.named("phase"), width.named("width")]
    }

    /// Pushes a slice of the tone.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if !goOn(&context, ParametersAtRest(context, frequency, phase, level)) { processAnew(&context) }
    }

    /// Processes a slice in which a parameter moves or has changed, or of another wave than a sine.
    @_noLocks @_noAllocation
    @inline(never) private func processAnew(_ context: inout RenderContext) {
        let glides = (frequency.glide(context), level.glide(context), phase.glide(context))
        let width = hasWidth ? width.glide(context) : Glide(0.5)
        // They are asked for behind the glides: a parameter that rests then has the value of its glide.
        let rest = hasEdges ? .none : ParametersAtRest(context, frequency, phase, level)
        let (frequency, level, phase) = glides
        let wave = wave
        voice.with(&context) { voice, context in
            let rate = context.sampleRate
            var samples = context.pushMono()
            voice.rest = rest
            if frequency.isFlat && phase.isFlat && width.isFlat {
                let step = ToneCore.step(frequency: Double(frequency.end), sampleRate: rate)
                voice.step = UInt64(bitPattern: step)
                voice.offset = ToneCore.phase(turns: phase.end)
                voice.level = level.end
                voice.tone.render(
                    wave, step: step, offset: voice.offset, width: ToneCore.width(width.end), edges: voice.edges,
                    level: level.isFlat ? level.end : 1, into: &samples)
                if !level.isFlat { level.apply(to: &samples) }
            } else {
                for i in samples.indices {
                    samples[i] = voice.tone.next(
                        wave, step: ToneCore.step(frequency: Double(frequency[i]), sampleRate: rate),
                        offset: ToneCore.phase(turns: phase[i]), width: ToneCore.width(width[i]),
                        edges: voice.edges)
                }
                level.apply(to: &samples)
            }
        }
    }

    /// Pushes a slice of a sine as the one before, where no parameter has changed: the short way. `false`: there is more to do.
    @_noLocks @_noAllocation
    @inline(__always) private func goOn(_ context: inout RenderContext, _ rest: ParametersAtRest) -> Bool {
        // Without a sound if the state is another owner's, which is a fault that has been reported then.
        var (isDone, isOurs) = (true, false)
        var (phase, step, level) = (UInt64(0), UInt64(0), Float(0))
        voice.with(&context) { voice, context in
            isDone = rest.isEqual(to: voice.rest)
            isOurs = isDone
            if isDone {
                (phase, step, level) = (voice.tone.phase &+ voice.offset, voice.step, voice.level)
                voice.tone.phase &+= step &* UInt64(truncatingIfNeeded: context.frameCount)
            }
        }
        if isOurs {
            var samples = context.pushMono()
            Signal.sine(phase: phase, step: step, level: level, into: &samples)
        }
        return isDone
    }

    /// Begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        voice.with(&context) { voice, _ in voice.tone = ToneCore() }
    }
}
