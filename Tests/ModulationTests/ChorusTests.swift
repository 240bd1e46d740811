import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct ChorusTests {
    @Test("The voices' delays are those of the formula, on both sides", arguments: [1, 2, 3, 4, 8])
    func delays(voices: Int) throws {
        let chorus = Chorus(voices: voices, rate: 0, delay: 0.02, depth: 0.009, mix: 1)
        let output = try play([impulse(2_400), impulse(2_400)], through: chorus)
        for side in 0..<2 {
            // Lagrange's polynomial keeps the sum and the first moment of an impulse, and the second too.
            var expected = [0.0, 0, 0]
            for voice in 0..<voices {
                let turn: Double = (Double(voice) + 0.5 * Double(side)) / Double(voices)
                let delay: Double = 48_000 * (0.02 + 0.009 * sin(2 * .pi * turn))
                for power in 0..<3 { expected[power] += pow(delay, Double(power)) / Double(voices).squareRoot() }
            }
            for power in 0..<3 {
                let moment = output[side].enumerated().reduce(0.0) {
                    $0 + pow(Double($1.offset), Double(power)) * Double($1.element)
                }
                #expect(abs(moment - expected[power]) < 1e-5 * expected[power], "\(voices) voices, side \(side)")
            }
            // Six samples each, no more.
            #expect(output[side].count { $0 != 0 } <= 6 * voices)
        }
    }

    @Test("A voice's delay goes round with the wave")
    func turns() throws {
        // Impulses once in 100 ms, each delayed by the wave of its time.
        var clicks = constant(0, 48_000)
        for i in stride(from: 0, to: 48_000, by: 4_800) { clicks[i] = 1 }
        let chorus = Chorus(voices: 1, rate: 1.3, delay: 0.01, depth: 0.005, spread: 0, mix: 1)
        let output = try play([clicks], through: chorus)[0]
        for i in stride(from: 0, to: 43_200, by: 4_800) {
            let part = output[i..<(i + 4_800)]
            let sum = part.reduce(0.0) { $0 + Double($1) }
            let heard = part.indices.reduce(0.0) { $0 + Double($1) * Double(part[$1]) } / sum
            // The click is heard where its delay is the time since.
            let delay: Double = 480 + 240 * sin(2 * .pi * Double(Float(1.3)) * heard / 48_000)
            #expect(abs(heard - Double(i) - delay) < 0.2, "\(heard - Double(i))")
        }
    }

    @Test("Mono becomes stereo, with two sides; unless it may not, or there is one channel only")
    func stereo() throws {
        let input = noise(9_600)
        let wide = try play([input], through: Chorus(), channels: 2)
        #expect(wide[0] != wide[1])
        let alike = try play([input], through: Chorus(spread: 0), channels: 2)
        #expect(alike[0] == alike[1] && alike[0] == wide[0])
        let mono = try play([input], through: Chorus(isStereo: false), channels: 2)
        #expect(mono[0] == wide[0] && mono[1] == wide[0])
        let chorus = Chorus()
        let source = Playback([input])
        let layout = StackLayout(slots: 4, channels: 1, frames: 512)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1, layout: layout) { context in
            context.run(source)
            context.run(chorus)
            context.output()
        }
        #expect(render(renderer, frames: 9_600)[0] == wide[0])
        #expect(renderer.faultCount == 0)
    }

    @Test(
        "A voice keeps its level at 1 kHz, loses 1.1 dB at a quarter of the rate and is nowhere louder, wherever it lies between two samples"
    )
    func level() throws {
        for part in [0.0, 0.25, 0.5] {
            let chorus = Chorus(
                voices: 1, rate: 0, delay: Float((480 + part) / 48_000), depth: 0, mix: 1, isStereo: false)
            let answer = try play([impulse(1_024)], through: chorus)[0]
            #expect(abs(20 * log10(gain(answer, at: 1_000))) < 0.001)
            #expect(20 * log10(gain(answer, at: 12_000)) > -1.08)
            for frequency in stride(from: 100.0, to: 24_000, by: 100) {
                #expect(gain(answer, at: frequency) < 1.00001)
            }
        }
    }
}
