import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct FilePlayerLoopTests {
    // MARK: Loops

    @Test(
        "Loops of any length down to one frame are seamless",
        arguments: [1, 2, 3, 63, 64, 65, 4_095, 70_000])
    func seams(length: Int) throws {
        let player = try FilePlayer(memoryFile([ramp(length)]))
        player.loops = .forever
        let renderer = try solo(player)
        player.play()
        let output = render(renderer, frames: 150_000, cycles: [512, 100])
        let expected: [Float] = (0..<150_000).map { (frame: Int) -> Float in Float(frame % length + 1) }
        #expect(output[0] == expected)
        player.loops = .off
        let rest = render(renderer, frames: 2 * length + 10)[0]
        let left = (length - 150_000 % length) % length
        #expect(rest[..<left].elementsEqual((0..<left).map { Float((150_000 + $0) % length + 1) }))
        #expect(rest[left...].allSatisfy { $0 == 0 })
    }

    @Test("A loop that is set before the start takes no second ring")
    func streams() throws {
        let player = try FilePlayer(memoryFile([ramp(10_000)]))
        player.loops = .forever
        #expect(player.streamCount == 1)
        let renderer = try solo(player)
        player.play()
        #expect(player.streamCount == 1)
        let output = renderer.renderOffline(frames: 25_000).array(0)
        #expect(output.indices.allSatisfy { output[$0] == Float($0 % 10_000 + 1) })
        #expect(player.streamCount == 1)
        player.loops = .off
        player.play()
        let once = renderer.renderOffline(frames: 25_000).array(0)
        #expect(once.indices.allSatisfy { once[$0] == ($0 < 10_000 ? Float($0 + 1) : 0) })
    }

    @Test("The player reports loops with their number, several in one event if they are shorter than a cycle")
    func loopCount() async throws {
        let player = try FilePlayer(memoryFile([ramp(10)]))
        let events = player.events
        player.loops = .times(1_000)
        let renderer = try solo(player)
        player.play()
        let output = renderer.renderOffline(frames: 12_000).array(0)
        let expected: [Float] = (0..<12_000).map { (frame: Int) -> Float in frame < 10_000 ? Float(frame % 10 + 1) : 0 }
        #expect(output == expected)
        var (loops, told) = (0, 0)
        for await event in events {
            if case .looped(let count) = event {
                loops += count
                told += 1
            }
            if event == .ended { break }
        }
        #expect(loops == 999)
        #expect(told < 100)
    }

    @Test("A region in seconds, as far as the file goes")
    func regionInSeconds() throws {
        let player = try FilePlayer(memoryFile([ramp(4_800)]))
        player.regionStart = 0.025
        player.regionDuration = 0.05
        #expect(player.region == 1_200..<3_600)
        let renderer = try solo(player)
        player.play()
        let output = renderer.renderOffline(frames: 2_500).array(0)
        #expect(Array(output[..<2_400]) == ramp(2_400, from: 1_201))
        #expect(output[2_400...].allSatisfy { $0 == 0 })
        player.regionStart = 0.09
        #expect(player.region == 4_320..<4_800)
        player.regionStart = -1
        player.regionDuration = 99
        #expect(player.region == 0..<4_800)
        player.regionDuration = .nan
        #expect(player.region.isEmpty)
        player.play()
        #expect(renderer.renderOffline(frames: 100).array(0).allSatisfy { $0 == 0 })
        #expect(!player.isPlaying)
    }

    // MARK: Fades

    @Test(
        "Microfades are straight lines at the start, a stop and the end, and inside of each other",
        arguments: cycleLengths)
    func microfades(cycles: [Int]) throws {
        let length = 300
        let file = memoryFile([Array(repeating: 1, count: length)])
        func line(_ frame: Int, of fade: Int) -> Float { frame < fade ? Float(frame) / Float(fade) : 1 }
        let player = try FilePlayer(file)
        player.microfade.value = 100
        let whole = try solo(player)
        player.play(at: .sample(10))
        let output = render(whole, frames: 400, cycles: cycles)[0]
        for frame in 0..<400 {
            let at = frame - 10
            let gain = at < 0 || at >= length ? 0 : line(at, of: 100) * line(length - at, of: 100)
            #expect(abs(output[frame] - gain) < 1e-6)
        }
        // A stop inside of the fade-in: both lines hold.
        let stopped = try FilePlayer(file)
        stopped.microfade.value = 100
        let renderer = try solo(stopped)
        stopped.play()
        stopped.stop(at: .sample(40))
        let cut = render(renderer, frames: 200, cycles: cycles)[0]
        for frame in 0..<200 {
            let out: Float = frame < 40 ? 1 : frame < 140 ? Float(140 - frame) / 100 : 0
            let gain = line(frame, of: 100) * out
            #expect(abs(cut[frame] - gain) < 1e-6)
        }
    }

    @Test("A microfade that is set while a file plays holds for its end, until it is set anew", arguments: cycleLengths)
    func lateMicrofade(cycles: [Int]) throws {
        let length = 80_000
        let player = try FilePlayer(memoryFile([Array(repeating: 1, count: length)]))
        let renderer = try solo(player)
        player.play()
        var output = render(renderer, frames: 40_000, cycles: cycles)[0]
        player.microfade.value = 30_000
        output += render(renderer, frames: 30_000, cycles: cycles)[0]
        player.microfade.value = 0
        output += render(renderer, frames: 5_000, cycles: cycles)[0]
        player.microfade.value = 1_000
        output += render(renderer, frames: 5_100, cycles: cycles)[0]
        let gains = (0..<length + 100).map { frame -> Float in
            let fade: Float = frame < 70_000 ? 30_000 : frame < 75_000 ? 0 : 1_000
            let left = Float(max(0, length - frame))
            return left < fade ? left / fade : min(1, left)
        }
        #expect(output == gains)
    }

    @Test("A seek while it plays fades from one place into the other")
    func seekFade() throws {
        let player = try FilePlayer(memoryFile([(0..<48_000).map { $0 < 24_000 ? 1 : 2 }]))
        let renderer = try solo(player)
        player.play()
        _ = renderer.renderOffline(frames: 480)
        player.microfade.value = 100
        player.seek(to: 30_000)
        let output = renderer.renderOffline(frames: 200).array(0)
        for frame in 0..<200 {
            let gain: Float = frame < 100 ? Float(100 - frame) / 100 + 2 * Float(frame) / 100 : 2
            #expect(abs(output[frame] - gain) < 1e-5)
        }
    }

    // MARK: Position

    @Test("The position goes on between cycles by the clock, and round the loop")
    func position() throws {
        let player = try FilePlayer(memoryFile([ramp(48_000)]))
        let renderer = try solo(player)
        player.play()
        var block = AudioBlock(channels: 1, frames: 480)
        // Renders like an output that has just rendered the frames that are due from now on.
        let now = HostClock.now
        renderer.render(into: &block, hostTime: now)
        let first = player.currentFrame
        usleep(3_000)
        let second = player.currentFrame
        // Up to what was rendered, however long this thread was kept waiting.
        #expect(first >= 0 && second >= min(480, first + 140) && second <= 480)
        #expect(player.playhead(at: now + 20_000_000) == 960)
        #expect(player.playhead(at: now + 5_000_000_000) == 48_000)
        player.loops = .forever
        player.play()
        renderer.render(into: &block, hostTime: now + 10_000_000)
        #expect(player.playhead(at: now + 1_020_000_000) == 480)
        player.pause()
        renderer.render(into: &block, hostTime: now + 20_000_000)
        #expect(player.isPaused)
        #expect(player.currentTime == 0.01)
    }

    // MARK: Events

    @Test("The player reports began, paused, resumed, stopped and ended in order")
    func events() async throws {
        let player = try FilePlayer(memoryFile([ramp(1_000)]))
        let stream = player.events
        let renderer = try solo(player)
        player.play(at: .sample(300))
        player.pause(at: .sample(400))
        player.resume(at: .sample(600))
        _ = renderer.renderOffline(frames: 2_000)
        player.play(at: .sample(3_000))
        _ = renderer.renderOffline(frames: 64)
        player.stop()
        _ = renderer.renderOffline(frames: 64)
        player.play()
        player.stop()
        _ = renderer.renderOffline(frames: 64)
        var told: [String] = []
        for await event in stream {
            if case .began(let time) = event { #expect(time.sampleTime == (told.isEmpty ? 300 : 2_128)) }
            told.append(String(event.description.prefix(16)))
            if told.count == 7 { break }
        }
        #expect(
            told == [
                "The player began", "The player pause", "The player resum", "The player has e", "The player stopp",
                "The player began", "The player stopp",
            ])
        await player.waitUntilStopped()
    }

    @Test("A task that waits for the end of a player resumes, live")
    func waiting() async throws {
        let player = try FilePlayer(memoryFile([ramp(4_800)]))
        let renderer = try solo(player)
        let output = ClockOutput(renderer, priority: 0)
        try output.start()
        player.play()
        await player.waitUntilStopped()
        output.stop()
        #expect(!player.isPlaying)
        #expect(player.currentFrame == 0)
    }
}
