import Foundation
import Glibc
import RenderStack
import RenderStackTesting
import Synchronization
import TestSupport
import Testing

private func playing(_ player: StreamPlayer, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, channels: player.channelCount) { context in
        context.run(player)
        context.output()
    }
}

/// The bytes of a file with a ramp, which 16 bits have exactly.
private func ramp(
    _ frames: Int, channels: Int = 2, format: AudioFileFormat = .flac(.int16), sampleRate: Double = 48_000
) throws -> (bytes: [UInt8], samples: [[Float]]) {
    let samples = (0..<channels).map { channel in
        (0..<frames).map { frame -> Float in
            let step = (frame * 7 + channel * 1_001) & 0xFFFF
            return Float(step) / 32_768 - 1
        }
    }
    return (try bytes(AudioBlock(samples), format, sampleRate), samples)
}

/// Returns where the samples of a WAV file begin.
private func start(_ wav: [UInt8]) -> Int {
    (wav.indices.first { wav[$0...].starts(with: Array("data".utf8)) } ?? 0) + 8
}

private func bytes(_ block: borrowing AudioBlock, _ format: AudioFileFormat, _ sampleRate: Double = 48_000) throws
    -> [UInt8]
{
    let path = FileManager.default.temporaryDirectory.path + "/stream-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var writer = try AudioFileWriter(path: path, format: format, sampleRate: sampleRate, channels: block.channelCount)
    try writer.write(block)
    try writer.finish()
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
}

/// Listens to a player from the moment it is made.
private final class Ear: Sendable {
    private let heard = Mutex<[StreamPlayerEvent]>([])
    private let subscription = Mutex<Subscription?>(nil)
    var events: [StreamPlayerEvent] { heard.withLock { $0 } }

    init(_ player: StreamPlayer) {
        let made = player.by({ $0() }) { [self] event in heard.withLock { $0.append(event) } }
        subscription.withLock { $0 = made }
    }

    /// Waits for an event, while the renderer renders. Returns what it rendered.
    @discardableResult
    func wait(
        _ renderer: Renderer? = nil, isOffline: Bool = false, for isIt: (StreamPlayerEvent) -> Bool
    ) async -> [[Float]] {
        var all: [[Float]] = []
        _ = await becomesTrue {
            if let renderer {
                let more = isOffline ? render(renderer, frames: 480) : live(renderer, frames: 480)
                if all.isEmpty { all = more } else { for channel in all.indices { all[channel] += more[channel] } }
            }
            return events.contains(where: isIt)
        }
        return all
    }
}

/// Renders as an output would, which waits for nothing.
private func live(_ renderer: Renderer, frames: Int) -> [[Float]] {
    var block = AudioBlock(channels: renderer.channelCount, frames: frames)
    renderer.render(into: &block, from: 0, frames: frames, hostTime: HostClock.now, isOffline: false)
    return (0..<block.channelCount).map { block.array($0) }
}

@Suite struct StreamPlayerTests {
    @Test("a stream is heard bit for bit, from its first frame to its last", arguments: cycleLengths)
    func exact(cycles: [Int]) async throws {
        let (bytes, samples) = try ramp(20_000)
        let player = StreamPlayer(ahead: 0.1)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(AudioBytes(bytes, name: "ramp"))
        #expect(player.isStarted)
        let heard = render(renderer, frames: 24_000, cycles: cycles)
        for channel in 0..<2 {
            #expect(heard[channel] == samples[channel] + [Float](repeating: 0, count: 4_000))
        }
        await ear.wait { $0 == .ended }
        #expect(ear.events.count == 2 && ear.events.last == .ended)
        guard case .began(let info)? = ear.events.first else {
            Issue.record("it has not begun: \(ear.events)")
            return
        }
        #expect(info.sampleRate == 48_000 && info.name == "ramp" && player.info == info)
        #expect(!player.isStarted && !player.isPlaying && player.underrunCount == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("another rate and other channels meet the renderer's", arguments: [44_100.0, 8_000, 96_000])
    func converts(rate: Double) async throws {
        let tone = AudioBlock([
            (0..<Int(rate)).map { 0.5 * RenderMath.sin(2 * .pi * Float($0 % Int(rate / 100)) / Float(rate / 100)) }
        ])
        let player = StreamPlayer(ahead: 0.1)
        let renderer = try playing(player)
        player.play(AudioBytes(try bytes(tone, .wav(.float32), rate)))
        let heard = render(renderer, frames: 48_500)
        #expect(heard[0] == heard[1])
        #expect(abs(level(Array(heard[0][10_000..<10_000 + 24_000]), frequency: 100) + 6.02) < 0.1)
        #expect(heard[0][48_001...].allSatisfy { $0 == 0 })
    }

    @Test("a chain of two songs is heard without a gap, and both are announced when they are heard")
    func chain() async throws {
        let first = try ramp(24_000, channels: 2, format: .oggVorbis()).bytes
        let second = try ramp(24_000, channels: 1, format: .opus()).bytes
        let player = StreamPlayer(ahead: 0.05)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(AudioBytes(first + second))
        _ = render(renderer, frames: 23_000)
        await ear.wait { if case .began = $0 { true } else { false } }
        try await Task.sleep(for: .milliseconds(50))
        #expect(ear.events.count == 1)
        _ = render(renderer, frames: 26_000)
        await ear.wait { $0 == .ended }
        let formats = ear.events.compactMap { if case .began(let info) = $0 { info.format.encoding } else { nil } }
        #expect(formats == [.vorbis, .opus])
    }

    @Test("a stream that stops for a while is silent, says so, and goes on where it was")
    func dry() async throws {
        let (all, samples) = try ramp(48_000, format: .wav(.int16))
        let pipe = Pipe()
        let player = StreamPlayer(ahead: 0.1)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor))
        #expect(live(renderer, frames: 4_800)[0].allSatisfy { $0 == 0 })
        try pipe.fileHandleForWriting.write(contentsOf: all[..<(start(all) + 40_000)])
        #expect(await becomesTrue { player.waiting >= 0.1 })
        var heard = await ear.wait(renderer) { $0 == .ranDry }[0]
        #expect(player.underrunCount > 0 && !player.isPlaying && player.isStarted)
        // The player takes no more than it needs: who sends the rest has to wait.
        Thread.detachNewThread {
            try? pipe.fileHandleForWriting.write(contentsOf: all[(start(all) + 40_000)...])
            try? pipe.fileHandleForWriting.close()
        }
        // Offline the renderer waits for the rest, however busy the machine is.
        heard += await ear.wait(renderer, isOffline: true) { $0 == .ended }[0]
        #expect(
            ear.events.map(\.description).filter { !$0.contains("plays") }
                == [StreamPlayerEvent.ranDry, .wentOn, .ended].map(\.description))
        // Nothing is lost, and nothing else is changed but by the fades of 5 ms.
        let sound = heard.filter { $0 != 0 }
        let left = samples[0].filter { $0 != 0 }
        #expect(abs(sound.count - left.count) <= 2)
        #expect(
            sound.prefix(8_600).elementsEqual(left.prefix(8_600))
                && sound.suffix(30_000).elementsEqual(left.suffix(30_000)))
    }

    @Test("a pipe that nobody closes keeps neither the player nor a thread")
    func stopping() async throws {
        let pipe = Pipe()
        do {
            let player = StreamPlayer()
            let ear = Ear(player)
            let own = try playing(player)
            _ = live(own, frames: 64)
            let source = AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor)
            player.play(source)
            try await Task.sleep(for: .milliseconds(30))
            player.stop()
            await ear.wait(own) { $0 == .stopped }
            #expect(ear.events == [.stopped] && !player.isStarted && source.wasCancelled)
            player.stop()

            // Another one takes its place at once.
            player.play(AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor))
            player.play(AudioBytes(try ramp(1_000).bytes))
            await ear.wait(own) { $0 == .ended }
            #expect(ear.events.count { $0 == .stopped } == 2)

            player.play(AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor))
        }
        try pipe.fileHandleForWriting.close()
    }

    @Test("a stop is told though no renderer runs and the sender says nothing")
    func stopAtRest() async throws {
        let player = StreamPlayer()
        let ear = Ear(player)
        let isFree = DispatchSemaphore(value: 0)
        player.play(
            AudioBytes {
                isFree.wait()
                return []
            })
        player.stop()
        await ear.wait { $0 == .stopped }
        #expect(!player.isStarted && ear.events == [.stopped])
        isFree.signal()
        // The player can play on.
        player.play(AudioBytes(try ramp(10_000).bytes))
        #expect(render(try playing(player), frames: 4_800)[0].contains { $0 != 0 })
    }

    @Test("what waits when the renderer's rate changes is left out, and never heard at another pitch")
    func rateChange() async throws {
        let player = StreamPlayer(ahead: 10)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(AudioBytes(try ramp(96_000).bytes))
        #expect(render(renderer, frames: 4_800)[0].contains { $0 != 0 })
        renderer.configure(sampleRate: 44_100)
        let heard = await ear.wait(renderer) { $0 == .ended }
        #expect(heard[0].allSatisfy { $0 == 0 } && ear.events.contains(.ended))
    }

    @Test("a stream that takes the place of another lets that fade out")
    func placeTaken() async throws {
        let player = StreamPlayer(channels: 1, ahead: 0.1)
        let renderer = try playing(player)
        let constant = try bytes(AudioBlock([[Float](repeating: 0.5, count: 96_000)]), .wav(.float32))
        player.play(AudioBytes(constant))
        #expect(render(renderer, frames: 4_800)[0].allSatisfy { $0 == 0.5 })
        player.play(AudioBytes(constant))
        try await Task.sleep(for: .milliseconds(100))
        let heard = live(renderer, frames: 480)[0]
        #expect(heard[0] > 0.49 && heard[479] == 0 && zip(heard, heard.dropFirst()).allSatisfy { $0 - $1 < 0.01 })
    }

    @Test("stopping fades for 5 ms, and no frame comes after it")
    func stopFades() async throws {
        let player = StreamPlayer(channels: 1, ahead: 0.1)
        let renderer = try playing(player)
        player.play(AudioBytes(try bytes(AudioBlock([[Float](repeating: 0.5, count: 96_000)]), .wav(.float32))))
        #expect(render(renderer, frames: 4_800)[0].allSatisfy { $0 == 0.5 })
        player.stop()
        let end = live(renderer, frames: 4_800)[0]
        #expect(end[0] > 0.49 && end[239] == 0 && end[240...].allSatisfy { $0 == 0 })
        #expect(zip(end, end.dropFirst()).allSatisfy { $0 >= $1 })
    }

    @Test("bytes that are no sound give a sentence, and the player can play on")
    func failing() async throws {
        let player = StreamPlayer(ahead: 0.05)
        let ear = Ear(player)
        let renderer = try playing(player)
        _ = live(renderer, frames: 64)
        player.play(AudioBytes(Array("<html>404</html>".utf8), name: "radio"))
        await ear.wait(renderer) { if case .failed = $0 { true } else { false } }
        guard case .failed(let error)? = ear.events.last else { return }
        #expect(error.reason == .notAudio && error.path == "radio" && !player.isStarted)
        player.play(AudioBytes([]))
        await ear.wait(renderer) { if case .failed(let error) = $0 { error.reason == .empty } else { false } }
        player.play(AudioBytes(try ramp(1_000).bytes))
        await ear.wait(renderer) { $0 == .ended }
        #expect(ear.events.last == .ended)
    }

    @Test("an error in the middle is reported when what came before has been heard")
    func failingLater() async throws {
        struct Broken: Error {}
        let (all, samples) = try ramp(10_000, format: .wav(.int16))
        let parts = Mutex([Array(all[..<(start(all) + 20_000)])])
        let player = StreamPlayer(ahead: 0.05)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(
            AudioBytes(name: "cable") {
                guard let part = parts.withLock({ $0.popLast() }) else { throw Broken() }
                return part
            })
        let heard = render(renderer, frames: 6_000)[0]
        #expect(largestDifference(heard, samples[0].prefix(5_000) + [Float](repeating: 0, count: 1_000)) == 0)
        await ear.wait { if case .failed = $0 { true } else { false } }
        #expect(ear.events.count == 2)
    }

    @Test("a reset ends it")
    func reset() async throws {
        let tone = AudioBlock([[Float](repeating: 0.5, count: 480_000)])
        let player = StreamPlayer(channels: 1, ahead: 0.1)
        let ear = Ear(player)
        let renderer = try playing(player)
        player.play(AudioBytes(try bytes(tone, .wav(.float32))))
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0 == 0.5 })
        try renderer.messages.send { context in context.reset(player) }
        _ = live(renderer, frames: 480)
        await ear.wait(renderer) { $0 == .stopped }
        #expect(!player.isStarted)
    }

    @Test("a sound in memory is played by a file player, with seeks, and by a buffer player")
    func memory() async throws {
        let (bytes, samples) = try ramp(20_000, channels: 1)
        let player = try FilePlayer(bytes: bytes, name: "asset", readAhead: 0.25)
        #expect(player.path == "asset" && player.frameCount == 20_000)
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.output()
        }
        player.seek(to: 10_000)
        player.play()
        #expect(render(renderer, frames: 10_000)[0].elementsEqual(samples[0][10_000...]))
        let sound = try Sound(bytes: bytes)
        #expect(sound.frameCount == 20_000 && sound.sampleRate == 48_000)
        #expect(throws: AudioFileError.self) { try Sound(bytes: []) }
        #expect(throws: AudioFileError.self) { try FilePlayer(bytes: [1, 2, 3]) }
    }

    @Test("numbers that cannot be become the nearest ones")
    func numbers() {
        for (ahead, nearest) in [(-1.0, 0.01), (0, 0.01), (.infinity, 60), (1e9, 60), (.nan, 0.5), (3, 3)] {
            #expect(StreamPlayer(ahead: ahead).ahead == nearest)
        }
    }

    @Test("many streams at once are started, stopped and forgotten from several threads")
    func attack() async throws {
        let (all, _) = try ramp(5_000)
        let players = (0..<4).map { _ in StreamPlayer(ahead: 0.02) }
        let renderer = try Renderer { context in
            for player in players { context.run(player) }
            context.mix(4)
            context.output()
        }
        await withTaskGroup(of: Void.self) { group in
            for turn in 0..<4 {
                group.addTask {
                    for round in 0..<30 {
                        let player = players[(turn + round) % 4]
                        switch (turn * 7 + round) % 5 {
                        case 0: player.stop()
                        case 1: player.play(AudioBytes(Array(all[..<(all.count / 2)])))
                        case 2: player.play(AudioBytes(Array(all[40...])))
                        default: player.play(AudioBytes(all))
                        }
                        _ = (player.isStarted, player.info, player.waiting, player.isPlaying)
                        try? await Task.sleep(for: .microseconds(700))
                    }
                }
            }
            for _ in 0..<200 { #expect(live(renderer, frames: 256)[0].allSatisfy { $0.isFinite }) }
        }
        for player in players { player.stop() }
        #expect(
            await becomesTrue {
                _ = live(renderer, frames: 256)
                return players.allSatisfy { !$0.isStarted }
            })
    }
}
