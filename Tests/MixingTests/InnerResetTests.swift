import RenderStack
import TestSupport
import Testing

/// Pushes the number of frames since it was reset.
private final class Age: Generator {
    private let frames = RenderState<Int>(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let start = frames.read(context)
        frames.write(start + context.frameCount, context)
        var samples = context.pushMono()
        for i in samples.indices { samples[i] = Float(start + i) }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { frames.write(0, context) }
}

@Suite("A reset of what runs a renderer inside of itself")
struct InnerResetTests {
    private func inner() throws -> Renderer {
        let age = Age()
        return try Renderer(channels: 1) { context in
            context.run(age)
            context.output()
        }
    }

    /// Returns 4,000 frames, with a reset before the 2,000th.
    private func play(_ module: some Module, cycle: Int, buffers: Int = 0, results: Int = 1) throws -> [Float] {
        let renderer = try Renderer(channels: 1) { context in
            if buffers > 0 { context.push(buffers, channels: 1) }
            if context.sampleTime == 2_000 { context.reset(module) }
            context.run(module)
            context.output(results)
        }
        let sound = render(renderer, frames: 4_000, cycles: [cycle])[0]
        #expect(renderer.faultCount == 0)
        return sound
    }

    private func expectNew(_ sound: [Float], times: Float = 1) {
        for i in 0..<2_000 {
            #expect(sound[i] == times * Float(i))
            #expect(sound[2_000 + i] == times * Float(i), "frame \(i) after the reset")
            if sound[2_000 + i] != times * Float(i) { return }
        }
    }

    @Test(
        "SubRenderer, Insert, Parallel and RateConverter reset the modules inside, on the frame", arguments: [50, 500])
    func exact(cycle: Int) throws {
        let sub = SubRenderer(try inner())
        expectNew(try play(sub, cycle: cycle))
        #expect(sub.renderer.sampleTime == 4_000)

        let (input, age) = (AudioInput(channels: 1, name: "input"), Age())
        let around = try Renderer(channels: 1) { context in
            context.run(input)
            context.run(age)
            context.mix(2)
            context.output()
        }
        expectNew(try play(Insert(around, input: input), cycle: cycle, buffers: 1))

        let branches = Parallel([try inner(), try inner()], workers: 1)
        expectNew(try play(branches, cycle: cycle, results: 2), times: 2)

        let same = RateConverter(Renderer(sampleRate: 48_000, channels: 1), sampleRate: 48_000)
        same.renderer = try inner()
        expectNew(try play(same, cycle: cycle))
    }

    @Test("At another rate or speed the modules inside begin anew too, and count from there")
    func resampled() throws {
        let converter = RateConverter(try inner(), sampleRate: 24_000)
        let half = try play(converter, cycle: 500)
        #expect(half[1_900] > 800 && half[3_900] > 800 && half[3_900] < 1_100)
        let speed = Varispeed(try inner())
        speed.speed.value = 2
        let fast = try play(speed, cycle: 500)
        #expect(fast[1_900] > 3_000 && fast[3_900] > 3_000 && fast[3_900] < 4_200)
    }
}
