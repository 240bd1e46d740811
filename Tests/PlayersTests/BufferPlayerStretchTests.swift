import RenderStack
import TestSupport
import Testing

@Suite struct BufferPlayerStretchTests {
    private func sine(_ frequency: Double, _ count: Int) -> [Float] {
        (0..<count).map { Float(0.5 * RenderMath.sin(2 * .pi * (frequency / 48_000 * Double($0)))) }
    }

    private func sound(_ channels: [Float]...) -> Sound { Sound(AudioBlock(channels), sampleRate: 48_000) }

    /// Returns samples as the engine by itself stretches them, silent behind the end.
    private func stretched(_ samples: [Float], rate: Double, cents: Double = 0, frames: Int) -> [Float] {
        var engine = TimeStretch(sampleRate: 48_000, channels: 1, block: TimeStretch.block(cents: cents))
        let settings = TimeStretch.Settings(rate: rate, cents: cents)
        return engine.stretched(AudioBlock([samples]), settings, frames: frames).array(0)
    }

    private func solo(_ player: BufferPlayer, rate: Double = 48_000) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: player.channelCount) { context in
            context.run(player)
            context.output()
        }
    }

    /// The most that sines of these pitches rise in a frame, and some more for the beating of two in a fade.
    private func steepest(_ frequency: Double, _ cents: Double...) -> Float {
        let highest = frequency * RenderMath.exp2((cents.max() ?? 0) / 1_200)
        return Float(1.15 * 0.5 * 2 * .pi * highest / 48_000)
    }

    private func largestStep(_ samples: ArraySlice<Float>) -> Float {
        zip(samples, samples.dropFirst()).map { abs($1 - $0) }.max() ?? 1
    }

    @Test(
        "Sounds one after the other are what the engine makes of each, on their frames, whatever the cycles",
        arguments: [(1.25, 0.0), (0.8, 300), (4, -2_400)], [[512], [3, 500, 1, 64, 2_000]])
    func sequence(change: (rate: Double, cents: Double), cycles: [Int]) throws {
        let (first, second) = (sine(440, 8_000), noise(6_001, seed: 2).map { $0 * 0.3 })
        let player = BufferPlayer(channels: 1)
        player.stretch(rate: change.rate, pitch: change.cents)
        let renderer = try solo(player)
        player.schedule(sound(first), at: .sample(1_000))
        player.schedule(sound(second))
        player.play()
        let lengths = [8_000, 6_001].map { Int((Double($0) / change.rate).rounded(.up)) }
        let heard = render(renderer, frames: 1_500 + lengths[0] + lengths[1], cycles: cycles)[0]
        let expected = zip([first, second], lengths).flatMap {
            stretched($0, rate: change.rate, cents: change.cents, frames: $1)
        }
        #expect(heard == silence(1_000) + expected + silence(500))
        #expect(player.underrunCount == 0 && renderer.faultCount == 0)
    }

    @Test("A loop is stretched as one piece, and an interruption at its end comes on the frame of a round")
    func loop() throws {
        let (round, release) = (noise(9_000, seed: 4).map { $0 * 0.3 }, sine(300, 5_000))
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        player.rate = 0.9
        player.schedule(sound(round), .loops)
        player.play()
        var heard = render(renderer, frames: 25_000)[0]
        // In the third round.
        player.schedule(sound(release), .interruptsAtLoop)
        heard += render(renderer, frames: 15_000)[0]
        let rounds = stretched((0..<5).flatMap { _ in round }, rate: 0.9, frames: 30_000)
        #expect(heard == rounds + stretched(release, rate: 0.9, frames: 5_556) + silence(4_444))
    }

    @Test(
        "A change while it plays makes no click, and goes on at the same place",
        arguments: [
            (1.0, 0.0, 1.25, 0.0), (1.25, 0, 1, 0), (1, 0, 1, 1_200), (0.5, -500, 2, 700), (4, 0, 0.25, 0),
            (0.5, 0, 8, 0),
        ],
        [true, false])
    func change(change: (Double, Double, Double, Double), loops: Bool) throws {
        let (rate, cents, newRate, newCents) = change
        // Whole periods, so that the loop of what is not stretched has no click either.
        let player = BufferPlayer(channels: 1)
        player.stretch(rate: rate, pitch: cents)
        let renderer = try solo(player)
        player.schedule(sound(sine(440, loops ? 12_000 : 240_000)), loops ? .loops : [])
        player.schedule(sound(sine(660, 24_000)))
        player.play()
        var heard = render(renderer, frames: 48_000)[0]
        player.stretch(rate: newRate, pitch: newCents)
        heard += render(renderer, frames: 24_000)[0]
        #expect(largestStep(heard[6_000...]) < steepest(440, cents, newCents))
        let fit = SineFit(heard[50_400..<54_000], frequency: 440 * RenderMath.exp2(newCents / 1_200) / 48_000, from: 0)
        #expect(abs(fit.amplitude - 0.5) < 0.03 && fit.rest < 0.03, "\(fit.amplitude), \(fit.rest)")
        if loops { return }
        // The rest of the sound, and then the next one, at its pitch.
        let left = Int((240_000 - 48_000 * rate - 24_000 * newRate) / newRate)
        _ = render(renderer, frames: left - 4)
        let next = render(renderer, frames: Int(24_000 / newRate))[0]
        let pitch = 660 * RenderMath.exp2(newCents / 1_200)
        #expect(level(Array(next[2_000..<min(5_000, next.count)]), frequency: pitch) > -20)
        #expect(player.scheduledCount <= 1)
    }

    @Test("Pauses, resumes, cuts and stops of stretched sounds make no click with a microfade")
    func commands() throws {
        let player = BufferPlayer(channels: 1)
        player.microfade.value = 800
        player.rate = 0.7
        let renderer = try solo(player)
        player.schedule(sound(sine(440, 96_000)))
        player.play()
        var heard = render(renderer, frames: 10_000)[0]
        player.pause()
        heard += render(renderer, frames: 500)[0]
        player.play()
        heard += render(renderer, frames: 5_000)[0]
        player.pause()
        heard += render(renderer, frames: 4_000)[0]
        #expect(heard.suffix(3_000).allSatisfy { $0 == 0 })
        // At rest, and back.
        player.rate = 1.5
        heard += render(renderer, frames: 1_000)[0]
        player.play()
        heard += render(renderer, frames: 8_000)[0]
        #expect(heard.suffix(4_000).contains { abs($0) > 0.4 })
        player.schedule(sound(silence(100) + sine(440, 20_000)), .interrupts)
        heard += render(renderer, frames: 6_000)[0]
        player.stop()
        heard += render(renderer, frames: 4_000)[0]
        #expect(largestStep(heard[1_000...]) < 2 * steepest(440, 0))
        #expect(heard.suffix(3_000).allSatisfy { $0 == 0 } && player.scheduledCount == 0)
    }

    @Test(
        "At rate 1 and pitch 0 the samples are the sound's, whatever was set before; a thrown transaction leaves them")
    func plain() throws {
        struct No: Error {}
        let samples = noise(20_000, seed: 3)
        let player = BufferPlayer(channels: 1)
        player.stretch(rate: 2, pitch: 1_200, keepsFormants: true)
        player.stretch(rate: 1, pitch: 0)
        let renderer = try solo(player)
        player.schedule(sound(samples))
        player.play()
        let before = render(renderer, frames: 5_000)[0]
        #expect(throws: No.self) {
            try renderer.transaction {
                player.rate = 2
                throw No()
            }
        }
        #expect(player.rate == 1)
        #expect(before + render(renderer, frames: 15_000)[0] == samples)
    }

    @Test("A tempo in a transaction counts from the slice of the transaction, with a sound that begins in it")
    func transaction() throws {
        let samples = sine(440, 48_000)
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        renderer.transaction {
            player.pitch = 700
            player.schedule(sound(samples))
            player.play()
        }
        let heard = render(renderer, frames: 20_000)[0]
        #expect(heard == stretched(samples, rate: 1, cents: 700, frames: 20_000))
    }

    @Test("Hundreds of sounds have few streams, and each is stretched when its turn comes")
    func many() throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        player.rate = 2
        let samples = sine(440, 2_000)
        for _ in 0..<100 { player.schedule(sound(samples)) }
        player.play()
        let expected = stretched(samples, rate: 2, frames: 1_000)
        for turn in 0..<50 {
            let heard = render(renderer, frames: 1_000)[0]
            #expect(heard == expected, "sound \(turn)")
        }
        #expect(player.streamCount <= 64)
    }

    @Test("Stereo in mono, mono in stereo, other rates; values that are out of range or no numbers")
    func hostile() throws {
        for rate in [1.0, 800, 1_000, 44_100, 768_000] {
            for channels in [1, 3] {
                let player = BufferPlayer(channels: channels)
                let renderer = try solo(player, rate: rate)
                player.rate = 1.7
                player.schedule(sound(sine(440, 3_000), sine(550, 3_000)))
                player.schedule(sound(sine(440, 3_000)), .loops)
                player.schedule(Sound(AudioBlock(channels: 1, frames: 0), sampleRate: 48_000), .interruptsAtLoop)
                player.play()
                let heard = render(renderer, frames: Int(min(rate, 9_000)))
                #expect(heard.allSatisfy { $0.allSatisfy { $0.isFinite && abs($0) < 3 } })
            }
        }
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        player.rate = 2
        player.schedule(sound([.nan, .infinity, -.infinity] + noise(9_000, seed: 1)), .loops)
        player.play()
        for value in [Double.nan, .infinity, -.infinity, -1, 0, 1e300, .leastNonzeroMagnitude, 4, 0.25, 1.0000000001] {
            player.rate = value
            player.pitch = value
            #expect(TimeStretch.rates.contains(player.rate) && abs(player.pitch) <= 2_400)
            _ = render(renderer, frames: 200)
        }
        player.rate = .nan
        #expect(player.rate == 1.0000000001)
    }

    @Test("Live, a knob that turns fast is followed, nothing is missing, and old streams are let go")
    func knob() async throws {
        let player = BufferPlayer(channels: 2)
        let renderer = try solo(player)
        var block = AudioBlock(channels: 2, frames: 480)
        player.schedule(sound(sine(440, 48_000)), .loops)
        player.play()
        var (steepest, last): (Float, Float) = (0, 0)
        for cycle in 0..<60 {
            // The test turns the clock: a cycle begins when its frames are there.
            #expect(await becomesTrue { player.framesAhead >= 960 })
            if cycle % 2 == 1 { player.rate = 1 + 0.01 * Double(cycle) }
            renderer.render(into: &block, from: 0, frames: 480, hostTime: HostClock.now, isOffline: false)
            for i in 0..<480 {
                if cycle > 2 { steepest = max(steepest, abs(block[0, i] - last)) }
                last = block[0, i]
                #expect(block[1, i] == last)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(player.underrunCount == 0 && steepest < 0.05, "\(player.underrunCount), \(steepest)")
        #expect(abs(player.rate - 1.59) < 1e-9)
        player.stop()
        renderer.render(into: &block, from: 0, frames: 480, hostTime: HostClock.now, isOffline: false)
        renderer.render(into: &block, from: 0, frames: 480, hostTime: HostClock.now, isOffline: false)
        #expect(await becomesTrue { player.streamCount == 0 })
    }

    @Test(
        "Threads that schedule, cut, stop and turn knobs at once, and a player that goes while it plays, break nothing")
    func threads() async throws {
        for round in 0..<2 {
            var player: BufferPlayer? = BufferPlayer(channels: 2)
            let held = try #require(player)
            held.microfade.value = round == 0 ? 0 : 100
            // A low rate, at which blocks are short: sanitizers are slow.
            let renderer = try solo(held, rate: 8_000)
            let sounds = (1...4).map { Sound(AudioBlock([sine(660 * Double($0), 200 * $0)]), sampleRate: 8_000) }
            held.play()
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<3 {
                    group.addTask { [player = held] in
                        var random = SplitMix(state: UInt64(thread + 10 * round))
                        for _ in 0..<30 {
                            switch Int.random(in: 0..<8, using: &random) {
                            case 0: player.rate = .random(in: 0.2...4.1, using: &random)
                            case 1: player.pitch = .random(in: -2_500...2_500, using: &random)
                            case 2: player.stretch(rate: 1, pitch: 0)
                            case 3: player.schedule(sounds[Int.random(in: 0..<4, using: &random)], .interrupts)
                            case 4: player.schedule(sounds[Int.random(in: 0..<4, using: &random)], .loops)
                            case 5: player.schedule(sounds[0], .interruptsAtLoop)
                            case 6: player.pause()
                            default: if Bool.random(using: &random) { player.stop() }
                            }
                            player.play()
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    var block = AudioBlock(channels: 2, frames: 256)
                    for _ in 0..<100 {
                        renderer.render(into: &block, from: 0, frames: 256, hostTime: HostClock.now, isOffline: false)
                        #expect(block.peak.isFinite && block.peak < 4)
                        try? await Task.sleep(for: .milliseconds(2))
                    }
                }
            }
            player = nil
        }
    }
}
