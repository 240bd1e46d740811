import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite("TimePitch")
struct TimePitchTests {
    @Test("The rate changes the tempo alone, the pitch the frequencies alone")
    func eachByItself() throws {
        for (rate, cents) in [(1.25, 0.0), (0.8, 0), (1, 300), (1.5, -700)] {
            let machine = TimePitch(try monoRenderer(ClockSine(1_000)))
            machine.rate.value = Float(rate)
            machine.pitch.value = Float(cents)
            let inner = machine.renderer
            let outer = try monoRenderer(machine)
            let result = render(outer, frames: 60_000)[0]
            let fit = SineFit(result[30_000...], frequency: exp2(cents / 1_200) * 1_000 / 48_000, from: 30_000)
            #expect(fit.signalToNoise >= 90 && abs(fit.gain(over: 0.5)) < 0.01)
            #expect(abs(Double(inner.sampleTime) - 60_000 * Double(machine.rate.value)) < 6_000)
            #expect(outer.faultCount == 0)
        }
    }

    @Test("At rest it is as late as it says, and the sound itself")
    func latency() throws {
        let machine = TimePitch(try monoRenderer(ClockSine(1_000)))
        let outer = try monoRenderer(machine)
        let late = machine.latency(at: 48_000)
        let result = render(outer, frames: late + 9_000)[0]
        for n in 1..<9_000 {
            let expected = Float(0.5 * sin(2 * Double.pi * 1_000 / 48_000 * Double(n)))
            #expect(abs(result[late + n] - expected) < 5e-7)
        }
        #expect(result[..<late].allSatisfy { $0 == 0 })
    }

    @Test("Cycles of any length give the same bits, also while both glide", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        func run(_ lengths: [Int]) throws -> [Float] {
            let machine = TimePitch(try monoRenderer(ClockSine(1_234)))
            let outer = try monoRenderer(machine)
            try outer.transaction(at: .sample(100)) { machine.rate.value = 1.7 }
            try outer.transaction(at: .sample(1_000)) { machine.pitch.value = -500 }
            return render(outer, frames: 16_000, cycles: lengths)[0]
        }
        #expect(try run(lengths) == run([333]))
    }

    @Test("A change of rate or pitch makes no click")
    func sweeps() throws {
        let machine = TimePitch(try monoRenderer(ClockSine(500)))
        let outer = try monoRenderer(machine)
        var result = render(outer, frames: 16_000)[0]
        for value in [1.5, 0.6, 2, 1] as [Float] {
            machine.rate.value = value
            machine.pitch.value = 600 * (value - 1)
            result += render(outer, frames: 6_000)[0]
        }
        result += render(outer, frames: 16_000)[0]
        // At most 500 Hz · 2^(600 / 1200), and a level that rises by a third where blocks of two pitches meet.
        let limit = Float(pow(2 * Double.pi * 707 / 48_000, 2) * 0.5 * 4 / 3)
        for n in (machine.latency(at: 48_000) + 200)..<(result.count - 1) {
            #expect(abs(result[n - 1] - 2 * result[n] + result[n + 1]) < limit)
        }
    }

    @Test("Other values in every cycle, also extreme ones and no numbers, make no click and no fault")
    func everyCycle() throws {
        let machine = TimePitch(try monoRenderer(ClockSine(300)))
        let outer = try monoRenderer(machine)
        var random = SplitMix(state: 8)
        var result = render(outer, frames: 16_000)[0]
        for cycle in 0..<600 {
            // A walk of the hand, with leaps now and then.
            let isLeap = cycle % 50 == 0
            let pace = Double(machine.rate.value), cents = Double(machine.pitch.value)
            machine.rate.value = Float(
                isLeap ? .random(in: 0.5...2, using: &random) : pace * .random(in: 0.9...1.1, using: &random))
            machine.pitch.value = Float(isLeap ? 0 : cents + .random(in: -90...90, using: &random))
            result += render(outer, frames: 64)[0]
        }
        // A tone of 300 Hz, two octaves higher at most, and a level that rises by the half where blocks of two pitches meet.
        let limit = Float(pow(2 * Double.pi * 1_200 / 48_000, 2) * 0.5 * 1.5)
        for n in (machine.latency(at: 48_000) + 200)..<(result.count - 1) {
            #expect(abs(result[n - 1] - 2 * result[n] + result[n + 1]) < limit)
        }
        for value in [Float.nan, .infinity, -.infinity, 0, -1, 1e30, .leastNonzeroMagnitude, 4, 0.25] {
            machine.rate.value = value
            machine.pitch.value = value * 2_400
            #expect(render(outer, frames: 3_000)[0].allSatisfy { $0.isFinite && abs($0) < 2 })
        }
        #expect(outer.faultCount == 0)
    }

    @Test("It keeps the contract of modules")
    func contract() throws {
        let contract = ModuleContract(channels: 1) {
            let machine = TimePitch(try monoRenderer(Noise(.white, seed: 3)))
            machine.rate.value = 1.25
            return machine
        }
        .leavingOut(parameters: "keepsFormants", because: "it steps from block to block, which overlap")
        #expect(contract.violations() == [])
    }
}
