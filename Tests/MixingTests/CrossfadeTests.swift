import RenderStack
import TestSupport
import Testing

@Suite struct CrossfadeTests {
    private func renderer(_ fade: Crossfade) throws -> Renderer {
        let (first, second) = (Oscillator(frequency: 440, level: 0.7), Constant(0.5, channels: 2))
        return try Renderer { context in
            context.run(first)
            context.run(second)
            context.run(fade)
            context.output()
        }
    }

    @Test("At both ends the one is heard as it is, bit for bit", arguments: [Crossfade.Curve.linear, .equalPower])
    func ends(curve: Crossfade.Curve) throws {
        let fade = Crossfade(curve)
        let renderer = try renderer(fade)
        let tone = try Renderer { [tone = Oscillator(frequency: 440, level: 0.7)] context in
            context.run(tone)
            context.output()
        }
        #expect(render(renderer, frames: 2000) == render(tone, frames: 2000))
        fade.position.value = 1
        #expect(render(renderer, frames: 2000)[0].dropFirst(960).allSatisfy { $0 == 0.5 })
    }

    @Test("In between by the formula", arguments: [0.1, 0.25, 0.5, 0.8])
    func between(position: Double) throws {
        for curve in [Crossfade.Curve.linear, .equalPower] {
            let fade = Crossfade(curve, position: Float(position))
            let output = render(try renderer(fade), frames: 2000)
            for i in stride(from: 0, to: 2000, by: 37) {
                let first = 0.7 * RenderMath.sin(2 * .pi * (440 * Double(i) / 48_000))
                let angle = position * .pi / 2
                let expected =
                    curve == .linear
                    ? first * (1 - position) + 0.5 * position
                    : first * RenderMath.cos(angle) + 0.5 * RenderMath.sin(angle)
                #expect(abs(Double(output[1][i]) - expected) < 1e-6)
            }
        }
    }

    @Test("The cycle length changes nothing, and a move is smooth", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        func samples(_ cycles: [Int]) throws -> [[Float]] {
            let fade = Crossfade()
            let renderer = try renderer(fade)
            try renderer.transaction(at: .sample(501)) { fade.position.value = 0.75 }
            return render(renderer, frames: 4000, cycles: cycles)
        }
        let output = try samples(lengths)
        #expect(try output == samples([512]))
        // The tone's own steepest slope, and that of a fade of 15 ms.
        let (tone, change): (Float, Float) = (0.7 * 2 * .pi * 440 / 48_000, 1.6 / 720)
        #expect(largestStep(output[0]) < tone + change)
    }

    @Test("Two buffers are needed: with one it is refused") func underflow() {
        let (source, fade) = (Constant(1), Crossfade())
        #expect(throws: RenderLoopError.self) {
            try Renderer { context in
                context.run(source)
                context.run(fade)
            }
        }
    }
}
