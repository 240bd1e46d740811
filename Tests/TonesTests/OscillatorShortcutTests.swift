import RenderStack
import TestSupport
import Testing

/// A sine with settings that have not changed goes on after a few comparisons. Its sound must be the same.
@Suite struct OscillatorShortcutTests {
    /// A sine that asks for everything in every slice.
    final class Asking: Generator {
        let frequency = Parameter(
            440, in: 0...96_000, limit: .fractionOfRate(0.49), unit: .hertz, glide: .exponential(.milliseconds(10)))
        let level = Parameter(1, in: 0...4)
        let phase = Parameter(0, in: -1...1)
        private let voice = RenderState(Voice())
        private struct Voice: ~Copyable, Sendable {
            var tone = ToneCore()
            let edges = EdgeTable(for: .sine)
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let frequency = frequency.glide(context)
            let level = level.glide(context)
            let phase = phase.glide(context)
            voice.with(&context) { voice, context in
                let rate = context.sampleRate
                var samples = context.pushMono()
                for i in samples.indices {
                    samples[i] = voice.tone.next(
                        .sine, step: ToneCore.step(frequency: Double(frequency[i]), sampleRate: rate),
                        offset: ToneCore.phase(turns: phase[i]), edges: voice.edges)
                }
                level.apply(to: &samples)
            }
        }
    }

    @Test(
        "However its parameters move, the sine has the bits of one that asks for every value",
        arguments: [48_000.0, 44_100])
    func random(rate: Double) throws {
        var state: UInt64 = 1
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state &>> 33) % count
        }
        let (quick, asking) = (Oscillator(), Asking())
        func renderer(_ tone: some Generator) throws -> Renderer {
            try Renderer(sampleRate: rate, channels: 1) { context in
                context.run(tone)
                context.output()
            }
        }
        let renderers = try (renderer(quick), renderer(asking))
        for round in 0..<200 {
            let value = Float(next(1_000)) / 1_000
            switch next(6) {
            case 0: (quick.frequency.value, asking.frequency.value) = (value * 20_000, value * 20_000)
            case 1: (quick.level.value, asking.level.value) = (value, value)
            case 2: (quick.phase.value, asking.phase.value) = (value, value)
            default: break
            }
            let frames = [1, 7, 64, 500, 2_000][next(5)]
            let a = render(renderers.0, frames: frames, cycles: [64])
            let b = render(renderers.1, frames: frames, cycles: [64])
            if a != b {
                Issue.record("round \(round)")
                return
            }
        }
    }
}
