import Testing

@testable import RenderCore

@Suite struct ParameterTests {
    @Test("A value outside of the range becomes the nearest one inside")
    func clamps() {
        let parameter = Parameter(0.5, in: -1...2)
        parameter.value = 3
        #expect(parameter.value == 2)
        parameter.value = -3
        #expect(parameter.value == -1)
        parameter.value = .infinity
        #expect(parameter.value == 2)
        parameter.value = -.infinity
        #expect(parameter.value == -1)
        parameter.value = 0.25
        #expect(parameter.value == 0.25)
        #expect(parameter.ignoredCount == 0)
        #expect(Parameter(9, in: 0...1).value == 1)
        #expect(Parameter(9, in: 0...1).initialValue == 1)
    }

    @Test("A parameter ignores and counts values that are not numbers")
    func ignoresNaN() throws {
        let probe = GlideProbe(5, glide: .none)
        let renderer = try probe.renderer()
        probe.parameter.value = .nan
        probe.parameter.value = .signalingNaN
        #expect(probe.parameter.value == 5)
        #expect(probe.parameter.ignoredCount == 2)
        renderer.transaction { probe.parameter.value = .nan }
        #expect(probe.parameter.ignoredCount == 3)
        #expect(renderer.values(2) == [5, 5])
    }

    @Test("A parameter keeps the unit, the range and the curve that it was made with")
    func keepsDescription() {
        let parameter = Parameter(
            100, in: 20...20_000, limit: .fractionOfRate(0.25), unit: .hertz, glide: .exponential(.milliseconds(20)))
        #expect(parameter.unit == .hertz)
        #expect(parameter.unit.rawValue == "Hz")
        #expect(parameter.range == 20...20_000)
        #expect(parameter.glide == .exponential(.milliseconds(20)))
        #expect(parameter.limit == .fractionOfRate(0.25))
        #expect(Parameter(0, in: 0...1).unit == .none)
        #expect(Parameter(0, in: 0...1).glide == .linear(.milliseconds(10)))
        #expect(Parameter.Curve.none.duration == .zero)
        #expect(Parameter.Curve.linear(.seconds(-1)).duration == .zero)
    }

    @Test("reset() goes back to the first value")
    func resets() {
        let parameter = Parameter(0.5, in: 0...1)
        parameter.value = 1
        parameter.reset()
        #expect(parameter.value == 0.5)
        #expect(parameter.initialValue == 0.5)
    }

    @Test("The limit holds at the sample rate of the renderer", arguments: [100.0, 1000, 50_000])
    func limits(rate: Double) throws {
        let limited = Parameter(10_000, in: 10...10_000, limit: .fractionOfRate(0.25), glide: .none)
        let expected = min(10_000, Float(rate) * 0.25)
        #expect(limited.range(atSampleRate: rate) == 10...expected)
        let probe = GlideProbe(limited)
        let renderer = try probe.renderer(sampleRate: rate)
        #expect(renderer.values(4) == Array(repeating: expected, count: 4))
        #expect(probe.parameter.value == 10_000)
        // Values within the range of the control side are heard, also below the parameter's own.
        renderer.configure(sampleRate: 20)
        #expect(probe.parameter.range(atSampleRate: 20).contains(renderer.values(1)[0]))
    }

    @Test("A value set by many threads at once is one of theirs, and seen")
    func manyThreads() async throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer()
        await withTaskGroup { group in
            for number in 1...4 {
                group.addTask { for step in 0..<2000 { probe.parameter.value = Float(number * 10_00 + step % 1000) } }
            }
        }
        #expect(renderer.values(1) == [probe.parameter.value])
    }

    @Test("A parameter that is freed with a transaction pending harms nothing")
    func freedWhilePending() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        do {
            let parameter = Parameter(0, in: 0...1)
            renderer.transaction { parameter.value = 1 }
            #expect(parameter.value == 1)
        }
        #expect(renderer.values(4) == [0, 0, 0, 0])
        collectNow(renderer)
    }
}
