import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

private func playing(_ player: SamplePlayer) throws -> Renderer {
    try Renderer(sampleRate: 48_000, channels: player.channelCount) { context in
        context.run(player)
        context.output()
    }
}

private final class Count: Sendable { let value = Atomic<Int>(0) }

private func ones(_ frames: Int) -> Sound { Sound(AudioBlock([1.of(frames)]), sampleRate: 48_000) }

extension Float {
    fileprivate func of(_ count: Int) -> [Float] { [Float](repeating: self, count: count) }
}

extension Int {
    fileprivate func of(_ count: Int) -> [Float] { Float(self).of(count) }
}

@Suite("Voices of a SamplePlayer that change while they play") struct SampleVoiceTests {
    @Test("Gain and pan glide for 10 ms, and other voices stay as they are", arguments: cycleLengths)
    func gains(cycles: [Int]) throws {
        let player = SamplePlayer()
        let renderer = try playing(player)
        let sample = player.load(ones(4_000))
        let voice = try #require(player.play(sample))
        player.play(sample, gain: 0.25)
        player.change(voice, gain: 0.5, at: .sample(1_000))
        player.change(voice, pan: 1, at: .sample(2_000))
        // In the middle of a glide: it goes on from where it is.
        player.change(voice, gain: 0, at: .sample(2_240))
        let heard = render(renderer, frames: 4_000, cycles: cycles)
        var worst: Float = 0
        for frame in 0..<4_000 {
            func way(_ begin: Int) -> Float { min(1, max(0, Float(frame - begin) / 480)) }
            let gain: Float = frame < 2_240 ? 1 - 0.5 * way(1_000) : 0.5 - 0.5 * way(2_240)
            let left: Float = frame < 2_240 ? gain * (1 - way(2_000)) : 0.25 * (1 - way(2_240))
            worst = max(worst, abs(heard[1][frame] - 0.25 - gain), abs(heard[0][frame] - 0.25 - left))
        }
        #expect(worst < 1e-6)
    }

    @Test("The pitch changes on its frame, without a step, and cycles make no difference", arguments: cycleLengths)
    func pitch(cycles: [Int]) throws {
        func heard(_ cycles: [Int], _ quality: SamplePlayer.Quality) throws -> [Float] {
            let player = SamplePlayer(channels: 1, quality: quality)
            let renderer = try playing(player)
            let tone: [Float] = (0..<48_000).map { 0.5 * RenderMath.sin(2 * .pi * 0.01 * Float($0)) }
            let voice = try #require(player.play(player.load(Sound(AudioBlock([tone]), sampleRate: 48_000))))
            player.change(voice, pitch: 1.5, at: .sample(5_000))
            player.change(voice, pitch: 1, at: .sample(10_001))
            return render(renderer, frames: 15_000, cycles: cycles)[0]
        }
        for quality in SamplePlayer.Quality.allCases {
            let sound = try heard(cycles, quality)
            #expect(sound == (try heard([256], quality)))
            var (phase, worst) = (0.0, 0.0)
            for frame in 0..<15_000 {
                let expected = 0.5 * RenderMath.sin(2 * .pi * 0.01 * phase)
                worst = max(worst, abs(Double(sound[frame]) - expected))
                phase += frame >= 5_000 && frame < 10_001 ? 1.5 : 1
            }
            #expect(worst < 2e-3, "\(quality)")
        }
    }

    @Test("A change reaches a voice that waits, and the repeats of one")
    func waiting() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let sample = player.load(ones(10))
        let later = try #require(player.play(sample, at: .sample(1_000)))
        let metronome = try #require(player.play(sample, at: .sample(100), every: 200 / 48_000))
        _ = render(renderer, frames: 50)
        player.change(later, gain: 3)
        player.change(metronome, gain: 2, at: .sample(250))
        player.stop(metronome, at: .sample(600))
        let heard = render(renderer, frames: 1_100)[0]
        let begins = (0..<1_100).filter { heard[$0] != 0 && ($0 == 0 || heard[$0 - 1] == 0) }
        #expect(begins == [50, 250, 450, 950])
        #expect(begins.map { heard[$0] } == [1, 2, 2, 3])
        #expect(heard[951] == 3)
    }

    @Test("A voice waits, sounds and is over: at its end, stopped, stolen, reset, unloaded or called off")
    func stages() throws {
        let player = SamplePlayer(voices: 2, channels: 1)
        let isReset = Switch(glide: .none)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            if isReset.isOn(context) { context.reset(player) }
            context.run(player)
            context.output()
        }
        let (short, long) = (player.load(ones(100)), player.load(ones(100_000)))
        let first = try #require(player.play(short))
        #expect(player.stage(of: first) == .waiting && player.soundingCount == 0)
        _ = render(renderer, frames: 64)
        #expect(player.stage(of: first) == .sounding && player.soundingCount == 1)
        _ = render(renderer, frames: 64)
        #expect(player.stage(of: first) == .over && player.soundingCount == 0)

        let stopped = try #require(player.play(long))
        _ = render(renderer, frames: 64)
        player.stop(stopped)
        _ = render(renderer, frames: 64)
        #expect(player.stage(of: stopped) == .sounding && player.soundingCount == 0, "it fades out")
        _ = render(renderer, frames: 240)
        #expect(player.stage(of: stopped) == .over)

        let voices = try (0..<3).map { _ in try #require(player.play(long)) }
        _ = render(renderer, frames: 512)
        #expect(voices.map(player.stage(of:)) == [.over, .sounding, .sounding])
        #expect(player.soundingCount == 2)

        let later = try #require(player.play(long, at: .sample(1_000_000)))
        isReset.isOn = true
        _ = render(renderer, frames: 64)
        isReset.isOn = false
        #expect(voices.map(player.stage(of:)) == [.over, .over, .over] && player.stage(of: later) == .waiting)
        player.stop(later)
        _ = render(renderer, frames: 64)
        #expect(player.stage(of: later) == .over)

        let gone = try #require(player.play(long, at: .sample(2_000)))
        player.unload(long)
        _ = render(renderer, frames: 3_000)
        #expect(player.stage(of: gone) == .over)
        #expect(throws: CancellationError.self) {
            try renderer.transaction {
                player.play(short)
                throw CancellationError()
            }
        }
        #expect(player.refusedCount == 0)
    }

    @Test("A voice that is stopped before its time does not begin, and is over when it is repeated no more")
    func calledOff() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let sample = player.load(ones(10))
        let voice = try #require(player.play(sample, at: .sample(500), every: 0.001))
        player.stop(voice, at: .sample(100))
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0 == 0 })
        let metronome = try #require(player.play(sample, every: 0.01))
        _ = render(renderer, frames: 100)
        #expect(player.stage(of: metronome) == .sounding, "it will be heard again")
        player.stop(metronome)
        _ = render(renderer, frames: 400)
        #expect(player.stage(of: metronome) == .over)
    }

    @Test("A change right behind the start is there from the first frame, and one of the pitch leaves a glide alone")
    func changesAtOnce() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let voice = try #require(player.play(player.load(ones(10_000))))
        player.change(voice, gain: 0.25)
        #expect(render(renderer, frames: 100)[0].allSatisfy { $0 == 0.25 })
        player.change(voice, gain: 1)
        for _ in 0..<5 {
            player.change(voice, pitch: 1)
            _ = render(renderer, frames: 100)
        }
        #expect(abs(render(renderer, frames: 1)[0][0] - 1) < 1e-5)
    }

    @Test("A repeat of a sound that is unloaded is over, and so is a voice whose renderer goes before its transaction")
    func gone() async throws {
        let player = SamplePlayer(channels: 1)
        let sample = player.load(ones(10))
        do {
            let renderer = try playing(player)
            let beat = try #require(player.play(sample, every: 0.001))
            _ = render(renderer, frames: 100)
            #expect(player.stage(of: beat) == .sounding)
            player.unload(sample)
            _ = render(renderer, frames: 100)
            #expect(player.stage(of: beat) == .over)
        }
        var voice: SamplePlayer.Voice?
        do {
            let renderer = try playing(player)
            renderer.transaction { voice = player.play(sample) }
        }
        await player.wait(for: try #require(voice))
    }

    @Test("256 starts begin in one cycle; one more is refused, and counted", arguments: [false, true])
    func many(inTransaction: Bool) throws {
        let player = SamplePlayer(voices: 300, channels: 1)
        let renderer = try playing(player)
        let sample = player.load(ones(100))
        func start(_ count: Int) -> Int { (0..<count).count { _ in player.play(sample, gain: 1 / 256) != nil } }
        if inTransaction {
            renderer.transaction { _ = start(257) }
        } else {
            #expect(start(257) == 256)
        }
        #expect(render(renderer, frames: 64)[0].allSatisfy { $0 == 1 })
        #expect(player.refusedCount == 1 && player.soundingCount == 256)
        _ = render(renderer, frames: 64)
        #expect(start(256) == 256, "the places are free again")
    }

    @Test("Who waits for a voice goes on when it is over, or when the task is cancelled")
    func wait() async throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let sample = player.load(ones(100))
        let (voice, other) = (try #require(player.play(sample)), try #require(player.play(sample, at: .sample(10_000))))
        let done = Count()
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    await player.wait(for: voice)
                    done.value.wrappingAdd(1, ordering: .relaxed)
                }
            }
            try? await Task.sleep(for: .milliseconds(30))
            #expect(done.value.load(ordering: .relaxed) == 0)
            _ = render(renderer, frames: 200)
            await group.waitForAll()
        }
        let task = Task { await player.wait(for: other) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        await task.value
        await player.wait(for: voice)
        #expect(player.stage(of: other) == .waiting)
    }

    @Test("Old voices are never taken for new ones, from several threads")
    func oldNumbers() async throws {
        let player = SamplePlayer(voices: 4, channels: 1)
        let renderer = try playing(player)
        let sample = player.load(ones(1))
        let old = try #require(player.play(sample))
        let ended = Count()
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<3_000 {
                        guard let voice = player.play(sample) else { continue }
                        player.change(voice, gain: 0.5)
                        player.stop(voice)
                    }
                    ended.value.wrappingAdd(1, ordering: .relaxed)
                }
            }
            while ended.value.load(ordering: .relaxed) < 3 { _ = render(renderer, frames: 64) }
        }
        _ = render(renderer, frames: 2_000)
        #expect(player.stage(of: old) == .over && player.soundingCount == 0)
        player.change(old, gain: 8)
        player.play(sample)
        #expect(render(renderer, frames: 1)[0] == [1])
    }

    @Test("Values that are no numbers change nothing, and others are held to their range")
    func nonsense() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let voice = try #require(player.play(player.load(ones(10_000)), gain: 0.5))
        player.change(voice, gain: .nan, pan: .infinity, pitch: .nan)
        player.change(voice)
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0 == 0.5 })
        player.change(voice, gain: 1e9, pitch: 1e-9)
        #expect(render(renderer, frames: 1_000)[0].last == 16)
        player.change(voice, gain: -1)
        #expect(render(renderer, frames: 1_000)[0].last == 0)
    }
}
