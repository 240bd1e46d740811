import CAllocationCounter
import Foundation
import RenderStack
import TestSupport
import Testing

/// Samples that say where they are from: 0.001, 0.002 … above a level of their own, different in each channel.
private func sound(_ level: Float, _ frames: Int, channels: Int = 1, sampleRate: Double = 48_000) -> Sound {
    Sound(AudioBlock((0..<channels).map { values(level + Float($0) / 4, frames) }), sampleRate: sampleRate)
}

private func values(_ level: Float, _ frames: Int) -> [Float] { (0..<frames).map { level + Float($0 + 1) / 1024 } }

private func playing(_ player: BufferPlayer) throws -> Renderer {
    try Renderer(channels: player.channelCount) { context in
        context.run(player)
        context.output()
    }
}

/// Waits up to ten seconds for something that the control side does in its own time.
private func comesTrue(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<1000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

@Suite struct BufferPlayerTests {
    @Test("A siren: attack, a sustain that loops, a release at the end of the round", arguments: cycleLengths)
    func siren(cycles: [Int]) throws {
        let (attack, sustain, release) = (sound(1, 30), sound(2, 50), sound(3, 40))
        let siren = BufferPlayer(channels: 1)
        let renderer = try playing(siren)

        siren.schedule(attack)
        siren.schedule(sustain, .loops)
        siren.play()
        var heard = render(renderer, frames: 200, cycles: cycles)[0]
        siren.schedule(release, .interruptsAtLoop)
        heard += render(renderer, frames: 200, cycles: cycles)[0]

        // 30, then 50 four times up to frame 230, the round that the release was asked for in.
        let rounds = (0..<4).flatMap { _ in values(2, 50) }
        #expect(heard == values(1, 30) + rounds + values(3, 40) + silence(130))
        #expect(renderer.faultCount == 0)
    }

    @Test("A loop of any length, down to one frame, has no seam", arguments: cycleLengths)
    func shortLoops(cycles: [Int]) throws {
        for length in [1, 2, 3, 63, 700] {
            let player = BufferPlayer(channels: 1)
            let renderer = try playing(player)
            player.schedule(sound(1, length), .loops)
            player.play()
            let round = values(1, length)
            let expected = (0..<1500).map { round[$0 % length] }
            #expect(render(renderer, frames: 1500, cycles: cycles)[0] == expected, "a loop of \(length)")
        }
    }

    @Test("An interruption cuts on its frame, drops what waits, goes on with what is later", arguments: cycleLengths)
    func interrupts(cycles: [Int]) throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        player.schedule(sound(1, 500))
        player.schedule(sound(2, 500))
        player.schedule(sound(3, 100), .interrupts, at: .sample(333))
        player.schedule(sound(4, 50))
        player.play()
        let heard = render(renderer, frames: 1000, cycles: cycles)[0]
        #expect(heard == Array(values(1, 500)[..<333]) + values(3, 100) + values(4, 50) + silence(517))
        #expect(renderer.faultCount == 0)
    }

    @Test("A time, on either clock, is kept to the frame; one that has passed means at once", arguments: cycleLengths)
    func times(cycles: [Int]) throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        player.schedule(sound(1, 10), at: .sample(101))
        player.schedule(sound(2, 10), at: .sample(105))
        player.schedule(sound(3, 10), at: .sample(777))
        player.play(at: .sample(50))
        let heard = render(renderer, frames: 1000, cycles: cycles)[0]
        #expect(heard == silence(101) + values(1, 10) + values(2, 10) + silence(656) + values(3, 10) + silence(213))

        let other = BufferPlayer(channels: 1)
        let second = try playing(other)
        other.play()
        let start = HostClock.now
        var block = AudioBlock(channels: 1, frames: 480)
        second.render(into: &block, hostTime: start)
        other.schedule(sound(1, 10), at: .host(start + 13_000_000))
        second.render(into: &block, hostTime: start + 10_000_000)
        #expect(block.array(0) == silence(144) + values(1, 10) + silence(326))
    }

    @Test("Pause rests on its frame, stop drops what is scheduled", arguments: cycleLengths)
    func pauseAndStop(cycles: [Int]) throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        player.schedule(sound(1, 300))
        player.schedule(sound(2, 300))
        player.play(at: .sample(20))
        player.pause(at: .sample(70))
        player.play(at: .sample(95))
        player.stop(at: .sample(500))
        var heard = render(renderer, frames: 600, cycles: cycles)[0]
        let (first, second) = (values(1, 300), values(2, 300))
        let played = [first[..<50], silence(25)[...], first[50...], second[..<155]]
        #expect(heard == Array(([silence(20)[...]] + played + [silence(100)[...]]).joined()))
        player.schedule(sound(3, 10))
        heard = render(renderer, frames: 40, cycles: cycles)[0]
        #expect(heard == silence(40), "it was stopped")
        player.play()
        heard = render(renderer, frames: 40, cycles: cycles)[0]
        #expect(heard == values(3, 10) + silence(30), "the second sound was dropped")
    }

    @Test("A sound that is cut off fades out along a straight line while the next begins on its frame")
    func microfade() throws {
        let ones = Sound(AudioBlock([[Float](repeating: 1, count: 1000)]), sampleRate: 48_000)
        let twos = Sound(AudioBlock([[Float](repeating: 2, count: 300)]), sampleRate: 48_000)
        for cycles in cycleLengths {
            let player = BufferPlayer(channels: 1)
            player.microfade.value = 100
            let renderer = try playing(player)
            player.schedule(ones)
            player.schedule(twos, .interrupts, at: .sample(150))
            player.play()
            player.pause(at: .sample(400))
            player.play(at: .sample(600))
            let heard = render(renderer, frames: 1000, cycles: cycles)[0]
            for frame in 0..<1000 {
                let i = Float(frame)
                let expected: Float =
                    switch frame {
                    case ..<150: 1
                    case 150..<250: 2 + (100 - (i - 150)) / 100
                    case 250..<400: 2
                    case 400..<450: 2 * (100 - (i - 400)) / 100
                    case 600..<650: 2 * (i - 600) / 100
                    default: 0
                    }
                #expect(abs(heard[frame] - expected) < 1e-6, "frame \(frame) of \(cycles)")
            }
        }
    }

    @Test("A sound of another rate is converted; mono goes everywhere, many channels sum into mono")
    func formats() throws {
        let angle = { (n: Int, rate: Double) in 2 * Double.pi * 1000 * Double(n) / rate }
        let tone = AudioBlock([(0..<44_100).map { Float(0.5 * sin(angle($0, 44_100))) }])
        let player = BufferPlayer(channels: 2)
        let renderer = try playing(player)
        player.schedule(Sound(tone, sampleRate: 44_100))
        player.play()
        let heard = render(renderer, frames: 48_100)
        #expect(heard[0] == heard[1])
        // Away from the edges, where the sine begins and ends.
        for frame in stride(from: 1000, to: 47_000, by: 7) {
            #expect(abs(Double(heard[0][frame]) - 0.5 * sin(angle(frame, 48_000))) < 1e-5)
        }
        #expect(heard[0][48_000...].allSatisfy { $0 == 0 })

        let mono = BufferPlayer(channels: 1)
        let other = try playing(mono)
        mono.schedule(sound(1, 20, channels: 2))
        mono.play()
        #expect(render(other, frames: 20)[0] == zip(values(1, 20), values(1.25, 20)).map { $0 + $1 })
    }

    @Test("The player converts a sound that was scheduled before the rate was known")
    func lateRate() throws {
        let player = BufferPlayer(channels: 1)
        let ticket = player.schedule(sound(1, 441, sampleRate: 44_100))
        let renderer = try playing(player)
        player.play()
        let heard = render(renderer, frames: 600)[0]
        #expect(heard[..<480].allSatisfy { $0 > 0.5 } && heard[480...].allSatisfy { $0 == 0 })
        #expect(ticket.sound?.frameCount == 441)
    }

    @Test("A segment of a file, to the frame; a missing file is an error")
    func segments() throws {
        let path = NSTemporaryDirectory() + "buffer-player-\(ProcessInfo.processInfo.processIdentifier).wav"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1)
        try writer.write(AudioBlock([values(0, 900)]))
        try writer.finish()
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        try player.schedule(path: path, frames: 100..<150)
        try player.schedule(path: path, frames: 890..<2000)
        player.play()
        let all = values(0, 900)
        let expected: [Float] = all[100..<150] + all[890...] + silence(40)
        #expect(render(renderer, frames: 100)[0] == expected)
        #expect(throws: AudioFileError.self) { try player.schedule(path: "/no/such/file.wav") }
    }

    @Test("Players that are started in one transaction start on the same frame, with what was scheduled in it")
    func transaction() throws {
        let (a, b) = (BufferPlayer(channels: 1), BufferPlayer(channels: 1))
        let renderer = try Renderer(channels: 2) { context in
            context.run(a)
            context.output(channels: 0...0)
            context.pop()
            context.run(b)
            context.output(channels: 1...1)
        }
        b.schedule(sound(9, 30))
        _ = render(renderer, frames: 100)
        renderer.transaction {
            a.schedule(sound(1, 30))
            a.play()
            b.schedule(sound(2, 30), .interrupts)
            b.play()
        }
        let heard = render(renderer, frames: 60, cycles: [7])
        #expect(heard[0] == values(1, 30) + silence(30))
        #expect(heard[1] == values(2, 30) + silence(30))
    }

    @Test("A transaction that throws schedules nothing")
    func thrownTransaction() async throws {
        struct Refused: Error {}
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        player.play()
        var ticket: ScheduledSound?
        #expect(throws: Refused.self) {
            try renderer.transaction { () throws(Refused) in
                ticket = player.schedule(sound(1, 30))
                throw Refused()
            }
        }
        #expect(render(renderer, frames: 60)[0] == silence(60))
        #expect(await ticket?.wait() == .cut)
        player.schedule(sound(2, 30))
        #expect(render(renderer, frames: 60)[0] == values(2, 30) + silence(30))
    }

    @Test("Each sound tells how it has ended: consumed, rendered, played, or cut")
    func endings() async throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        let first = player.schedule(sound(1, 100))
        let second = player.schedule(sound(2, 100))
        let third = player.schedule(sound(3, 100), .loops)
        let fourth = player.schedule(sound(4, 100))
        player.play()
        _ = render(renderer, frames: 250)
        for stage in ScheduledSound.Stage.allCases {
            #expect(await first.wait(for: stage) == .finished)
            #expect(await second.wait(for: stage) == .finished)
        }
        player.stop()
        _ = render(renderer, frames: 10)
        #expect(await third.wait() == .cut)
        #expect(await fourth.wait(for: .consumed) == .cut)
        #expect(player.scheduledCount == 0)
        await withCheckedContinuation { done in
            first.when(.played) { ending in
                #expect(ending == .finished)
                done.resume()
            }
        }
    }

    @Test("Played means heard: its host time has passed, and the output's latency")
    func played() async throws {
        let player = BufferPlayer(channels: 1)
        player.outputLatency = 0.05
        let renderer = try playing(player)
        let ticket = player.schedule(sound(1, 4800))
        player.play()
        // A cycle that is to be heard in a fifth of a second.
        var block = AudioBlock(channels: 1, frames: 9600)
        let start = HostClock.now + 200_000_000
        renderer.render(into: &block, hostTime: start)
        #expect(await ticket.wait(for: .rendered) == .finished)
        #expect(await ticket.wait(for: .played) == .finished)
        #expect(HostClock.now >= start + 150_000_000)
    }

    @Test("A player that goes lets no thread wait")
    func gone() async throws {
        var player: BufferPlayer? = BufferPlayer()
        let ticket = player?.schedule(sound(1, 10))
        player = nil
        #expect(await ticket?.wait() == .cut)
    }

    @Test("The player releases a sound that has ended, also if no other follows")
    func memory() async throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        weak var weakSound: Sound?
        weak var weakTicket: ScheduledSound?
        do {
            let sound = sound(1, 10)
            (weakSound, weakTicket) = (sound, player.schedule(sound))
        }
        player.play()
        #expect(weakSound != nil)
        _ = render(renderer, frames: 5)
        try await Task.sleep(for: .milliseconds(50))
        #expect(weakSound != nil && weakTicket != nil)
        _ = render(renderer, frames: 10)
        #expect(await comesTrue { weakSound == nil && weakTicket == nil })
    }

    @Test("In a mixer, which passes over who is not active, it comes back with what is scheduled next")
    func activity() throws {
        let player = BufferPlayer(channels: 1)
        let mixer = Mixer(channels: 1, [MixerSource(player)])
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        func asked() -> Bool {
            let heard = render(renderer, frames: 10)[0]
            return heard.contains { $0 != 0 }
        }
        #expect(!asked())
        player.schedule(sound(1, 15))
        #expect(!asked())
        player.play()
        #expect(asked())
        #expect(asked())
        #expect(!asked())
        player.schedule(sound(1, 5))
        #expect(asked())
        #expect(!asked())
    }

    @Test("Reset is silence, and forgets what was scheduled")
    func reset() throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.output()
            if context.sampleTime == 100 { context.reset(player) }
        }
        player.schedule(sound(1, 1000), .loops)
        player.play()
        let heard = render(renderer, frames: 200, cycles: [100])[0]
        #expect(heard[..<100].allSatisfy { $0 != 0 })
        #expect(render(renderer, frames: 100)[0] == silence(100))
    }

    @Test("The render thread neither allocates nor frees", .notSanitized(allocation_counter_works() != 0))
    func allocations() throws {
        let player = BufferPlayer()
        player.microfade.value = 20
        let renderer = try playing(player)
        for _ in 0..<20 { player.schedule(sound(1, 100)) }
        player.schedule(sound(1, 3), .loops)
        player.schedule(sound(2, 100), .interrupts, at: .sample(9000))
        player.schedule(sound(2, 20), .loops)
        player.play()
        for n in 0..<20 {
            player.pause(at: .sample(Int64(5000 + 100 * n)))
            player.play(at: .sample(Int64(5050 + 100 * n)))
        }
        var block = AudioBlock(channels: 2, frames: 64)
        for _ in 0..<20 { renderer.render(into: &block, hostTime: 0) }
        allocation_counter_begin()
        for _ in 0..<300 { renderer.render(into: &block, hostTime: 0) }
        #expect(allocation_counter_end() == 0)
    }

    @Test(
        "Thousands of sounds follow one another, also those that are scheduled while others play", arguments: [1, 64])
    func thousands(each: Int) async throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try playing(player)
        let sounds = (1...10).map { sound(Float($0), 3) }
        var heard: [Float] = []
        player.play()
        for number in 0..<20_000 {
            player.schedule(sounds[number % 10])
            if number % each == each - 1 { heard += render(renderer, frames: 3 * each)[0] }
        }
        heard += render(renderer, frames: 60_000 - heard.count)[0]
        func played(_ count: Int) -> [Float] { (0..<count).flatMap { number in values(Float(number % 10 + 1), 3) } }
        #expect(heard == played(20_000))
        #expect(render(renderer, frames: 3)[0] == silence(3))
        #expect(await becomesTrue { player.scheduledCount == 0 })
        // With other settings all are made anew, and none is lost.
        for number in 0..<4_000 { player.schedule(sounds[number % 10]) }
        renderer.configure(sampleRate: 24_000)
        #expect(player.scheduledCount == 4_000)
        renderer.configure(sampleRate: 48_000)
        #expect(render(renderer, frames: 12_000)[0] == played(4_000))
        #expect(renderer.faultCount == 0)
    }
}
