import Testing

@testable import RenderCore

/// Two channels at once, and a state together with the buffers on top.
@Suite struct TwoAtOnceTests {
    /// Left and right become mid and side.
    private final class MidSide: Effect {
        let channels: (Int, Int)
        init(_ first: Int, _ second: Int) { channels = (first, second) }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            var top = context.top
            top.withChannels(channels.0, channels.1) { left, right in
                for i in left.indices { (left[i], right[i]) = (left[i] + right[i], left[i] - right[i]) }
            }
        }
    }

    /// Turns the buffer below down while the top is loud.
    private final class Ducker: Module {
        var stackEffect: StackEffect { StackEffect(pops: 2, pushes: 1) }
        private let level = RenderState<Float>(0)
        private let count = RenderState(Counter())
        struct Counter: ~Copyable { var frames = 0 }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            count.withTop2(&context) { count, key, music in
                let key = key.samples(0)
                var samples = music[0]
                for i in samples.indices {
                    samples[i] *= 1 - key[i]
                    count.frames &+= 1
                }
            }
            context.pop()
            count.withTop(&context) { count, top in
                var samples = top[0]
                samples[0] += Float(count.frames)
            }
        }
    }

    private func stereo(_ module: some Module) throws -> Renderer {
        try Renderer { context in
            context.push(channels: 2)
            var top = context.top
            var left = top[0]
            for i in left.indices { left[i] = 3 }
            var right = top[1]
            for i in right.indices { right[i] = 1 }
            context.run(module)
            context.output()
        }
    }

    /// Each sample, with its frame and its channel.
    private final class Sums: Effect {
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            var top = context.top
            top.change { sample, frame, channel in sample + Float(frame) + 100 * Float(channel) }
        }
    }

    @Test("A closure gets each sample with its frame and channel, and gives the new one")
    func change() throws {
        let heard = try stereo(Sums()).renderOffline(frames: 40, cycle: 40)
        #expect(heard.array(0) == (0..<40).map { 3 + Float($0) })
        #expect(heard.array(1) == (0..<40).map { 101 + Float($0) })
    }

    @Test("Both channels are edited at once")
    func midSide() throws {
        let heard = try stereo(MidSide(0, 1)).renderOffline(frames: 100, cycle: 33)
        #expect(heard.array(0) == [Float](repeating: 4, count: 100))
        #expect(heard.array(1) == [Float](repeating: 2, count: 100))
    }

    @Test(
        "A channel that does not exist, or one twice, is a fault that silences the module",
        arguments: [(0, 0), (-1, 1), (0, 2)])
    func missing(_ channels: (Int, Int)) throws {
        let renderer = try stereo(MidSide(channels.0, channels.1))
        let heard = renderer.renderOffline(frames: 10)
        #expect(heard.array(0) == [Float](repeating: 0, count: 10))
        #expect(heard.array(1) == [Float](repeating: 0, count: 10))
        #expect(renderer.faultCount == 1)
    }

    @Test("A state with two buffers, then with one")
    func state() throws {
        let ducker = Ducker()
        let renderer = try Renderer(channels: 1) { context in
            var music = context.pushMono()
            for i in music.indices { music[i] = 2 }
            var key = context.pushMono()
            for i in key.indices { key[i] = 0.75 }
            context.run(ducker)
            context.output()
        }
        let heard = renderer.renderOffline(frames: 8, cycle: 4).array(0)
        #expect(heard == [4.5, 0.5, 0.5, 0.5, 8.5, 0.5, 0.5, 0.5])
        #expect(renderer.faultCount == 0)
    }
}
