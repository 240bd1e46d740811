import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite("Compressor")
struct CompressorTests {
    @Test("A compressor keeps the contract of all modules, in every way to make one")
    func contract() {
        let plain = ModuleContract { Compressor(threshold: -30, hold: 0.002) }
            .transparent { $0.ratio.value = 1 }
        #expect(plain.violations() == [])
        let late = ModuleContract {
            Compressor(
                threshold: -30, hold: 0.001, detector: .rms(seconds: 0.005),
                key: .filtered(highPass: 200, lowPass: 5_000), isLinked: false, lookAhead: 0.003)
        }
        .transparent { $0.mix.value = 0 }
        #expect(late.violations() == [])
        let ducking = ModuleContract { Compressor(threshold: -30, hold: 0.001, key: .below, lookAhead: 0.002) }
            .transparent { $0.ratio.value = 1 }
        #expect(ducking.violations() == [])
    }

    /// The level in dB of what a compressor makes of a constant, at rest.
    private func level(_ input: Double, _ compressor: Compressor) throws -> Double {
        decibels(try #require(play([[Float](repeating: Float(factor(input)), count: 600)], through: compressor)[0].last))
    }

    @Test("The static curve is that of the formula within 0.05 dB, from -80 to +12 dB")
    func curves() throws {
        for (threshold, ratio, knee) in [(-18.0, 4.0, 6.0), (-40, 2, 0), (-6, 20, 12), (0, 100, 40), (-60, 1.5, 24)] {
            var worst = 0.0
            for step in 0...46 {
                let input = -80 + 2 * Double(step)
                let compressor = Compressor(
                    threshold: Float(threshold), ratio: Float(ratio), knee: Float(knee), attack: 0, release: 0)
                let output = try level(input, compressor)
                let expected = input - reduction(over: input - threshold, slope: 1 - 1 / ratio, knee: knee)
                worst = max(worst, abs(output - expected))
            }
            #expect(worst < 0.001, "\(threshold) dB, \(ratio), knee \(knee)")
        }
    }
}
