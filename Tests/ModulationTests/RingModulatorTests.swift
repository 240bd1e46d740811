import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct RingModulatorTests {
    private let tone = sine(48_000, frequency: 3_000)

    @Test("Two side-bands at -6.02 dB come out, and neither the carrier nor the sound")
    func sides() throws {
        let output = try play([tone], through: RingModulator(frequency: 440))[0]
        let half: Double = 20 * log10(0.25)
        #expect(abs(level(output, frequency: 2_560) - half) < 0.001)
        #expect(abs(level(output, frequency: 3_440) - half) < 0.001)
        for other in [440.0, 880, 3_000, 2_120, 3_880, 6_000] { #expect(level(output, frequency: other) < -120) }
    }

    @Test("A square has side-bands of its odd harmonics, and nothing folds back")
    func square() throws {
        let output = try play([tone], through: RingModulator(.square, frequency: 610))[0]
        for harmonic in [1.0, 3, 5, 9] {
            let expected: Double = 20 * log10(0.25 * 4 / (.pi * harmonic))
            #expect(abs(level(output, frequency: 3_000 + 610 * harmonic) - expected) < 0.02)
        }
        #expect(level(output, frequency: 4_000) < -90)
    }

    @Test("A mix of ½ is an amplitude modulation: the sound, and side-bands at half of its level")
    func mix() throws {
        let output = try play([tone], through: RingModulator(frequency: 100, mix: 0.5))[0]
        #expect(abs(level(output, frequency: 3_000) - 20 * log10(0.25)) < 0.001)
        #expect(abs(level(output, frequency: 3_100) - 20 * log10(0.125)) < 0.001)
    }
}
