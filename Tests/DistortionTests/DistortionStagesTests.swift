import Foundation
import RenderStack
import TestSupport
import Testing

/// The polynomial, the second ring and the mix of the lower rate.
@Suite struct DistortionStagesTests {
    /// A distortion without a curve.
    private func plain(times: Int = 4, _ settings: (Distortion) -> Void) -> Distortion {
        let distortion = Distortion(.none, drive: 0, times: times)
        settings(distortion)
        return distortion
    }

    private func harmonics(_ distortion: Distortion, level amplitude: Double = 0.5) throws -> [Double] {
        let output = try play([sine(14_400, frequency: 1_000, level: amplitude, phase: .pi / 2)], through: distortion)[
            0]
        let heard = Array(output[4_800...])
        return [1_000.0, 2_000, 3_000].map { level(heard, frequency: $0) }
    }

    @Test("The harmonics of a cosine are those that the powers of a cosine have") func polynomial() throws {
        // a cos → a; b cos² → b/2 at twice the frequency; c cos³ → 3c/4 and c/4 at three times.
        for (linear, squared, cubic, mix): (Float, Float, Float, Float) in [
            (1, 0.5, 0.7, 1), (0.5, 2, -1.5, 0.6), (0, 0, 1, 1), (0.3, 8, 20, 0.2),
        ] {
            let distortion = plain {
                ($0.linearTerm.value, $0.squaredTerm.value, $0.cubicTerm.value) = (linear, squared, cubic)
                $0.polynomialMix.value = mix
            }
            let found = try harmonics(distortion)
            let size = 0.5, share = Double(mix)
            let (a, b, c) = (1 - share + share * Double(linear), share * Double(squared), share * Double(cubic))
            let amplitudes: [Double] = [
                a * size + 0.75 * c * pow(size, 3), 0.5 * b * size * size, 0.25 * c * pow(size, 3),
            ]
            let expected = amplitudes.map { 20 * log10(abs($0)) }
            for (found, expected) in zip(found, expected) where expected > -200 {
                #expect(abs(found - expected) < 0.01, "\(squared), \(cubic): \(found), expected \(expected)")
            }
            for (found, expected) in zip(found, expected) where expected < -200 { #expect(found < -110) }
        }
        let constant = plain(times: 1) { ($0.squaredTerm.value, $0.polynomialMix.value) = (0.5, 1) }
        let output = try play([sine(9_600, frequency: 1_000, level: 0.5)], through: constant)[0]
        // sin² is a half in the mean.
        let mean = output[4_800...].reduce(0) { $0 + Double($1) } / 4_800
        #expect(abs(mean - 0.0625) < 1e-6)
    }

    @Test("The polynomial folds nothing back at 4 times the rate") func foldsBack() throws {
        let distortion = plain { ($0.squaredTerm.value, $0.cubicTerm.value, $0.polynomialMix.value) = (3, 8, 1) }
        let output = try play([sine(9_600, frequency: 9_000, level: 0.9)], through: distortion)[0]
        let heard = Array(output[4_800...])
        // The third harmonic would come back at 21 kHz, 6 kHz would be the sixth.
        let own = level(heard, frequency: 9_000)
        for folded in [21_000.0, 6_000, 3_000] { #expect(level(heard, frequency: folded) < own - 90, "\(folded)") }
    }

    @Test("Two rings make sums and differences, by their balance") func rings() throws {
        for balance: Float in [0, 0.25, 1] {
            let distortion = plain {
                ($0.ringFrequency.value, $0.secondRingFrequency.value) = (3_000, 5_000)
                ($0.ringBalance.value, $0.ringAmount.value) = (balance, 1)
            }
            let output = try play([sine(9_600, frequency: 1_000, level: 0.5)], through: distortion)[0]
            let heard = Array(output[4_800...])
            // A product of sines is half of their sum and half of their difference: both rings have one at 4 kHz.
            for (frequency, share) in [(2_000.0, 1 - Double(balance)), (6_000, Double(balance))] {
                let found = level(heard, frequency: frequency)
                if share == 0 {
                    #expect(found < -90)
                } else {
                    #expect(abs(found - 20 * log10(0.25 * share)) < 0.02, "\(balance) at \(frequency)")
                }
            }
            #expect(level(heard, frequency: 1_000) < -90)
        }
    }

    @Test("The mix of the lower rate and fewer bits is a mix of both sounds") func decimationMix() throws {
        let input = [noise(6_000)]
        func sound(_ mix: Float, bits: Float, rate: Float) throws -> [Float] {
            try play(
                input,
                through: plain(times: 1) {
                    ($0.bits.value, $0.holdRate.value, $0.decimationMix.value) = (bits, rate, mix)
                })[0]
        }
        let settings: [(Float, Float)] = [(4, 1_000_000), (24, 6_000), (5, 9_000)]
        for (bits, rate) in settings {
            let clean = try sound(0, bits: bits, rate: rate)
            let crushed = try sound(1, bits: bits, rate: rate)
            let mixed = try sound(0.3, bits: bits, rate: rate)
            let expected: [Float] = clean.indices.map { 0.7 * clean[$0] + 0.3 * crushed[$0] }
            #expect(clean[1...] == input[0][..<5_999])
            #expect(crushed != clean)
            #expect(largestDifference(mixed, expected) < 1e-6)
        }
    }

    @Test("A preset has none of these") func presets() throws {
        let input = [noise(6_000)]
        let expected = try play(input, through: Distortion(preset: .speechAlienChatter))
        let distortion = plain {
            ($0.squaredTerm.value, $0.polynomialMix.value, $0.ringBalance.value) = (4, 1, 1)
            ($0.secondRingFrequency.value, $0.decimationMix.value, $0.linearTerm.value) = (900, 0.2, 0)
            $0.cubicTerm.value = 3
            $0.load(.speechAlienChatter)
        }
        #expect(try play(input, through: distortion) == expected)
    }
}
