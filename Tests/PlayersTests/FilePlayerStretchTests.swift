import RenderStack
import TestSupport
import Testing

@Suite struct FilePlayerStretchTests {
    private func sine(_ frequency: Double, _ count: Int) -> [Float] {
        (0..<count).map { Float(0.5 * RenderMath.sin(2 * .pi * (frequency / 48_000 * Double($0)))) }
    }

    /// Returns samples as the engine by itself stretches them, silent behind the end.
    private func stretched(_ samples: [Float], rate: Double, cents: Double = 0, frames: Int) -> [Float] {
        var engine = TimeStretch(sampleRate: 48_000, channels: 1, block: TimeStretch.block(cents: cents))
        let settings = TimeStretch.Settings(rate: rate, cents: cents)
        return engine.stretched(AudioBlock([samples]), settings, frames: frames).array(0)
    }

    @Test("At rate 1 and pitch 0 the samples are the file's, whatever was set before") func plain() throws {
        let samples = noise(20_000, seed: 3)
        let player = try FilePlayer(memoryFile([samples]))
        player.rate = 1.5
        player.pitch = -300
        player.rate = 1
        player.pitch = 0
        let renderer = try solo(player)
        player.play()
        let output = render(renderer, frames: 21_000)[0]
        #expect(Array(output[..<20_000]) == samples && output[20_000...].allSatisfy { $0 == 0 })
    }

    @Test(
        "A stretched file is what the engine makes of it, for the length of the file, whatever the cycles",
        arguments: [(1.25, 0.0), (0.8, 0), (1, 300), (2, -700), (0.25, 0), (4, 0), (0.03125, 0), (32, 100)],
        [[512], [3, 500, 1, 64, 2_000]])
    func engine(change: (rate: Double, cents: Double), cycles: [Int]) throws {
        // A slow one is long enough.
        let count = change.rate < 0.25 ? 2_400 : 24_000
        let samples = sine(440, count)
        let player = try FilePlayer(memoryFile([samples]))
        player.rate = change.rate
        player.pitch = change.cents
        let length = Int((Double(count) / change.rate).rounded(.up))
        let renderer = try solo(player)
        player.play()
        let output = render(renderer, frames: length + 2_000, cycles: cycles)[0]
        let expected = stretched(samples, rate: change.rate, cents: change.cents, frames: length)
        #expect(Array(output[..<length]) == expected)
        #expect(output[length...].allSatisfy { $0 == 0 })
        #expect(!player.isPlaying)
    }

    @Test("A start is not lost by another tempo that is set in the same cycle") func startAndTempo() throws {
        let samples = sine(440, 96_000)
        let player = try FilePlayer(memoryFile([samples]))
        let renderer = try solo(player)
        player.play()
        _ = render(renderer, frames: 30_000)
        player.play()
        player.rate = 1.25
        let output = render(renderer, frames: 9_000)[0]
        #expect(largestDifference(output, stretched(samples, rate: 1.25, frames: 9_000)) == 0)
    }

    @Test("A file of another rate has its length and its pitch at 0.8") func otherRate() throws {
        let step = 2 * Double.pi * 441 / 44_100
        let samples = (0..<44_100).map { Float(0.5 * RenderMath.sin(step * Double($0))) }
        let player = try FilePlayer(memoryFile([samples], rate: 44_100))
        player.rate = 0.8
        let renderer = try solo(player)
        player.play()
        let output = render(renderer, frames: 61_000)[0]
        #expect(output[60_000...].allSatisfy { $0 == 0 })
        #expect(output[59_900..<60_000].contains { abs($0) > 0.01 })
        #expect(abs(level(Array(output[12_000..<48_000]), frequency: 441) - -6.02) < 0.1)
    }

    @Test("Loops: the region again and again, as the engine hears it in one piece") func loops() throws {
        let samples = noise(40_000, seed: 5).map { $0 * 0.3 }
        let player = try FilePlayer(memoryFile([samples]))
        player.region = 5_000..<17_000
        player.loops = .times(3)
        player.rate = 1.25
        let renderer = try solo(player)
        player.play()
        let output = render(renderer, frames: 30_000)[0]
        let heard = Array(samples[5_000..<17_000])
        #expect(Array(output[..<28_800]) == stretched(heard + heard + heard, rate: 1.25, frames: 28_800))
        #expect(output[28_800...].allSatisfy { $0 == 0 })
    }

    @Test("Positions are the file's, round the loop too, and a seek goes to a frame of the file") func positions()
        throws
    {
        let player = try FilePlayer(memoryFile([sine(300, 96_000)]))
        player.rate = 1.5
        let renderer = try solo(player)
        player.play()
        _ = render(renderer, frames: 12_000)
        #expect(player.currentFrame == 18_000)
        player.seek(to: 60_000)
        _ = render(renderer, frames: 6_000)
        #expect(player.currentFrame == 69_000)
        player.region = 48_000..<72_000
        player.loops = .forever
        _ = render(renderer, frames: 4_000)
        #expect(abs(player.currentFrame - (48_000 + 3_000)) <= 1)
        #expect(player.rate == 1.5)
    }

    @Test(
        "A change while it plays makes no click, is heard within 50 ms, and goes on at the same place",
        arguments: [
            (1.0, 0.0, 1.25, 0.0), (1.25, 0, 1, 0), (1, 0, 1, 1_200), (0.5, -500, 2, 700), (4, 0, 0.25, 0),
            (0.5, 0, 16, 0), (2, 0, 0.03125, 0),
        ])
    func change(rate: Double, cents: Double, newRate: Double, newCents: Double) throws {
        let player = try FilePlayer(memoryFile([sine(440, 480_000)]))
        player.rate = rate
        player.pitch = cents
        let renderer = try solo(player)
        player.play()
        var output = render(renderer, frames: 48_000)[0]
        let place = Double(player.currentFrame)
        renderer.transaction {
            player.rate = newRate
            player.pitch = newCents
        }
        output += render(renderer, frames: 24_000)[0]
        // The steepest that tones of this height and amplitude get, and some for the beating of two in the fade.
        let highest = 440 * RenderMath.exp2(max(cents, newCents) / 1200)
        let steepest = 0.5 * 2 * .pi * highest / 48_000
        let steps = zip(output[6_000...], output[6_001...]).map { Double(abs($1 - $0)) }
        #expect((steps.max() ?? 1) < 1.15 * steepest, "\(steps.max() ?? 1), \(steepest)")
        // Frequencies are those of the new pitch from 50 ms behind the change on.
        let frequency = 440 * RenderMath.exp2(newCents / 1200)
        let fit = SineFit(output[50_400..<54_000], frequency: frequency / 48_000, from: 0)
        #expect(abs(fit.amplitude - 0.5) < 0.03 && fit.rest < 0.03, "\(fit.amplitude), \(fit.rest)")
        let expected = place + 24_000 * newRate
        #expect(
            abs(Double(player.currentFrame) - expected) <= max(2, 2 * newRate), "\(player.currentFrame), \(expected)")
    }

    @Test("A change keeps the number of passes that are left") func passes() throws {
        let player = try FilePlayer(memoryFile([sine(440, 24_000)]))
        player.loops = .times(3)
        let renderer = try solo(player)
        player.play()
        // In the second pass.
        _ = render(renderer, frames: 36_000)
        player.rate = 2
        // 36,000 frames of the file are left.
        let rest = render(renderer, frames: 20_000)[0]
        let last = try #require(rest.lastIndex { $0 != 0 })
        #expect(abs(last - 18_000) < 10, "\(last)")
        #expect(!player.isPlaying)
    }

    @Test("Live, a knob that turns fast is followed, and nothing is missing") func knob() async throws {
        let player = try FilePlayer(memoryFile([sine(440, 960_000), sine(440, 960_000)]))
        let renderer = try solo(player, channels: 2)
        var block = AudioBlock(channels: 2, frames: 480)
        player.play()
        var steepest: Float = 0
        var last: Float = 0
        for cycle in 0..<60 {
            // The test turns the clock: a cycle begins when its frames are there. A change is handed over with 90 ms of sound,
            // and on a busy machine the threads that stretch may be later than that by the machine's own clock.
            if cycle > 0 { #expect(await becomesTrue { player.framesAhead >= 960 }) }
            if cycle % 2 == 1 { player.rate = 1 + 0.01 * Double(cycle) }
            renderer.render(into: &block, from: 0, frames: 480, hostTime: HostClock.now, isOffline: false)
            for i in 0..<480 {
                if cycle > 2 { steepest = max(steepest, abs(block[0, i] - last)) }
                last = block[0, i]
                #expect(block[1, i] == last)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(player.underrunCount == 0)
        #expect(steepest < 0.05, "\(steepest)")
        #expect(abs(player.rate - 1.59) < 1e-9)
    }

    @Test("A disk that hangs holds up no job of other modules; the event of missing frames says how many players fit")
    func slowDisk() async throws {
        let gate = Gate()
        let file = memoryFile([sine(440, 960_000)], MemorySource.Behaviour(gate: gate))
        let player = try FilePlayer(file, readAhead: 0.25)
        player.rate = 1.25
        let events = player.events
        let renderer = try solo(player)
        player.play()
        gate.shut()
        var block = AudioBlock(channels: 1, frames: 480)
        for cycle in 0..<100 {
            renderer.render(into: &block, hostTime: HostClock.now)
            if cycle % 10 == 9 { try await Task.sleep(for: .milliseconds(10)) }
        }
        #expect(player.underrunCount > 0)
        // All threads of `BackgroundWork` are free, though the player waits for its disk.
        let done = Lock(0)
        for _ in 0..<BackgroundJob.threadCount { BackgroundJob.run(due: HostClock.now) { done.withLock { $0 += 1 } } }
        #expect(await becomesTrue { done.withLock { $0 } == BackgroundJob.threadCount })
        gate.open()
        for await event in events {
            guard case .stretchedTooLate(let frames, _) = event else { continue }
            #expect(frames > 0 && event.description.contains("\(frames) frames were silent"))
            break
        }
        let told = FilePlayerEvent.stretchedTooLate(frames: 64, limit: 12).description
        #expect(told.contains("suffice for about 12 stretched players"))
    }

    @Test("A start waits on its frame with the new tempo; stop, pause and resume do what they do") func commands()
        throws
    {
        let samples = sine(440, 96_000)
        let player = try FilePlayer(memoryFile([samples]))
        let renderer = try solo(player)
        player.seek(to: 1_000)
        player.play(at: .sample(5_000))
        _ = render(renderer, frames: 1_000)
        player.rate = 1.25
        var output = render(renderer, frames: 9_000)[0]
        #expect(output[..<4_000].allSatisfy { $0 == 0 })
        #expect(Array(output[4_000...]) == stretched(Array(samples[1_000...]), rate: 1.25, frames: 5_000))
        #expect(player.currentFrame == 1_000 + 6_250)
        player.pause()
        _ = render(renderer, frames: 1_000)
        player.rate = 0.5
        _ = render(renderer, frames: 1_000)
        #expect(player.isPaused && abs(player.currentFrame - 7_250) <= 1)
        player.resume()
        output = render(renderer, frames: 10_000)[0]
        #expect(abs(player.currentFrame - 12_250) <= 1)
        player.stop()
        _ = render(renderer, frames: 1_000)
        #expect(!player.isPlaying && player.currentFrame == 0)
    }

    @Test("Hostile values are kept in range, and what is no number changes nothing") func hostile() throws {
        let player = try FilePlayer(memoryFile([sine(440, 24_000)]))
        let renderer = try solo(player)
        player.play()
        for value in [Double.nan, .infinity, -.infinity, -1, 0, 1e300, .leastNonzeroMagnitude, 4, 0.25, 1.0000000001] {
            player.rate = value
            player.pitch = value
            #expect(TimeStretch.rates.contains(player.rate) && abs(player.pitch) <= 2_400)
            _ = render(renderer, frames: 200)
        }
        player.rate = .nan
        #expect(player.rate == 1.0000000001)
        for rate in [1.0, 800, 1_000, 8_000, 768_000] {
            let slow = try FilePlayer(memoryFile([sine(440, 4_000)], rate: 8_000))
            slow.rate = 1.7
            slow.pitch = 500
            let renderer = try solo(slow, rate: rate)
            slow.play()
            let output = render(renderer, frames: Int(min(rate, 20_000)))[0]
            #expect(output.allSatisfy { $0.isFinite })
        }
    }

    @Test("Sound.stretched is what the engine makes of it, as long as it says") func sound() {
        let samples = sine(440, 10_001)
        let sound = Sound(AudioBlock([samples, samples]), sampleRate: 48_000)
        let longer = sound.stretched(rate: 0.8, pitch: 100)
        #expect(longer.frameCount == 12_502 && longer.channelCount == 2 && longer.sampleRate == 48_000)
        #expect(sound.stretched() === sound && sound.stretched(rate: .nan, pitch: .nan) === sound)
        #expect(sound.stretched(rate: 1e300).frameCount == 313)
        #expect(Sound(AudioBlock([samples]), sampleRate: 999).stretched(rate: 2).frameCount == 10_001)
        #expect(Sound(AudioBlock(channels: 1, frames: 0), sampleRate: 48_000).stretched(rate: 2).frameCount == 0)
    }

    @Test("A transaction that throws changes nothing") func takenBack() throws {
        struct No: Error {}
        let samples = noise(20_000, seed: 3)
        let player = try FilePlayer(memoryFile([samples]))
        let renderer = try solo(player)
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
}
