import RenderStack
import TestSupport
import Testing

/// Sources that a mixer removes when they have finished.
@Suite struct FinishedSourceTests {
    private func renderer(_ mixer: Mixer) throws -> Renderer {
        try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(mixer)
            context.output()
        }
    }

    private func sound(_ frames: Int) -> Sound {
        Sound(AudioBlock([[Float](repeating: 1, count: frames)]), sampleRate: 48_000)
    }

    @Test("A player that has ended goes, and every sample of it was heard", arguments: [1, 64, 4_096])
    func ends(cycle: Int) async throws {
        let mixer = Mixer(channels: 1)
        let (file, buffer, samples) = (
            try FilePlayer(memoryFile([ramp(900)])), BufferPlayer(channels: 1), SamplePlayer()
        )
        let stays = try FilePlayer(memoryFile([ramp(10)]))
        let renderer = try renderer(mixer)
        buffer.schedule(sound(1_200))
        let sample = samples.load(sound(300))
        for player in [file, buffer, samples] as [any Module] {
            mixer.append(player, fadesIn: false, removesWhenFinished: true)
        }
        mixer.append(stays)
        file.volume.value = 1
        _ = render(renderer, frames: 64, cycles: [cycle])
        // Nothing has begun, so that nothing has finished.
        try await Task.sleep(for: .milliseconds(100))
        #expect(mixer.sources.count == 4)
        file.play()
        buffer.play()
        stays.play()
        samples.play(sample)
        let heard = render(renderer, frames: 2_000, cycles: [cycle])[0]
        #expect(heard[1_100] == 1 && heard[1_199] == 1 && heard[1_200] == 0)
        #expect(await becomesTrue { mixer.sources.count == 1 })
        #expect(mixer.sources[0].generator === stays)
        _ = render(renderer, frames: 100, cycles: [cycle])
        #expect(await becomesTrue { mixer.members.count == 1 })
        #expect(renderer.faultCount == 0)
    }

    @Test("A player that rests, waits for its time, or is started again before the removal stays")
    func stays() async throws {
        let mixer = Mixer(channels: 1)
        let player = BufferPlayer(channels: 1), file = try FilePlayer(memoryFile([ramp(100)]))
        let renderer = try renderer(mixer)
        player.schedule(sound(1_000))
        let strip = mixer.append(player, removesWhenFinished: true)
        let other = mixer.append(file, removesWhenFinished: true)
        player.play()
        file.play(at: .sample(100_000))
        player.pause(at: .sample(500))
        _ = render(renderer, frames: 2_000)
        try await Task.sleep(for: .milliseconds(100))
        #expect(mixer.sources.count == 2)
        player.play()
        _ = render(renderer, frames: 1_000)
        #expect(await becomesTrue { mixer.sources.count == 1 })
        #expect(mixer.sources[0] === other && strip.removesWhenFinished)
        file.stop()
        _ = render(renderer, frames: 128, cycles: [64])
        // It was never heard, but it is over.
        #expect(await becomesTrue { mixer.sources.isEmpty })
    }

    @Test("A start just behind the end is heard: the player stays, or the start came behind the removal")
    func replay() async throws {
        for round in 0..<60 {
            let mixer = Mixer(channels: 1)
            let player = try FilePlayer(memoryFile([ramp(100)]))
            let renderer = try renderer(mixer)
            let strip = mixer.append(player, fadesIn: false, removesWhenFinished: true)
            player.play()
            _ = render(renderer, frames: 64)
            player.play()
            // From here on a start is under way, until it has been rendered.
            #expect(mixer.sources.count == 1)
            try await Task.sleep(for: .milliseconds(round % 3 * 6))
            #expect(mixer.sources.count == 1, "a start that is under way keeps it")
            #expect(render(renderer, frames: 100)[0] == ramp(100))
            _ = render(renderer, frames: 64)
            try await Task.sleep(for: .milliseconds(round % 4))
            // Now it races with the removal.
            let isHere = mixer.sources.count == 1
            player.play()
            if mixer.sources.count == 1 {
                #expect(isHere)
                #expect(render(renderer, frames: 100)[0] == ramp(100))
            }
            player.stop()
            _ = render(renderer, frames: 128, cycles: [64])
            #expect(await becomesTrue { mixer.sources.isEmpty })
            _ = render(renderer, frames: 64)
            #expect(await becomesTrue { strip.mixer == nil })
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("A removal shows nothing of a transaction that waits for its time, and comes behind it")
    func waiting() async throws {
        let mixer = Mixer(channels: 1)
        let player = BufferPlayer(channels: 1), late = BufferPlayer(channels: 1)
        let renderer = try renderer(mixer)
        player.schedule(sound(100))
        late.schedule(sound(10_000))
        late.play()
        mixer.append(player, fadesIn: false, removesWhenFinished: true)
        player.play()
        try renderer.transaction(at: .sample(2_000)) { mixer.append(late, fadesIn: false) }
        #expect(render(renderer, frames: 1_000)[0][100...].allSatisfy { $0 == 0 })
        _ = mixer.collect()
        #expect(mixer.sources.count == 2)
        #expect(render(renderer, frames: 2_000)[0] == silence(1_000) + [Float](repeating: 1, count: 1_000))
        #expect(await becomesTrue { mixer.sources.count == 1 })
        #expect(mixer.sources[0].generator === late)
    }

    @Test("One that is put back while it leaves stays, and one that was never started does not keep a thread awake")
    func returns() async throws {
        let mixer = Mixer(channels: 1)
        let player = BufferPlayer(channels: 1)
        let renderer = try renderer(mixer)
        player.schedule(sound(100))
        let strip = mixer.append(player, removesWhenFinished: true)
        #expect(!mixer.collect())
        player.play()
        _ = render(renderer, frames: 50)
        #expect(mixer.collect())
        _ = render(renderer, frames: 500, cycles: [64])
        #expect(await becomesTrue { mixer.sources.isEmpty })
        mixer.append(strip)
        #expect(!mixer.collect() && mixer.sources.count == 1)
        player.schedule(sound(100))
        player.play()
        _ = render(renderer, frames: 500, cycles: [64])
        #expect(await becomesTrue { mixer.sources.isEmpty })
    }

    @Test("Nothing is removed twice: threads remove by hand what the mixer removes too, and move it on")
    func threads() async throws {
        let mixer = Mixer(channels: 1), next = Mixer(channels: 1)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(mixer)
            context.output()
            context.pop()
            context.run(next)
            context.output()
        }
        let isOver = Guarded(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<150 {
                    let player = BufferPlayer(channels: 1)
                    player.schedule(Sound(AudioBlock([[Float](repeating: 1, count: 50)]), sampleRate: 48_000))
                    let strip = mixer.append(player, removesWhenFinished: true)
                    player.play()
                    try? await Task.sleep(for: .milliseconds(round % 7))
                    if round % 3 == 0 { mixer.remove(strip) }
                    if round % 5 == 0 { next.append(strip) }
                }
                isOver.withLock { $0 = true }
            }
            group.addTask {
                while !isOver.now {
                    _ = render(renderer, frames: 64)
                    await Task.yield()
                }
            }
        }
        // One that had finished before it was moved has not played since.
        next.removeAll()
        for _ in 0..<200 where !(mixer.sources.isEmpty && next.sources.isEmpty) {
            _ = render(renderer, frames: 64)
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(mixer.sources.isEmpty && next.sources.isEmpty)
        for _ in 0..<20 { _ = render(renderer, frames: 64) }
        #expect(await becomesTrue { mixer.members.isEmpty && next.members.isEmpty })
        #expect(renderer.faultCount == 0)
    }
}
