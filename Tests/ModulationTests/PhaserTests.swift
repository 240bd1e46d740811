import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct PhaserTests {
    /// The frequencies of the notches by the formula.
    private func notches(_ stages: Int, _ center: Double) -> [Double] {
        (0..<stages / 2).map { k in
            let share: Double = tan((2 * Double(k) + 1) * .pi / (2 * Double(stages)))
            return 48_000 / .pi * atan(tan(.pi * center / 48_000) * share)
        }
    }

    @Test("With the wave at rest the notches lie where the formula says, on both sides", arguments: [2, 4, 6, 9, 12])
    func rest(stages: Int) throws {
        // The right side is a quarter of a turn ahead, at the top of a sine: an octave higher.
        let phaser = Phaser(stages: stages, rate: 0, center: 700, range: 1, feedback: 0, spread: 0.5)
        let output = try play([impulse(8_192), impulse(8_192)], through: phaser)
        for (side, center) in [700.0, 1_400].enumerated() {
            for notch in notches(stages, center) {
                #expect(gain(output[side], at: notch) < 1e-4)
                #expect(gain(output[side], at: notch * 1.03) > 0.004)
            }
            #expect(abs(gain(output[side], at: 1) - 1) < 1e-3)
        }
    }

    @Test("The feedback goes round without a delay: the answer is that of the formula")
    func feedback() throws {
        for feedback in [-0.95, -0.5, 0.3, 0.95] {
            let phaser = Phaser(stages: 4, rate: 0, center: 1_000, feedback: Float(feedback), mix: 0.4)
            let answer = try play([impulse(32_768)], through: phaser)[0]
            for frequency in [50.0, 300, 700, 1_000, 2_500, 7_000, 15_000] {
                // All four stages turn by this angle.
                let turn: Double = -8 * atan(tan(.pi * frequency / 48_000) / tan(.pi * 1_000 / 48_000))
                let (re, im) = (cos(turn), sin(turn))
                let (under, over) = (1 - Double(Float(feedback)) * re, -Double(Float(feedback)) * im)
                let size: Double = under * under + over * over
                let (wetRe, wetIm) = ((re * under + im * over) / size, (im * under - re * over) / size)
                let mix = Double(Float(0.4))
                let real: Double = 1 - mix + mix * wetRe
                let imaginary: Double = mix * wetIm
                let expected: Double = (real * real + imaginary * imaginary).squareRoot()
                #expect(abs(gain(answer, at: frequency) - expected) < 2e-3 * expected, "\(feedback), \(frequency)")
            }
        }
    }

    @Test("The notches wander: with a range of two octaves from a quarter to four times the centre")
    func range() throws {
        for (shape, frame, factor) in [(LFOCore.Shape.triangle, 12_000, 4.0), (.triangle, 36_000, 0.25)] {
            // At rest from the moment on at which the wave is at its end: the rate becomes 0 in no time before.
            let phaser = Phaser(stages: 2, shape: shape, rate: 1, center: 1_000, range: 2, feedback: 0)
            let notch = 48_000 / .pi * atan(tan(.pi * 1_000 * factor / 48_000))
            let tone = sine(frame + 400, frequency: notch)
            let output = try play([tone], through: phaser)[0]
            let around = output[(frame - 100)..<(frame + 100)].map(abs).max() ?? 1
            #expect(around < 0.03, "\(factor): \(around)")
        }
    }
}
