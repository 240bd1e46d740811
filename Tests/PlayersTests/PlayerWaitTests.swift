import RenderStack
import TestSupport
import Testing

/// Waits for a player that no renderer runs.
@Suite struct PlayerWaitTests {
    @Test(
        "A start that is called off before a renderer has the player is over, and is not heard later",
        .timeLimit(.minutes(1)))
    func calledOff() async throws {
        let player = try FilePlayer(memoryFile([ramp(10_000)]))
        var events = player.events.makeAsyncIterator()
        for time in [RenderTime.immediately, .sample(5_000)] {
            player.play(at: time)
            let wait = Task { await player.waitUntilStopped() }
            // It may begin to wait before the stop or behind it.
            player.stop()
            await player.waitUntilStopped()
            await wait.value
            #expect(await events.next() == .stopped)
        }
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(player)
            context.output()
        }
        #expect(renderer.renderOffline(frames: 10_000).array(0).allSatisfy { $0 == 0 })
        player.seek(to: 100)
        player.play()
        #expect(renderer.renderOffline(frames: 1_000).array(0) == ramp(1_000, from: 101))
        player.stop()
        _ = renderer.renderOffline(frames: 1_000)
        await player.waitUntilStopped()
        #expect(!player.isPlaying)
    }

    @Test("Who waits before a stop comes back with it", .timeLimit(.minutes(1)))
    func waitsBefore() async throws {
        let player = try FilePlayer(memoryFile([ramp(10_000)]))
        player.play()
        let isBack = Task { await player.waitUntilStopped() }
        try await Task.sleep(for: .milliseconds(50))
        player.stop()
        await isBack.value
    }

    @Test("Who waits for a player can be cancelled", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let player = try FilePlayer(memoryFile([ramp(10_000)]))
        player.play()
        let wait = Task { await player.waitUntilStopped() }
        wait.cancel()
        await wait.value
    }

    @Test(
        "Sounds that are called off before a renderer has the player are cut, and not heard later",
        .timeLimit(.minutes(1)))
    func sounds() async throws {
        let player = BufferPlayer(channels: 1)
        let sound = Sound(AudioBlock([ramp(100)]), sampleRate: 48_000)
        player.play()
        let first = player.schedule(sound, at: .sample(5_000))
        let wait = Task { await first.wait() }
        player.stop()
        #expect(await wait.value == .cut)
        #expect(await first.wait(for: .consumed) == .cut)
        #expect(player.scheduledCount == 0)
        let second = player.schedule(sound)
        player.play()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(player)
            context.output()
        }
        #expect(renderer.renderOffline(frames: 200).array(0) == ramp(100) + Array(repeating: 0, count: 100))
        #expect(await second.wait() == .finished)
    }
}
