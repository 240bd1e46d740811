import RenderStack
import TestSupport
import Testing

@Suite struct BufferTapTests {
    private func renderer(_ tap: BufferTap, channels: Int = 2) throws -> Renderer {
        let source = Chirp(channels: channels)
        return try Renderer(channels: channels) { context in
            context.run(source)
            context.run(tap)
            context.output()
        }
    }

    @Test(
        "Buffers of any size, whatever the cycles: the samples of the output, bit for bit, with their times",
        arguments: cycleLengths, [1000, 4096])
    func sizes(cycles: [Int], frames: Int) async throws {
        let tap = BufferTap(frames: frames, channels: 2)
        let renderer = try renderer(tap)
        let stream = tap.events
        let output = render(renderer, frames: 20_000, cycles: cycles)
        tap.deliver()
        var (left, right): ([Float], [Float]) = ([], [])
        for await buffer in stream {
            #expect(buffer.time.sampleTime == Int64(left.count) && buffer.missingFrames == 0)
            #expect(buffer.frameCount == min(frames, 20_000 - left.count) && buffer.sampleRate == 48_000)
            left += buffer.channels[0]
            right += buffer.channels[1]
            if left.count >= 20_000 { break }
        }
        #expect(left == output[0] && right == output[1])
        #expect(tap.lostFrameCount == 0 && renderer.faultCount == 0)
    }

    @Test("The tap leaves the sound as it is, bit for bit") func transparent() throws {
        let alone = try Renderer { [source = Chirp(channels: 2)] context in
            context.run(source)
            context.output()
        }
        #expect(render(try renderer(BufferTap(frames: 512)), frames: 3000) == render(alone, frames: 3000))
    }

    @Test("Any channel count: mono goes to every channel, others channel to channel", arguments: [1, 2, 5])
    func channels(count: Int) throws {
        let tap = BufferTap(frames: 100, channels: 3)
        let output = render(try renderer(tap, channels: count), frames: 100)
        var block = AudioBlock(channels: 3, frames: 100)
        #expect(tap.read(into: &block).frameCount == 100)
        for channel in 0..<3 {
            let expected =
                count == 1 ? output[0] : channel < count ? output[channel] : [Float](repeating: 0, count: 100)
            #expect(block.array(channel) == expected)
        }
    }

    @Test("A handler gets the buffers too, live, within moments") func handler() async throws {
        let tap = BufferTap(frames: 480, channels: 1)
        let renderer = try renderer(tap, channels: 1)
        let counts = Guarded<[Int]>([])
        let subscription = tap.by({ $0() }) { buffer in counts.withLock { $0.append(buffer.frameCount) } }
        for turn in 1...5 {
            _ = render(renderer, frames: 480)
            #expect(await becomesTrue { counts.withLock { $0.count } == turn })
        }
        #expect(counts.withLock { $0 } == [480, 480, 480, 480, 480])
        subscription.cancel()
    }

    @Test("Buffers are whole also when they are taken while others come in") func race() async throws {
        let tap = BufferTap(frames: 64, channels: 1)
        let renderer = try renderer(tap, channels: 1)
        let stream = tap.events
        let driver = Task.detached { _ = render(renderer, frames: 64 * 500, cycles: [1]) }
        // Besides the collector, so that hardly a moment is missed.
        let taker = Task.detached { while !Task.isCancelled { _ = tap.collect() } }
        for await buffer in stream {
            #expect(buffer.frameCount == 64 && buffer.missingFrames == 0)
            if buffer.frameCount != 64 { break }
            if let first = buffer.time.sampleTime, first >= 64 * 499 { break }
        }
        await driver.value
        taker.cancel()
        await taker.value
    }

    @Test("A full tap keeps the frames that it has, and counts those that do not fit") func overflow() throws {
        // 9600 frames fit. There is no listener to take any.
        let tap = BufferTap(frames: 1000, channels: 1, seconds: 0.1)
        let renderer = try renderer(tap, channels: 1)
        let output = render(renderer, frames: 20_000, cycles: [1000])
        #expect(tap.lostFrameCount == 20_000 - 9000 - 512)
        var block = AudioBlock(channels: 1, frames: 20_000)
        #expect(tap.read(into: &block).frameCount == 9512)
        #expect(block.array(0).prefix(9512) == output[0].prefix(9512))
        _ = render(renderer, frames: 1000)
        #expect(tap.read(into: &block).time.sampleTime == 20_000)
    }

    @Test("A buffer ends at a gap, and the next says how much is missing") func gap() async throws {
        let tap = BufferTap(frames: 400, channels: 1)
        let isOn = Parameter(1, in: 0...1, glide: .none)
        let source = Chirp(channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(source)
            if isOn.current(context) > 0 { context.run(tap) }
            context.output()
        }
        let stream = tap.events
        for value in [1, 0, 1] as [Float] {
            isOn.value = value
            _ = render(renderer, frames: value > 0 ? 1000 : 500)
        }
        tap.deliver()
        var found: [[Int64]] = []
        for await buffer in stream {
            found.append([buffer.time.sampleTime ?? -1, Int64(buffer.frameCount), buffer.missingFrames])
            if found.count == 6 { break }
        }
        #expect(
            found == [
                [0, 400, 0], [400, 400, 0], [800, 200, 0], [1500, 400, 500], [1900, 400, 0], [2300, 200, 0],
            ])
        #expect(tap.lostFrameCount == 0)
    }
}

/// Rising tones, another in each channel.
final class Chirp: Generator {
    private let position = RenderState<Int>(0)
    let channels: Int
    init(channels: Int) { self.channels = channels }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let start = position.read(context)
        context.pushUninitialized(channels: channels)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices {
                let t = Float(start &+ i) * 1e-3
                samples[i] = 0.5 * RenderMath.sin(t * t * Float(channel &+ 1))
            }
        }
        let count = context.frameCount
        position.write(start &+ count, context)
    }
}
