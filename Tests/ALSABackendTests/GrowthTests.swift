import Glibc
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct GrowthTests {
        private func notices(_ events: Events, _ part: String) -> [String] {
            events.all.compactMap {
                if case .notice(let sentence) = $0, sentence.contains(part) { sentence } else { nil }
            }
        }

        /// Moves so many frames at once as soon as the buffer is full. Returns whether they were there.
        private func step(_ player: Player, _ frames: Int) -> Bool {
            guard player.card.wait(player.output.configuration?.bufferSize ?? .max) else { return false }
            return player.card.move(frames) == frames
        }

        @Test(
            "A device that moves by more frames at once than its buffer holds gets a longer one, with one notice",
            arguments: [(384, 512), (768, 1024), (12_288, 16_384)])
        func grows(_ frames: Int, _ expected: Int) async throws {
            let player = try Player(Card("card14")) { $0.growsBuffers = true }
            try player.output.start()
            #expect(player.output.configuration?.bufferSize == 256)
            #expect(await becomesTrue { step(player, frames) })
            let before = player.output.statistics.missedDeadlines
            player.card.forget()
            for _ in 0..<5 { #expect(step(player, frames)) }
            let configuration = try #require(player.output.configuration)
            #expect(configuration.bufferSize == expected)
            #expect(configuration.period == expected / 4)
            #expect(player.output.statistics.missedDeadlines == before)
            #expect(isConsecutive(frameNumbers(player.card.played()[0])))
            player.output.stop()
            let said = notices(player.events, "too long for cycles of 64 frames in a buffer of 256")
            #expect(said.count == 1)
            #expect(
                said.first?.contains(
                    "\(expected / 4) frames now, in a buffer of \(expected) (\((expected + 24) / 48) ms).")
                    == true)
            #expect(player.renderer.faultCount == 0)
            // It is kept for the next start, and is no news then.
            try player.output.start()
            #expect(player.output.configuration?.bufferSize == expected)
            player.output.stop()
            #expect(notices(player.events, "moves by steps").count == 1)
        }

        @Test("A device that moves by longer steps while it plays is followed, with a second notice")
        func growsAgain() async throws {
            let player = try Player(Card("card15")) { $0.growsBuffers = true }
            try player.output.start()
            #expect(await becomesTrue { step(player, 384) })
            // It proves long enough for more than a second.
            player.passTime(frames: 50_000)
            #expect(await becomesTrue { notices(player.events, "now, in a buffer of 512").count == 1 })
            #expect(await becomesTrue { step(player, 768) })
            player.passTime(frames: 50_000)
            #expect(await becomesTrue { notices(player.events, "now, in a buffer of 1024").count == 1 })
            #expect(notices(player.events, "moves by steps").count == 2)
            player.output.stop()
        }

        @Test("No buffer grows where the program was late, or after one accident")
        func grownForNothing() async throws {
            let player = try Player(Card("card16")) { $0.growsBuffers = true }
            try player.output.start()
            for _ in 0..<6 {
                #expect(player.play(3))
                player.passTime(frames: 250)
                player.card.set(.xrun)
            }
            #expect(player.play(3))
            // Accidents, three seconds apart.
            for _ in 0..<3 {
                player.card.set(.xrun)
                #expect(player.play(3))
                player.passTime(frames: 144_000)
            }
            let opens = player.card.ask(.opens)
            usleep(50_000)
            #expect(player.output.configuration?.bufferSize == 256 && player.card.ask(.opens) == opens)
            player.output.stop()
            #expect(notices(player.events, "moves by steps").isEmpty)
        }

        @Test("A device that takes too few of many short periods, and fails by nothing, gets fewer and longer ones")
        func slow() async throws {
            let player = try Player(Card("card19"), period: 64, periods: 16) { $0.growsBuffers = true }
            try player.output.start()
            #expect(
                await becomesTrue {
                    // Half of the frames that it should take.
                    player.passTime(frames: 6400)
                    _ = player.play(100)
                    return player.output.configuration?.bufferSize == 2048
                })
            #expect(player.output.configuration?.period == 512)
            player.output.stop()
            #expect(player.output.statistics.missedDeadlines == 0)
            #expect(notices(player.events, "in a buffer of 1024, as those").count == 1)
        }

        @Test("A device that cannot be satisfied is given up at some length, and a notice says so")
        func insatiable() async throws {
            let player = try Player(Card("card17")) { $0.growsBuffers = true }
            try player.output.start()
            #expect(
                await becomesTrue {
                    _ = step(player, 1 << 20)
                    return !notices(player.events, "Try another device").isEmpty
                })
            #expect(player.output.configuration?.bufferSize == 131_072)
            player.output.stop()
        }

        @Test("A device that records grows too, and the one that plays with it")
        func duplex() async throws {
            let card = try Card("card18")
            let recorder = try Card("card18", isCapture: true)
            let input = AudioInput()
            let player = try Player(card) {
                $0.growsBuffers = true
                $0.inputs = [input]
                $0.inputDevice = "card18"
            }
            try player.output.start()
            /// Moves both as the two directions of a device do: neither before both have been started.
            func both() -> Bool {
                let frames = 768
                guard card.wait(player.output.configuration?.bufferSize ?? .max), recorder.wait(0) else { return false }
                return recorder.move(frames) == frames && card.move(frames) == frames
            }
            #expect(await becomesTrue { both() })
            for _ in 0..<5 { #expect(both()) }
            #expect(player.output.configuration?.bufferSize == 1024)
            #expect(player.output.inputConfiguration?.bufferSize == 1024)
            player.output.stop()
            #expect(notices(player.events, "moves by steps").count == 1)
        }
    }
}
