import RenderStack
import Testing

/// The same closure gives the same samples in cycles and slices of any length.
@Suite struct CycleInvarianceTests {
    /// The tolerance of promise 4 for arithmetic that is not exact.
    private static let tolerance: Float = 1e-6
    private static let frames = 12_000
    private static let cycles = [1, 7, 64, 100, 512, 4096, 10_000]

    /// White noise by a congruential generator: exact, and different in every frame.
    private final class Noise: Generator {
        private let seed = RenderState<UInt32>(1)

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            var seed = seed.read(context)
            context.push(channels: 1)
            var top = context.top
            var left = top[0]
            for i in left.indices {
                seed = seed &* 1_664_525 &+ 1_013_904_223
                left[i] = Float(seed >> 8) * 0x1p-24 - 0.5
            }
            self.seed.write(seed, context)
        }
    }

    /// A filter with a coefficient that glides.
    private final class Smoothing: Effect {
        let amount = Parameter(0.5, in: 0.01...1, glide: .exponential(.milliseconds(30)))
        private let memory = RenderState<Float>(0)

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let amount = amount.glide(context)
            var value = memory.read(context)
            var top = context.top
            var left = top[0]
            for i in left.indices {
                value += amount[i] * (left[i] - value)
                left[i] = value
            }
            memory.write(value, context)
        }
    }

    /// A gain in a straight line.
    private final class Level: Effect {
        let gain = Parameter(1, in: 0...2, glide: .linear(.milliseconds(20)))

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) { context.gain(gain.glide(context)) }
    }

    private func render(layout: StackLayout = StackLayout(), _ render: (Renderer) -> [Float]) throws -> [Float] {
        let (noise, smoothing, level) = (Noise(), Smoothing(), Level())
        let renderer = try Renderer(layout: layout) { context in
            context.run(noise)
            context.run(smoothing)
            context.run(level)
            context.output()
        }
        for (frame, gain, amount) in [
            (0, 0.5, 0.1), (1, 0.7, 0.2), (511, 2, 1), (512, 0, 0.3), (777, 1.5, 0.9), (2000, 0.3, 0.05),
            (2500, 1, 0.8), (4096, 0.1, 0.01), (9999, 2, 0.5), (10_000, 0, 1),
        ] as [(Int64, Float, Float)] {
            try renderer.transaction(at: .sample(frame)) {
                level.gain.value = gain
                smoothing.amount.value = amount
            }
        }
        let samples = render(renderer)
        #expect(renderer.faultCount == 0)
        return samples
    }

    private func reference() throws -> [Float] {
        try render { $0.next(Self.frames, cycle: 512)[0] }
    }

    @Test("Promise 4: cycles of one length", arguments: cycles)
    func cycle(length: Int) throws {
        let expected = try reference()
        #expect(expected.contains { abs($0) > 0.1 })
        #expect(try render { $0.next(Self.frames, cycle: length)[0] } == expected)
    }

    @Test("Promise 4: cycles of random lengths", arguments: 0..<4)
    func randomCycles(seed: UInt64) throws {
        let expected = try reference()
        let heard = try render { renderer in
            var random = SplitMix64(seed)
            var samples: [Float] = []
            while samples.count < Self.frames {
                let longest = Self.cycles[random.in(0...(Self.cycles.count - 1))]
                let count = min(random.in(1...longest), Self.frames - samples.count)
                samples += renderer.next(count, cycle: count)[0]
            }
            return samples
        }
        #expect(heard == expected, "seed \(seed)")
    }

    @Test("Promise 4: slices of any length", arguments: [1, 16, 37, 64, 4096, 65_536])
    func slices(length: Int) throws {
        let layout = StackLayout(slots: 4, channels: 2, frames: length)
        #expect(try render(layout: layout) { $0.next(Self.frames, cycle: 10_000)[0] } == reference())
    }

    @Test("Promise 4: the modules of RenderStack", arguments: [1, 7, 100, 512, 10_000])
    func realModules(length: Int) throws {
        func render(_ cycle: Int) throws -> [[Float]] {
            let (tone, gain) = (Oscillator(frequency: 440), Gain(0.5))
            let renderer = try Renderer { context in
                context.run(tone)
                context.run(gain)
                context.output()
            }
            for frame in stride(from: 100, to: Self.frames, by: 1_111) {
                try renderer.transaction(at: .sample(Int64(frame))) {
                    tone.frequency.value = Float(200 + frame % 1000)
                }
            }
            return renderer.next(Self.frames, cycle: cycle)
        }
        let (expected, heard) = (try render(64), try render(length))
        let error = zip(expected.joined(), heard.joined()).map { abs($0 - $1) }.max() ?? 1
        #expect(error <= Self.tolerance)
        #expect(expected[0].contains { abs($0) > 0.1 })
    }
}
