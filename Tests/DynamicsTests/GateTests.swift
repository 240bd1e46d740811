import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite("Expander and gate")
struct GateTests {
    @Test("Expander and gate keep the contract of all modules")
    func contract() {
        let expander = ModuleContract { Expander(threshold: -15, knee: 12, range: 30, hold: 0.002) }
            .transparent { $0.ratio.value = 1 }
        #expect(expander.violations() == [])
        let late = ModuleContract {
            Expander(
                threshold: -15, range: 30, hold: 0.001, detector: .rms(seconds: 0.005),
                key: .filtered(highPass: 100, lowPass: 8_000), isLinked: false, lookAhead: 0.002)
        }
        .transparent { $0.range.value = 0 }
        #expect(late.violations() == [])
        let gate = ModuleContract { Gate(threshold: -12, range: 30, attack: 0.005, release: 0.01, hold: 0.001) }
            .transparent { $0.range.value = 0 }
            .leavingOut(
                parameters: "threshold", "hysteresis", because: "a gate is open or closed")
        #expect(gate.violations() == [])
    }

    @Test("The expander's static curve is that of the formula within 0.001 dB, from -80 to +12 dB")
    func staticCurve() throws {
        for (threshold, ratio, knee, range) in [(-30.0, 2.0, 6.0, 120.0), (-20, 4, 0, 40), (-50, 1.5, 24, 60)] {
            for step in 0...46 {
                let input = -80 + 2 * Double(step)
                let expander = Expander(
                    threshold: Float(threshold), ratio: Float(ratio), knee: Float(knee), range: Float(range), attack: 0,
                    release: 0, hold: 0)
                let sound = try play([[Float](repeating: Float(factor(input)), count: 600)], through: expander)
                let below = reduction(over: threshold - input, slope: ratio - 1, knee: knee)
                let error = abs(decibels(sound[0][599]) - (input - min(below, range)))
                #expect(error < 0.001, "\(threshold), \(ratio), \(knee), \(input): \(error) dB")
            }
        }
    }

    @Test("The gate opens at its threshold and closes below its hysteresis; shut it takes away its range")
    func hysteresis() throws {
        let levels: [(Double, Bool)] = [
            (-60, false), (-40.1, false), (-39.9, true), (-43.9, true), (-44.1, false), (-40.1, false), (12, true),
        ]
        let sound = levels.flatMap { [Float](repeating: Float(factor($0.0)), count: 1_000) }
        let gate = Gate(threshold: -40, hysteresis: 4, range: 50, attack: 0, release: 0, hold: 0)
        let output = try play([sound], through: gate)[0]
        for (number, (level, isOpen)) in levels.enumerated() {
            for frame in [number * 1_000 + 990, number * 1_000 + 999] {
                let expected = isOpen ? level : level - 50
                #expect(abs(decibels(output[frame]) - expected) < 0.001)
                if isOpen { #expect(output[frame] == sound[frame]) }
            }
        }
        #expect(gate.gainReduction == 0)
    }

    @Test("The gate's gain goes 1 - 1/e of the way in attack and release, after the hold, within 1 %")
    func times() throws {
        let (attack, release, hold) = (0.01, 0.05, 0.03)
        let gate = Gate(
            threshold: -40, hysteresis: 0, range: 60, attack: Float(attack), release: Float(release),
            hold: Float(hold), key: .below)
        let (up, down, frames) = (1_000, 12_000, 24_000)
        let key = (0..<frames).map { Float($0 >= up && $0 < down ? 1 : 0) }
        let gains = try play([[Float](repeating: 0.5, count: frames)], key: [key], through: gate)[0]
            .map { decibels($0 / 0.5) }
        let share = 1 - exp(-1.0)
        #expect(gains[0] == gains[up - 1] && abs(gains[0] + 60) < 0.001)
        let opened = try #require(gains.firstIndex { $0 >= -60 * (1 - share) })
        #expect(abs(Double(opened + 1 - up) / 48_000 / attack - 1) < 0.01)
        let begun = try #require(gains[down...].firstIndex { $0 < gains[down - 1] })
        #expect(Double(begun - down) / 48_000 >= hold && Double(begun - down) / 48_000 < hold + 0.0008)
        let closed = try #require(gains[down...].firstIndex { $0 <= -60 * share })
        #expect(abs(Double(closed + 1 - begun) / 48_000 / release - 1) < 0.01)
    }

    @Test("Silence gives zeros; a hum between the notes goes, and the notes stay")
    func notes() throws {
        #expect(try play([[Float](repeating: 0, count: 2_000)], through: Gate())[0].allSatisfy { $0 == 0 })
        #expect(try play([[Float](repeating: 0, count: 2_000)], through: Expander())[0].allSatisfy { $0 == 0 })
        let hum = sine(48_000, frequency: 50, level: 0.001)
        var sound = hum
        for (i, sample) in sine(12_000, frequency: 220, level: 0.5).enumerated() { sound[24_000 + i] += sample }
        let output = try play([sound], through: Gate(threshold: -40, lookAhead: 0.005))[0]
        #expect(output[..<24_000].allSatisfy { abs($0) < 2e-7 })
        #expect(largestDifference(Array(output[24_240 + 600..<36_240]), Array(sound[24_600..<36_000])) < 0.001)
        #expect(output[46_000...].allSatisfy { abs($0) < 2e-6 })
    }
}
