import Processors
public import RenderCore
public import Tones

/// Multiplies the sound by a tone: of each frequency its sum with the tone's and its difference come out, and neither
/// of the two. Edits the top.
///
///     let bell = RingModulator(frequency: 220)
///     let robot = RingModulator(.square, frequency: 50, mix: 0.7)
///
/// With a sine, both side-bands are at half of the amplitude, -6.02 dB. The other waves have a pair for each of their
/// harmonics. A sum above half of the sample rate folds back: below it there is no room for it. Latency: none.
///
/// Threads: control.
public final class RingModulator: Effect {
    /// The frequency of the carrier in hertz: 0 up to 0.49 of the sample rate.
    public let frequency: Parameter
    /// The mix, from the unchanged sound (0, bit for bit) over an amplitude modulation (between) to the side-bands
    /// alone (1).
    public let mix: Parameter
    /// The shape of the carrier, which has no harmonics above half of the sample rate.
    public let wave: Waveform

    private let carrier: RenderState<Carrier>

    private struct Carrier: ~Copyable, Sendable {
        var tone = ToneCore()
        let edges: EdgeTable
        var samples = RenderMemory<Float>(repeating: 0, count: SlowWave.block)

        init(_ wave: Waveform) { edges = EdgeTable(for: wave) }

        @_noLocks @_noAllocation
        private static func render(
            _ tone: inout ToneCore, _ wave: Waveform, _ step: Int64, _ edges: borrowing EdgeTable,
            into samples: inout RenderMemory<Float>
        ) {
            var output = samples.span
            tone.render(wave, step: step, edges: edges, into: &output)
        }

        /// Renders a block.
        @_noLocks @_noAllocation
        mutating func render(_ wave: Waveform, _ frequency: Glide, _ rate: Double, from first: Int, count: Int) {
            if frequency.isFlat {
                let step = ToneCore.step(frequency: Double(frequency.end), sampleRate: rate)
                // It computes a whole block at once, and does not use the rest.
                let start = tone.phase
                Carrier.render(&tone, wave, step, edges, into: &samples)
                tone.phase = start &+ UInt64(bitPattern: step) &* UInt64(truncatingIfNeeded: count)
            } else {
                for i in 0..<count {
                    let step = ToneCore.step(frequency: Double(frequency[first &+ i]), sampleRate: rate)
                    samples[i] = tone.next(wave, step: step, edges: edges)
                }
            }
        }
    }

    /// Creates a ring modulator.
    ///
    /// - Parameters:
    ///   - wave: The shape of the carrier, for good.
    ///   - frequency: In hertz.
    ///   - mix: 0…1.
    public init(_ wave: Waveform = .sine, frequency: Float = 440, mix: Float = 1) {
        self.wave = wave
        self.frequency = Parameter(
            frequency, in: 0...96_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .smoothExponential(.milliseconds(10)))
        self.mix = Parameter(mix, in: 0...1, glide: .smooth(.milliseconds(20)))
        carrier = RenderState(Carrier(wave))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [frequency.named("frequency"), mix.named("mix")] }

    /// Multiplies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let (frequency, mix) = (frequency.glide(context), mix.glide(context))
        let (wave, rate) = (wave, context.sampleRate)
        carrier.withTop(&context) { carrier, top in
            var done = 0
            while done < top.frameCount {
                let count = min(top.frameCount &- done, SlowWave.block)
                carrier.render(wave, frequency, rate, from: done, count: count)
                var tone = carrier.samples.span
                // The factor of each frame: at a mix of 0 it is 1.
                for i in 0..<count {
                    let share = mix[done &+ i]
                    tone[i] = (1 - share) + share * tone[i]
                }
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    for i in 0..<count { samples[done &+ i] *= tone[i] }
                }
                done &+= count
            }
        }
    }

    /// Begins the carrier anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        carrier.with(&context) { carrier, _ in carrier.tone = ToneCore() }
    }
}
