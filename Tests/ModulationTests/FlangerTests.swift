import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct FlangerTests {
    @Test("With a depth of 0 it is the comb of the formula")
    func comb() throws {
        for (frames, feedback, mix) in [(144.0, 0.5, 0.5), (144, -0.9, 0.5), (37, 0.7, 1), (480, 0, 0.3)] {
            let flanger = Flanger(
                delay: Float(frames / 48_000), depth: 0, feedback: Float(feedback), mix: Float(mix))
            let answer = try play([impulse(65_536)], through: flanger)[0]
            for frequency in [20.0, 166.7, 333.3, 1_000, 1_234, 5_000, 9_999] {
                let turn: Double = -2 * .pi * frequency * frames / 48_000
                let (re, im) = (cos(turn), sin(turn))
                let share = Double(Float(feedback))
                let (under, over) = (1 - share * re, -share * im)
                let size: Double = under * under + over * over
                let real: Double = 1 - mix + mix * (re * under + im * over) / size
                let imaginary: Double = mix * (im * under - re * over) / size
                let expected: Double = (real * real + imaginary * imaginary).squareRoot()
                #expect(
                    abs(gain(answer, at: frequency) - expected) < 0.002 * max(expected, 0.5), "\(frames), \(frequency)")
            }
        }
    }

    @Test("The delay is delay (1 + depth wave): of the right side at the top of its wave too")
    func delays() throws {
        // Spread by a quarter of a turn, with the wave at rest.
        let flanger = Flanger(rate: 0, delay: 0.004, depth: 0.3, feedback: 0, spread: 0.5, mix: 1)
        let output = try play([impulse(600), impulse(600)], through: flanger)
        for (side, frames) in [192.0, 192 * 1.3].enumerated() {
            let sum = output[side].reduce(0.0) { $0 + Double($1) }
            let moment = output[side].enumerated().reduce(0.0) { $0 + Double($1.offset) * Double($1.element) }
            #expect(abs(sum - 1) < 1e-5)
            #expect(abs(moment - frames) < 2e-3, "\(moment)")
        }
    }

    @Test("At the ends of the feedback it stays bounded, whatever comes in, and ends in true silence")
    func ends() throws {
        for feedback in [-0.98, 0.98] as [Float] {
            for (delay, depth, rate) in [(0.003, 0.8, 0.2), (0.0001, 1, 20), (0.02, 1, 20)] as [(Float, Float, Float)] {
                let flanger = Flanger(rate: rate, delay: delay, depth: depth, feedback: feedback)
                let loud = noise(24_000, level: 1_000)
                let output = try play([loud, loud], through: flanger, frames: 48_000)
                // The samples in the line are below 1,000 + 8; between them it is a quarter more at most.
                let most: Float = 500 + 0.5 * 1.25 * 1_008
                for side in output {
                    #expect(side.allSatisfy { abs($0) <= most })
                    #expect(side[30_000...].allSatisfy { abs($0) < 12 })
                }
            }
            let short = Flanger(rate: 3, delay: 0.001, feedback: feedback)
            let end = try play([noise(24_000, level: 0.9)], through: short, frames: 24_000 + 400_000)[0]
            #expect(end[30_000..<31_000].contains { $0 != 0 })
            #expect(end[400_000...].allSatisfy { $0 == 0 })
        }
    }
}
