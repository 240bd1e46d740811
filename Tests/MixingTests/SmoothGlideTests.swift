import RenderStack
import TestSupport
import Testing

/// Pushes the value of a parameter.
private final class Value: Generator {
    let value: Parameter

    init(_ value: consuming Parameter) { self.value = value }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let glide = value.glide(context)
        var samples = context.pushMono()
        for i in samples.indices { samples[i] = glide[i] }
    }
}

@Suite("Smooth glides")
struct SmoothGlideTests {
    private func play(
        _ module: Value, _ values: [(frame: Int, value: Float)], frames: Int, cycle: Int = 100
    ) throws -> [Float] {
        let renderer = try Renderer(sampleRate: 1_000, channels: 1) { context in
            context.run(module)
            context.output()
        }
        for (frame, value) in values {
            try renderer.transaction(at: .sample(Int64(frame))) { module.value.value = value }
        }
        return render(renderer, frames: frames, cycles: [cycle])[0]
    }

    @Test("The way is the polynomial 10 u³ - 15 u⁴ + 6 u⁵, of the value or of its logarithm")
    func formula() throws {
        let straight = try play(
            Value(Parameter(1, in: 0...4, glide: .smooth(.milliseconds(200)))), [(100, 3)], frames: 400)
        let ratio = try play(
            Value(Parameter(1, in: 0.1...8, glide: .smoothExponential(.milliseconds(200)))), [(100, 8)], frames: 400)
        for frame in 0..<400 {
            let u = min(1, max(0, Double(frame - 100) / 200))
            let share: Double = u * u * u * (10 - 15 * u + 6 * u * u)
            #expect(abs(Double(straight[frame]) - (1 + 2 * share)) < 1e-6)
            #expect(abs(Double(ratio[frame]) - RenderMath.exp2(3 * share)) < 1e-5)
        }
    }

    @Test("New values on the way bend it: no step in value or slope, no value out of the range, the same in all cycles")
    func bends() throws {
        var values: [(frame: Int, value: Float)] = []
        for (number, value) in [Float(1), 0.2, 1, 0, 0, 1, 0.95, 1].enumerated() {
            values.append((50 + 37 * number, value))
        }
        func way(_ cycle: Int) throws -> [Float] {
            try play(
                Value(Parameter(0, in: 0...1, glide: .smooth(.milliseconds(200)))), values, frames: 700, cycle: cycle)
        }
        let sound = try way(100)
        #expect(try way(7) == sound && sound[699] == 1)
        for i in 2..<700 {
            #expect(sound[i] >= -1e-3 && sound[i] <= 1.001)
            let bend: Float = sound[i] - 2 * sound[i - 1] + sound[i - 2]
            #expect(abs(bend) < 0.001, "frame \(i)")
        }
    }
}
