import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct FilePlayerLifeTests {
    // MARK: A bad disk

    @Test("A disk that stops costs silence, counted and told; then the player is where it would have been")
    func underrun() async throws {
        let gate = Gate()
        let file = memoryFile([ramp(480_000)], MemorySource.Behaviour(gate: gate))
        let player = try FilePlayer(file, readAhead: 0.25)
        let events = player.events
        let renderer = try solo(player)
        player.play()
        gate.shut()
        var block = AudioBlock(channels: 1, frames: 480)
        var output: [Float] = []
        for cycle in 0..<60 {
            renderer.render(into: &block, hostTime: Int64(cycle) * 10_000_000)
            output += block.array(0)
        }
        #expect(player.underrunCount > 0)
        gate.open()
        while output.last == 0 {
            renderer.render(into: &block)
            output += block.array(0)
            usleep(1_000)
        }
        #expect(output.indices.allSatisfy { output[$0] == Float($0 + 1) || output[$0] == 0 })
        #expect(output.count { $0 == 0 } == player.underrunCount)
        for await event in events { if case .underrun(let frames) = event, frames > 0 { break } }
    }

    @Test("A file that cannot be read on is heard so far, and told with its path", arguments: [false, true])
    func failure(isCut: Bool) async throws {
        var behaviour = MemorySource.Behaviour()
        if isCut { behaviour.endsAt = 20_000 } else { behaviour.failsAt = 20_000 }
        let player = try FilePlayer(memoryFile([ramp(480_000)], behaviour))
        let events = player.events
        let renderer = try solo(player)
        player.play()
        let output = renderer.renderOffline(frames: 48_000).array(0)
        let last = output.lastIndex { $0 != 0 } ?? 0
        #expect(last > 10_000 && last < 20_000)
        #expect(Array(output[...last]) == ramp(last + 1))
        #expect(player.underrunCount == 0)
        for await event in events {
            if case .failed(let error) = event {
                #expect(error.path == "memory")
                break
            }
        }
        #expect(!player.isPlaying)
    }

    @Test("Samples of a file that are no numbers are silence, and the player goes on", arguments: [48_000.0, 44_100])
    func notFinite(rate: Double) throws {
        var samples = [Float](repeating: 0.5, count: 20_000)
        samples[5_000] = .nan
        samples[6_000] = .infinity
        let player = try FilePlayer(memoryFile([samples], rate: rate))
        let renderer = try solo(player)
        player.play()
        let output = renderer.renderOffline(frames: 19_000).array(0)
        #expect(output.allSatisfy { $0.isFinite })
        #expect(abs(output[18_000] - 0.5) < 1e-4)
        #expect(renderer.faultCount == 0)
    }

    // MARK: Life

    @Test("A player can be removed, replaced and released while it plays")
    func swapping() async throws {
        let list = ModuleList(mixing: 2)
        let renderer = try Renderer { context in
            context.run(list)
            context.output()
        }
        let output = ClockOutput(renderer, period: 64, priority: 0)
        try output.start()
        weak var last: FilePlayer?
        for turn in 0..<60 {
            let player = try FilePlayer(memoryFile([ramp(48_000), ramp(48_000)]))
            list.append(player)
            player.loops = .forever
            player.play()
            player.seek(to: Int64(turn * 100))
            if turn % 3 == 0 { try await Task.sleep(for: .milliseconds(2)) }
            list.removeAll()
            last = player
        }
        output.stop()
        #expect(await becomesTrue { last == nil })
        #expect(renderer.faultCount == 0)
    }

    @Test("Volume, pan and mute; and a list skips a player that does not play")
    func parameters() throws {
        let player = try FilePlayer(memoryFile([Array(repeating: 1, count: 48_000)]))
        let list = ModuleList(mixing: 2, [player])
        let renderer = try Renderer { context in
            context.run(list)
            context.output()
        }
        player.volume.value = 0.5
        player.pan.value = 1
        _ = renderer.renderOffline(frames: 480)
        player.play()
        #expect(renderer.renderOffline(frames: 100).array(0).allSatisfy { $0 == 0 })
        let right = renderer.renderOffline(frames: 2_000).array(1)
        #expect(right.last == 0.5)
        player.isMuted = true
        _ = renderer.renderOffline(frames: 960)
        #expect(player.isMuted)
        #expect(renderer.renderOffline(frames: 100).array(0).allSatisfy { $0 == 0 })
    }

    @Test("Commands with the engine stopped neither pile up nor get lost")
    func stopped() async throws {
        let player = try FilePlayer(memoryFile([ramp(1_000)]))
        let renderer = try solo(player)
        for turn in 0..<500 {
            player.play()
            player.seek(to: Int64(turn))
            player.stop()
        }
        player.play()
        player.seek(to: 10)
        #expect(await becomesTrue { player.streamCount < 8 })
        #expect(renderer.renderOffline(frames: 5).array(0) == [11, 12, 13, 14, 15])
    }

    @Test("The renderer's rate changes while it plays: it goes on from where it is")
    func rateChange() throws {
        let samples = (0..<48_000).map { Float($0) / 48_000 }
        let player = try FilePlayer(memoryFile([samples]))
        let renderer = try solo(player)
        player.play()
        _ = renderer.renderOffline(frames: 9_600)
        renderer.configure(sampleRate: 96_000)
        let output = renderer.renderOffline(frames: 9_600).array(0)
        // Behind the filter's edge the ramp goes on with half the slope.
        for frame in stride(from: 2_000, to: 9_000, by: 500) {
            #expect(abs(output[frame] - (0.2 + Float(frame) / 96_000)) < 1e-4)
        }
    }

    @Test("It allocates nothing and holds no lock: reset ends it, and it can begin again")
    func reset() throws {
        let player = try FilePlayer(memoryFile([ramp(1_000)]))
        let renderer = try solo(player)
        player.play()
        #expect(renderer.renderOffline(frames: 10).array(0) == ramp(10))
        try renderer.messages.send { context in context.reset(player) }
        #expect(renderer.renderOffline(frames: 10).array(0).allSatisfy { $0 == 0 })
        player.play()
        #expect(renderer.renderOffline(frames: 10).array(0) == ramp(10))
    }
}
