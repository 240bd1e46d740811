import Foundation
import RenderStack
import TestSupport
import Testing

@testable import Players

@Suite struct ExtremePlayerTests {
    private static let times: [RenderTime] = [
        .sample(.max), .sample(.min), .sample(.min + 1), .host(.max), .host(.min), .host(.min + 1), .host(1),
        .now + .seconds(Int64.max), .now - .seconds(Int64.max), .sample(0) + .seconds(1e20),
        .sample(7) - .seconds(1e20), RenderTime(sampleTime: .max, hostTime: .min + 1), .immediately,
    ]

    private static func sound(rate: Double = 48_000, frames: Int = 100, channels: Int = 1) -> Sound {
        let samples = [Float](repeating: 0.5, count: frames)
        return Sound(AudioBlock([[Float]](repeating: samples, count: channels)), sampleRate: rate)
    }

    @Test("A sample may be played in any frame and at any time", arguments: times)
    func samples(time: RenderTime) throws {
        let player = SamplePlayer(voices: 1, channels: 1)
        let sample = player.load(Self.sound())
        let renderer = try Renderer(channels: 1) { context in
            for frame in [Int.max, .min, -1, 0] { player.play(sample, inFrame: frame, context, gain: .nan) }
            context.run(player)
            context.output()
        }
        for number in [Double.nan, .infinity, -.infinity, 0, -1, 1e-300, 1e300] {
            player.play(sample, at: time, gain: Float(number), pan: Float(number), pitch: number, every: number)
            player.play(sample, at: time, semitones: number)
            player.stop(sample, at: time)
        }
        _ = render(renderer, frames: 4_800, cycles: [1, 64, 512])
        player.stopAll(at: time)
        _ = render(renderer, frames: 4_800, cycles: [4_096])
    }

    @Test("A start in the farthest frame does not begin, one in the past does")
    func farFrames() throws {
        for (frame, isHeard) in [(Int.max, false), (-5, true), (.min + 1, true)] {
            let player = SamplePlayer(voices: 1, channels: 1)
            let sample = player.load(Self.sound())
            let renderer = try Renderer(channels: 1) { context in
                if context.sampleTime == 512 { player.play(sample, inFrame: frame, context) }
                context.run(player)
                context.output()
            }
            #expect(render(renderer, frames: 2_048)[0].contains(0.5) == isHeard, "\(frame)")
        }
    }

    @Test("A buffer player takes any time, any latency and any sound", arguments: times)
    func buffers(time: RenderTime) async throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.output()
        }
        for latency in [Double.infinity, -.infinity, .nan, 1e300] {
            player.outputLatency = latency
            _ = player.collect()
        }
        for options in [[], .loops, .interrupts, .interruptsAtLoop] as [BufferPlayer.Options] {
            player.schedule(Self.sound(frames: 0), options, at: time)
            player.schedule(Self.sound(frames: 1), options, at: time)
            player.schedule(Self.sound(channels: 64), options, at: time)
        }
        player.play(at: time)
        _ = render(renderer, frames: 2_000, cycles: [1, 100])
        player.play()
        _ = render(renderer, frames: 2_000, cycles: [1, 100])
        player.pause(at: time)
        player.stop(at: time)
        _ = render(renderer, frames: 2_000)
        for latency in [Double.infinity, -.infinity, .nan] {
            player.outputLatency = latency
            _ = player.collect()
        }
    }

    @Test("A sound that says one frame a second does not fill the memory")
    func slowSound() throws {
        let player = SamplePlayer(voices: 1, channels: 1)
        let sample = player.load(Self.sound(rate: 1, frames: 1_000_000))
        let renderer = try Renderer(sampleRate: 1_000_000, channels: 1) { context in
            context.run(player)
            context.output()
        }
        player.play(sample)
        #expect(render(renderer, frames: 4_096)[0].allSatisfy { abs($0) < 2 })
    }

    @Test("A sound of any rate is converted to any other")
    func conversions() {
        for from in [1, 7, 999.999, 44_100, 999_983] {
            for to in [16, 11_025.5, 48_000, 192_000] as [Double] {
                let result = Self.sound(rate: from, frames: 50).at(to)
                #expect(result.frameCount == Int((50 * to / from).rounded(.up)), "\(from) to \(to)")
            }
        }
    }

    @Test("A file player takes any time, any place and any number of loops", arguments: times)
    func files(time: RenderTime) throws {
        for rate in [1, 48_000, 1_000_000] as [Double] {
            let path = NSTemporaryDirectory() + "extreme-\(UUID().uuidString).wav"
            defer { try? FileManager.default.removeItem(atPath: path) }
            var writer = try AudioFileWriter(path: path, sampleRate: rate, channels: 1)
            try writer.write(AudioBlock(channels: 1, frames: 500))
            try writer.finish()
            let player = try FilePlayer(path: path)
            let renderer = try Renderer(channels: 1) { context in
                context.run(player)
                context.output()
            }
            for loops in [FilePlayer.Loops.off, .forever, .times(.max), .times(.min), .times(1 << 40)] {
                player.loops = loops
                player.play(at: time)
                _ = render(renderer, frames: 1_000, cycles: [1, 512])
                for number in [Double.nan, .infinity, -.infinity, 1e300, -1, 0.001] {
                    player.currentTime = number
                    player.regionStart = number
                    player.regionDuration = number
                }
                for frame in [Int64.max, .min, 0, 499, 500] { player.seek(to: frame) }
                player.region = .min..<(.max)
                player.pause(at: time)
                player.resume(at: time)
                _ = render(renderer, frames: 1_000, cycles: [512])
                _ = (player.currentFrame, player.currentTime)
                for host in [Int64.min, .max, 0] { _ = player.playhead(at: host) }
                player.stop(at: time)
                player.stop()
                _ = render(renderer, frames: 1_000, cycles: [512])
            }
        }
    }

    /// Pushes a buffer that says a time of its own.
    private final class Stamped: Generator {
        let time: RenderTime
        init(_ time: RenderTime) { self.time = time }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            context.push(channels: 1)
            let top = context.top
            top.time = time
        }
    }

    @Test("A generator in a splitter may stamp any time", arguments: times)
    func stamps(time: RenderTime) throws {
        let splitter = try Splitter(Stamped(time))
        let tap = BufferTap(frames: 64, channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(splitter)
            if context.frameCount > 16 {
                context.subBlock(offset: 7, length: 9) { context in
                    context.run(splitter)
                    context.pop()
                }
            }
            if context.frameCount > 32 {
                context.subBlock(offset: 20, length: context.frameCount - 20) { context in
                    context.run(splitter)
                    context.run(tap)
                    context.pop()
                }
            }
            context.output()
        }
        _ = render(renderer, frames: 4_096, cycles: [64, 512])
    }
}
