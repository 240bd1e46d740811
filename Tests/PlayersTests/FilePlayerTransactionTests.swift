import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

private struct Thrown: Error {}

/// Runs a closure in a transaction and throws out of it.
private func thrownOut(_ renderer: Renderer, _ body: () -> Void) {
    try? renderer.transaction { () throws in
        body()
        throw Thrown()
    }
}

@Suite struct FilePlayerTransactionTests {
    @Test("A start in a transaction that is thrown out of is not waited for", .timeLimit(.minutes(1)))
    func thrownStart() async throws {
        let player = try FilePlayer(memoryFile([ramp(5_000)]))
        let isActive = Flag()
        let renderer = try watched(player, isActive)
        player.seek(to: 1_000)
        thrownOut(renderer) { player.play() }
        await player.waitUntilStopped()
        _ = renderer.renderOffline(frames: 100)
        _ = renderer.renderOffline(frames: 100)
        #expect(!isActive.isSet)
        // The frame of the seek still counts.
        #expect(player.currentFrame == 1_000)
        player.play()
        #expect(renderer.renderOffline(frames: 10).array(0) == ramp(10, from: 1_001))
        thrownOut(renderer) { player.play() }
        #expect(renderer.renderOffline(frames: 10).array(0) == ramp(10, from: 1_011))
        player.stop()
        _ = renderer.renderOffline(frames: 10)
        await player.waitUntilStopped()
    }

    @Test("Regions, loops and seeks come back from a transaction that is thrown out of")
    func thrownSettings() throws {
        let player = try FilePlayer(memoryFile([ramp(1_000)]))
        let renderer = try solo(player)
        thrownOut(renderer) {
            player.region = 100..<200
            player.loops = .forever
            player.seek(to: 150)
            player.play()
        }
        #expect(player.region == 0..<1_000)
        #expect(player.loops == .off)
        #expect(player.currentFrame == 0)
        player.play()
        #expect(renderer.renderOffline(frames: 500).array(0) == ramp(500))
        thrownOut(renderer) {
            player.loops = .forever
            player.region = 0..<600
        }
        #expect(renderer.renderOffline(frames: 502).array(0) == ramp(500, from: 501) + [0, 0])
        // A command that was taken back can be given again.
        player.loops = .forever
        player.play()
        #expect(renderer.renderOffline(frames: 2_100).array(0) == ramp(1_000) + ramp(1_000) + ramp(100))
    }

    @Test("A transaction with a time is heard at its time, whatever other commands come in the meantime")
    func scheduledCommandBehindAnother() throws {
        let player = try FilePlayer(memoryFile([ramp(400_000)]))
        let isActive = Flag()
        let renderer = try watched(player, isActive)
        player.play()
        _ = renderer.renderOffline(frames: 64)
        try renderer.transaction(at: .sample(1_000)) { player.stop() }
        player.pause()
        player.resume()
        let output = (0..<30).flatMap { _ in renderer.renderOffline(frames: 64).array(0) }
        #expect(Array(output[..<936]) == ramp(936, from: 65))
        #expect(output[936...].allSatisfy { $0 == 0 })
        // Tests the same with a player that rests: the renderer may not pass it by.
        try renderer.transaction(at: .sample(4_000)) { player.play() }
        player.stop()
        var later: [Float] = []
        while later.count < 4_032 {
            later += renderer.renderOffline(frames: 64).array(0)
            #expect(later.count > 2_000 || isActive.isSet)
        }
        #expect(later.contains(1))
    }

    // MARK: The region while it plays

    @Test("A region that is set while it plays goes on with the next frame", arguments: [0, 96] as [Float])
    func regionGoesOn(fade: Float) throws {
        let player = try FilePlayer(memoryFile([ramp(300_000)]))
        player.microfade.value = fade
        let renderer = try solo(player)
        player.play()
        var block = AudioBlock(channels: 1, frames: 512)
        var (heard, time) = ([Float](), Int64(0))
        for cycle in 0..<60 {
            renderer.render(into: &block, hostTime: time)
            heard += block.array(0)
            time += 10_666_667
            usleep(1_000)
            if cycle == 20 { player.region = 1_000..<200_000 }
            if cycle == 30 { player.region = 0..<100_000 }
            if cycle == 40 { try renderer.transaction(at: .sample(48 * 512 + 100)) { player.region = 500..<150_000 } }
        }
        // A disk that is too slow costs silence; a frame too many or too few would stay.
        let isRight = heard.indices.dropFirst(100).allSatisfy {
            heard[$0] == 0 || abs(heard[$0] - Float($0 + 1)) < 0.01
        }
        // While two streams are faded, one that is too slow is a part of the sum.
        #expect(isRight || fade > 0 && player.underrunCount > 0)
        #expect(heard.suffix(100).elementsEqual(ramp(100, from: heard.count - 99)) || player.underrunCount > 0)
    }

    @Test(
        "A transaction with a time does the same offline, at another rate, and round the loop",
        arguments: [48_000.0, 44_100])
    func regionAtTime(rate: Double) throws {
        let samples = (0..<200_000).map { Float(RenderMath.sin(Double($0) * 0.02)) * 0.5 }
        func rendered(_ change: (FilePlayer, Renderer) throws -> Void) throws -> [Float] {
            let player = try FilePlayer(memoryFile([samples], rate: rate))
            let renderer = try solo(player)
            player.loops = .forever
            player.region = 0..<60_000
            player.play()
            _ = renderer.renderOffline(frames: 1_000)
            try change(player, renderer)
            return (0..<100).flatMap { _ in renderer.renderOffline(frames: 2_000).array(0) }
        }
        let plain = try rendered { _, _ in }
        // A region whose end is the same: nothing is to be heard of it, but where it begins anew.
        let changed = try rendered { player, renderer in
            try renderer.transaction(at: .sample(40_123)) { player.region = 20_000..<60_000 }
        }
        let end = Int(60_000 * 48_000 / rate) - 1_100
        #expect(largestDifference(Array(plain[..<end]), Array(changed[..<end])) < 2e-6)
        let moved = try rendered { player, renderer in
            try renderer.transaction(at: .sample(40_123)) { player.region = 0..<190_000 }
        }
        let all = try { () throws -> [Float] in
            let player = try FilePlayer(memoryFile([samples], rate: rate))
            let renderer = try solo(player)
            player.play()
            _ = renderer.renderOffline(frames: 1_000)
            return (0..<100).flatMap { _ in renderer.renderOffline(frames: 2_000).array(0) }
        }()
        let last = min(plain.count, Int(190_000 * 48_000 / rate) - 1_200)
        #expect(largestDifference(Array(moved[..<last]), Array(all[..<last])) < 2e-6)
    }

    @Test("A seek that has not been heard yet is not lost by a region")
    func regionAfterSeek() throws {
        let player = try FilePlayer(memoryFile([ramp(100_000)]))
        let renderer = try solo(player)
        player.play()
        _ = renderer.renderOffline(frames: 100)
        player.seek(to: 50_000)
        player.region = 10_000..<90_000
        #expect(renderer.renderOffline(frames: 100).array(0) == ramp(100, from: 50_001))
        // Outside of the region: the nearest frame inside.
        player.region = 70_000..<90_000
        #expect(renderer.renderOffline(frames: 100).array(0) == ramp(100, from: 70_001))
        player.region = 0..<60_000
        #expect(renderer.renderOffline(frames: 100).array(0).allSatisfy { $0 == 0 })
        #expect(!player.isPlaying)
    }

    @Test(
        "A start is not lost by a region that is set in the same cycle", arguments: [false, true], [false, true])
    func regionAfterStart(isStopped: Bool, isTogether: Bool) throws {
        let player = try FilePlayer(memoryFile([ramp(100_000)]), readAhead: 0.25)
        let renderer = try solo(player)
        func begin(in region: Range<Int64>) {
            func give() {
                if isStopped { player.stop() }
                player.play()
                player.region = region
            }
            if isTogether { renderer.transaction { give() } } else { give() }
        }
        player.region = 1_000..<90_000
        player.play()
        _ = renderer.renderOffline(frames: 30_000)
        // The start is made in the region of before, and its first frame lies in the new one.
        begin(in: 500..<80_000)
        #expect(renderer.renderOffline(frames: 100).array(0) == ramp(100, from: 1_001))
        // `#expect` would look at length for the differences of so many frames.
        let isRight = renderer.renderOffline(frames: 30_000).array(0) == ramp(30_000, from: 1_101)
        #expect(isRight)
        // It lies before the new one.
        begin(in: 2_000..<60_000)
        #expect(renderer.renderOffline(frames: 100).array(0) == ramp(100, from: 2_001))
        player.seek(to: 60_000)
        player.pause()
        _ = renderer.renderOffline(frames: 100)
        begin(in: 100..<50_000)
        #expect(renderer.renderOffline(frames: 100).array(0) == ramp(100, from: 2_001))
        #expect(player.underrunCount == 0)
    }

    @Test("A start that waits goes with a new region, from its own frame or that of a seek")
    func regionAfterWaitingStart() throws {
        let player = try FilePlayer(memoryFile([ramp(1_000)]))
        let renderer = try solo(player)
        player.seek(to: 500)
        player.play(at: .sample(100))
        player.region = 100..<900
        #expect(renderer.renderOffline(frames: 501).array(0) == silence(100) + ramp(400, from: 501) + silence(1))
        player.play(at: .sample(601))
        player.seek(to: 700)
        player.region = 200..<800
        #expect(renderer.renderOffline(frames: 200).array(0) == silence(100) + ramp(100, from: 701))
    }

    private final class Flag: Sendable {
        let value = Atomic<Bool>(true)
        var isSet: Bool { value.load(ordering: .relaxed) }
    }

    private func watched(_ player: FilePlayer, _ isActive: Flag) throws -> Renderer {
        try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(player)
            isActive.value.store(player.isActive(context), ordering: .relaxed)
            context.output()
        }
    }
}
