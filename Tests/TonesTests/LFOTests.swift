import RenderStack
import TestSupport
import Testing

@Suite struct LFOTests {
    static let tolerance: Float = 1e-6

    private func renderer(_ lfo: LFO, rate: Double = 1000) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(lfo)
            context.output()
        }
    }

    @Test("The shapes are those of their formulas", arguments: [LFOCore.Shape.sine, .triangle, .saw, .square])
    func shapes(shape: LFOCore.Shape) throws {
        // 500 frames to the turn; a jump takes 2 of them.
        let samples = render(try renderer(LFO(shape, rate: 2, depth: 0.5)), frames: 1500)[0]
        let expected: [Float] = (0..<1500).map { frame in
            let x = Double(frame % 500) / 500
            let value: Double =
                switch shape {
                case .sine: RenderMath.sin(2 * .pi * x)
                case .triangle: x < 0.25 ? 4 * x : x < 0.75 ? 2 - 4 * x : 4 * x - 4
                case .saw: x <= 0.996 ? 2 * x / 0.996 - 1 : 1 - 2 * (x - 0.996) / 0.004
                case .square: (x < 0.5 ? 1 : -1) * (frame % 250 == 0 ? -1 : frame % 250 == 1 ? 0 : 1)
                default: 0
                }
            return Float(0.5 * value)
        }
        #expect(largestDifference(samples, expected) < 2e-5)
    }

    @Test("Random values: evenly distributed, one a turn, the same for the same seed, smooth where that was asked for")
    func random() throws {
        let steps = render(try renderer(LFO(.randomSteps, rate: 10, rounding: .zero, seed: 4)), frames: 100_000)[0]
        let values = stride(from: 50, to: 100_000, by: 100).map { steps[$0] }
        for (turn, value) in values.enumerated() {
            #expect(steps[(turn * 100 + 2)..<(turn * 100 + 98)].allSatisfy { $0 == value })
        }
        #expect(Set(values).count > 990)
        let sum: Float = values.reduce(0, +)
        #expect(abs(sum) < 50)
        let power: Float = values.reduce(0) { sum, value in sum + value * value } / 1000
        #expect(abs(power - 1 / 3) < 0.03)
        #expect(values.allSatisfy { abs($0) <= 1 })
        for seed in [4, 5] as [UInt64] {
            let again = LFO(.randomSteps, rate: 10, rounding: .zero, seed: seed)
            #expect(try (render(renderer(again), frames: 5000)[0] == Array(steps[..<5000])) == (seed == 4))
        }
        // The curve passes through the same values, and its slope is nowhere more than 1.5 times that of the chord.
        let curve = render(try renderer(LFO(.randomCurve, rate: 10, seed: 4)), frames: 5000)[0]
        for turn in 1..<49 {
            #expect(abs(curve[turn * 100] - values[turn]) < 1e-3)
            let chord = abs(values[turn + 1] - values[turn]) / 100
            for i in (turn * 100 + 1)..<(turn * 100 + 99) {
                #expect(abs(curve[i] - curve[i - 1]) <= 1.51 * chord + 1e-5)
            }
        }
    }

    @Test(
        "A random shape's phase is a way along its course, ahead and back",
        arguments: [-1, -0.75, -0.25, 0.25, 1] as [Float])
    func phase(_ turns: Float) throws {
        for shape in [LFOCore.Shape.randomSteps, .randomCurve] {
            let plain = render(try renderer(LFO(shape, rate: 10, seed: 4)), frames: 500)[0]
            let moved = render(try renderer(LFO(shape, rate: 10, phase: turns, seed: 4)), frames: 500)[0]
            let frames = Int(turns * 100)
            for i in 150..<350 where shape == .randomCurve || (i + frames) % 100 > 20 {
                #expect(abs(moved[i] - plain[i + frames]) < 1e-4, "\(shape), frame \(i)")
            }
        }
    }

    @Test("No zipper noise: a jump takes its 2 ms, also where the rate glides")
    func rounding() throws {
        for shape in [LFOCore.Shape.saw, .square, .randomSteps] {
            let lfo = LFO(shape, rate: 5)
            let renderer = try renderer(lfo, rate: 48_000)
            try renderer.transaction(at: .sample(10_000)) { lfo.rate.value = 7 }
            let samples = render(renderer, frames: 48_000)[0]
            let most: Float = 2 / 95
            for i in 1..<samples.count { #expect(abs(samples[i] - samples[i - 1]) < most) }
        }
    }

    @Test("A period is exact: after an hour it is at the frame where it should be")
    func period() throws {
        // Three seconds, a third of a hertz: not a number that a Float holds.
        var kernel = LFOCore()
        let step = LFOCore.step(frequency: 1.0 / 3, sampleRate: 48_000)
        kernel.phase = step &* (48_000 * 3600)
        let turns = Double(kernel.phase) * 0x1p-64
        #expect(min(turns, 1 - turns) < 1e-10)
        // And the module takes it, from the start or later; without one the rate counts.
        let lfo = LFO(.sine, rate: 100, period: .milliseconds(250))
        let renderer = try renderer(lfo)
        let first = render(renderer, frames: 500)[0]
        #expect(largestDifference(first, (0..<500).map { RenderMath.sin(turns: Float($0) / 250) }) < 1e-5)
        #expect(lfo.period == .milliseconds(250))
        lfo.period = nil
        let second = render(renderer, frames: 500)[0]
        #expect(largestDifference(second, (0..<500).map { RenderMath.sin(turns: Float($0) / 10) }) < 1e-4)
        #expect(lfo.period == nil)
    }

    @Test("The cycle length changes nothing, not even in a glide", arguments: cycleLengths, LFOCore.Shape.allCases)
    func cycles(lengths: [Int], shape: LFOCore.Shape) throws {
        func samples(_ cycles: [Int]) throws -> [Float] {
            let lfo = LFO(shape, rate: 7)
            let renderer = try renderer(lfo, rate: 8000)
            try renderer.transaction(at: .sample(501)) {
                lfo.rate.value = 30
                lfo.depth.value = 0.3
                lfo.phase.value = -0.3
            }
            return render(renderer, frames: 2000, cycles: cycles)[0]
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("A sweep moves a parameter of a module in the closure: in steps of the clock, however the cycles are cut")
    func sweep() throws {
        func samples(_ cycles: [Int], every frames: Int = 32) throws -> [Float] {
            let lfo = LFO(.sine, rate: 10)
            let gain = Gain(0)
            let ones = Constant(1)
            let renderer = try Renderer(sampleRate: 8000, channels: 1) { context in
                context.run(ones)
                lfo.sweep(&context, every: frames) { value, context in
                    gain.level.value = 1 + value
                    context.run(gain)
                }
                context.output()
            }
            let samples = render(renderer, frames: 4000, cycles: cycles)[0]
            #expect(renderer.faultCount == 0)
            return samples
        }
        let expected = try samples([512])
        for lengths in cycleLengths { #expect(try samples(lengths) == expected) }
        // The gain follows the sine, behind by its own glide of 10 ms and half a step: a delay of 5 to 15 ms.
        let sine = (0..<4000).map { 1 + RenderMath.sin(turns: Float($0) / 800) }
        let differences = (0...160).map { delay in
            largestDifference(Array(expected[1000...]), Array(sine[(1000 - delay)..<(4000 - delay)]))
        }
        let best = differences.indices.min { differences[$0] < differences[$1] }!
        #expect((40...120).contains(best))
        #expect(differences[best] < 0.25)
        #expect(try samples([100], every: 0).count == 4000)
    }

    @Test("A vibrato pushes the buffer that a ModulatedOscillator takes")
    func vibrato() throws {
        let lfo = LFO(.sine, rate: 50)
        let tone = ModulatedOscillator(.sine, frequency: 2000, deviation: 100)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(lfo)
            context.run(tone)
            context.output()
        }
        // An index of 2.
        let spectrum = ToneSpectrum(render(renderer, frames: 65_536)[0], sampleRate: 48_000)
        for (order, expected) in [0.22389, 0.57672, 0.35283].enumerated() {
            #expect(abs(spectrum.amplitude(at: 2000 + 50 * Double(order)) - expected) < 5e-4)
        }
    }

    @Test("Reset begins anew") func reset() throws {
        let lfo = LFO(.randomCurve, rate: 9, seed: 3)
        let renderer = try renderer(lfo)
        let first = render(renderer, frames: 1000)[0]
        try renderer.messages.send { context in context.reset(lfo) }
        #expect(render(renderer, frames: 1000)[0] == first)
    }
}
