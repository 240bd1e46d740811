import RenderStack
import TestSupport
import Testing

@Suite struct GainTests {
    private func renderer(_ gain: Gain, _ source: some Generator) throws -> Renderer {
        try Renderer { context in
            context.run(source)
            context.run(gain)
            context.output()
        }
    }

    @Test("A known answer, on every channel") func known() throws {
        let output = render(try renderer(Gain(0.25), Constant(2, channels: 2)), frames: 100)
        #expect(output == [[Float]](repeating: [Float](repeating: 0.5, count: 100), count: 2))
    }

    @Test("A change takes 10 ms in a straight line, and ends exactly", arguments: cycleLengths)
    func glide(cycles: [Int]) throws {
        let gain = Gain(0)
        let renderer = try renderer(gain, Constant(1))
        try renderer.transaction(at: .sample(100)) { gain.level.value = 1 }
        let samples = render(renderer, frames: 1000, cycles: cycles)[0]
        for i in 0...100 { #expect(samples[i] == 0) }
        for i in 100..<580 { #expect(abs(samples[i] - Float(i - 100) / 480) < 1e-6) }
        for i in 580..<1000 { #expect(samples[i] == 1) }
    }

    @Test("Silence stays silent, and the range is kept") func range() throws {
        let gain = Gain(1000)
        #expect(gain.level.value == 16)
        gain.level.value = -3
        #expect(gain.level.value == 0)
        gain.level.value = .nan
        #expect(gain.level.value == 0)
        #expect(gain.level.ignoredCount == 1)
        gain.level.value = 16
        let output = render(try renderer(gain, Constant(0)), frames: 600)
        #expect(output.allSatisfy { $0.allSatisfy { $0 == 0 } })
    }
}
