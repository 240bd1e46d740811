import Testing

@testable import RenderCore

/// Clocks that ended after 24 hours in TAAE2 go on forever here.
@Suite struct LateClockTests {
    /// Rounding of `from + step * frame`.
    let tolerance: Float = 1e-5

    @Test("A glide beyond 2^32 frames is as exact as any")
    func lateClock() throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let renderer = try probe.renderer()
        renderer.state.setSampleTime(1 << 32 - 3)
        _ = renderer.values(1)
        probe.parameter.value = 10
        for (value, expected) in zip(renderer.values(12, cycle: 3), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]) {
            #expect(abs(value - Float(expected)) <= tolerance)
        }
    }

    @Test("Times beyond 2^32 frames", arguments: [1, 64, 4096])
    func farAway(cycle: Int) throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer(sampleRate: 1000)
        let start = Int64(1) << 32 - 50
        renderer.state.setSampleTime(start)
        try renderer.transaction(at: .sample(start + 49)) { probe.parameter.value = 1 }
        try renderer.transaction(at: .sample(start + 50)) { probe.parameter.value = 2 }
        try renderer.transaction(at: .sample(start + 75)) { probe.parameter.value = 3 }
        var expected = [Float](repeating: 0, count: 49)
        expected += [1]
        expected += [Float](repeating: 2, count: 25)
        expected += [Float](repeating: 3, count: 25)
        #expect(renderer.values(100, cycle: cycle) == expected)
        #expect(renderer.sampleTime == start + 100)
    }

    @Test("A sample clock past 2^32 goes on like any other")
    func farAway() throws {
        let stamps = Record<Int64>()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            if !context.isDryRun { stamps.add(context.sampleTime) }
        }
        let start = Int64(1) << 32 - 100
        renderer.state.setSampleTime(start)
        _ = renderer.values(300, cycle: 50)
        #expect(stamps.all == (0..<6).map { start + $0 * 50 })
        #expect(renderer.sampleTime == start + 300)
    }
}
