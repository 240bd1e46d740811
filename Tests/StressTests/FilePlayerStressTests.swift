import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct FilePlayerStressTests {
    @Test("Commands from four threads at once while it plays: nothing breaks, and the last word counts")
    func commandsFromEverywhere() async throws {
        let text = ProcessInfo.processInfo.environment["RENDERSTACK_STRESS_SECONDS"] ?? ""
        let seconds = Double(text) ?? 1
        let players = try (0..<3).map { index in
            try FilePlayer(
                memoryFile([ramp(index == 0 ? 7 : 20_000 * index)], rate: index == 1 ? 44_100 : 48_000), readAhead: 0.25
            )
        }
        let list = ModuleList(mixing: 1, players)
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(list)
            context.run(recorder)
            context.output()
        }
        let output = ClockOutput(renderer, period: 32, priority: 0)
        try output.start()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    let end = ContinuousClock.now + .seconds(seconds)
                    var random = SplitMix(state: UInt64(thread))
                    while ContinuousClock.now < end {
                        let player = players[Int(random.next() % 3)]
                        command(player, recorder, renderer, &random)
                        if random.next() % 16 == 0 { try? await Task.sleep(for: .milliseconds(1)) }
                    }
                }
            }
        }
        for player in players { player.stop() }
        #expect(await becomesTrue { players.allSatisfy { !$0.isPlaying } })
        for player in players {
            player.loops = .forever
            player.region = 0..<player.frameCount
            player.play()
        }
        #expect(await becomesTrue { players.allSatisfy { $0.isPlaying } })
        output.stop()
        try? await recorder.finish()
        #expect(renderer.faultCount == 0)
        #expect(await becomesTrue { players.allSatisfy { $0.streamCount < 300 } })
    }
}

private func command(
    _ player: FilePlayer, _ recorder: FileRecorder, _ renderer: Renderer, _ random: inout SplitMix
) {
    struct Thrown: Error {}
    let time = RenderTime.now + .milliseconds(Int(random.next() % 20) - 5)
    switch random.next() % 18 {
    case 0: player.play()
    case 1: player.play(at: time)
    case 2: player.stop(at: time)
    case 3: player.pause()
    case 4: player.resume()
    case 5: player.seek(to: Int64(random.next() % 20_000))
    case 6: player.loops = [.off, .times(3), .forever][Int(random.next() % 3)]
    case 7: player.region = 0..<Int64(random.next() % 20_000)
    case 8, 9: player.seek(to: player.region.upperBound - 1)
    case 10: _ = player.currentFrame
    case 11:
        renderer.transaction {
            player.play()
            player.loops = .times(2)
        }
    case 12: _ = try? renderer.transaction(at: time) { player.seek(to: 5) }
    case 13:
        try? renderer.transaction { () throws in
            player.play()
            player.pause()
            throw Thrown()
        }
    case 14: player.microfade.value = Float(random.next() % 300)
    case 15: if random.next() % 64 == 0 { recorder.begin(at: time) }
    case 16: if random.next() % 16 == 0 { recorder.stop() }
    default:
        if random.next() % 256 == 0 {
            renderer.configure(sampleRate: random.next() % 2 == 0 ? 48_000 : 44_100)
        }
    }
}
