import Glibc
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct FaultTests {
        @Test("After an xrun the output plays the next frame, and reports the gap with its length")
        func xrun() async throws {
            let card = try Card("card4")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(10))
            player.passTime(frames: 1000)
            card.set(.xrun)
            #expect(player.play(10))
            player.output.stop()
            let numbers = frameNumbers(card.played()[0])
            // The samples in the card's memory are lost when it fails; nothing is played twice.
            let expected: Int = 20 * 64 - 2 * 256
            #expect(numbers.count == expected)
            #expect(isConsecutive(Array(numbers.prefix(6 * 64))))
            #expect(isConsecutive(Array(numbers.dropFirst(6 * 64))))
            #expect(numbers[6 * 64] == 10 * 64)
            #expect(card.ask(.prepares) >= 2)
            #expect(player.events.count { if case .xruns(1, _) = $0 { true } else { false } } == 1)
            // Time went on by 1000 frames between what was heard last and what is heard next.
            #expect(
                player.events.count { event in
                    if case .gap(let frames, _) = event { frames == 1000 } else { false }
                } == 1)
        }

        @Test(
            "After a suspension it goes on, though a resume may lie, not be ready, or not be there",
            arguments: [Card.Resume.works, .lies, .again, .notThere])
        func suspend(_ resume: Card.Resume) async throws {
            let card = try Card("card5")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(10))
            let before = card.ask(.resumes)
            card.set(.suspend, resume: resume, lies: resume == .works ? 0 : 3)
            #expect(player.play(10))
            player.output.stop()
            // The library hides the errors of a plug-in's resume: each of them is a lie.
            let resumes = [Card.Resume.works: 1, .lies: 4, .again: 4, .notThere: 20][resume]
            #expect(card.ask(.resumes) - before == resumes)
            let numbers = frameNumbers(card.played()[0])
            let isLost = resume == .notThere
            let expected = isLost ? 20 * 64 - 512 : 20 * 64 - 256
            #expect(numbers.count == expected)
            #expect(isConsecutive(Array(numbers.suffix(6 * 64))))
            #expect(isLost || isConsecutive(numbers))
            #expect(player.output.state == .stopped)
        }

        @Test("A card that is unplugged is waited for, and played on when it is back")
        func unplugged() async throws {
            let card = try Card("card6")
            let player = try Player(card)
            try player.output.start()
            for _ in 0..<3 {
                #expect(player.play(5))
                card.set(.gone)
                #expect(await becomesTrue { player.output.state == .waiting })
                // It is tried now and then, and open for that long.
                #expect(await becomesTrue { card.ask(.isOpen) == 0 })
                card.set(.none)
                #expect(await becomesTrue { player.output.state == .running })
            }
            #expect(player.play(5))
            player.output.stop()
            #expect(isConsecutive(Array(frameNumbers(card.played()[0]).suffix(64))))
            #expect(player.events.count { if case .lost = $0 { true } else { false } } == 3)
            #expect(player.events.count { $0 == .regained } == 3)
        }

        @Test("A card that comes back with another rate and other channels is played at that rate")
        func changed() async throws {
            let card = try Card("card7")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(5))
            card.set(.gone)
            #expect(await becomesTrue { player.output.state == .waiting })
            card.allow(formats: [.int32], accesses: [.mappedPlanar], rates: 96_000...96_000, channels: 6...6)
            card.set(.none)
            #expect(await becomesTrue { player.output.state == .running })
            #expect(player.play(5))
            #expect(player.output.configuration?.channelCount == 6)
            #expect(player.renderer.sampleRate == 96_000)
            player.output.stop()
            #expect(player.events.all.contains(.sampleRateChanged(96_000)))
        }

        @Test("By policy it stops when the card goes, or falls back to another one")
        func policies() async throws {
            let card = try Card("card8")
            let stopper = try Player(card, ifLost: .stop)
            try stopper.output.start()
            #expect(stopper.play(5))
            card.set(.gone)
            #expect(await becomesTrue { stopper.output.state == .stopped })
            #expect(await becomesTrue { stopper.events.count { if case .lost = $0 { true } else { false } } == 1 })
            card.set(.none)
            try stopper.output.start()
            #expect(stopper.play(5))
            stopper.output.stop()

            let other = try Card("card9")
            let player = try Player(card, ifLost: .fallBack(to: "card9"))
            try player.output.start()
            #expect(player.play(5))
            card.set(.gone)
            #expect(await becomesTrue { player.output.configuration?.device == "card9" })
            #expect(other.wait(256))
            #expect(player.output.state == .running)
            player.output.stop()
            card.set(.none)
        }

        @Test("A card that was put to sleep between its preparation and its start is started when it wakes up")
        func asleepBeforeStart() throws {
            let card = try Card("card13")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(5))
            card.sleepWhenPrepared()
            card.set(.xrun)
            #expect(player.play(5))
            player.output.stop()
        }

        @Test("A card that stands still counts as lost, and is opened again")
        func stall() async throws {
            let card = try Card("card10")
            let player = try Player(card, patience: 0.2)
            try player.output.start()
            #expect(card.wait(256))
            card.set(.stall)
            #expect(
                await becomesTrue {
                    player.events.count { "\($0)".hasPrefix("The sound device stands still.") } > 0
                })
            card.set(.none)
            #expect(await becomesTrue { card.ask(.isOpen) == 1 && player.output.state == .running })
            player.output.stop()
        }

        @Test("A poll that is always ready does not become a busy loop, and the card is played when it goes on")
        func alwaysReady() throws {
            let card = try Card("card11")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(5))
            card.set(.alwaysReady)
            let (start, before) = (HostClock.now, card.ask(.polls))
            usleep(500_000)
            // A quarter of a period of 1.3 ms each: 3,000 a second. A busy loop asks two hundred thousand times.
            let polls = card.ask(.polls) - before
            #expect(Double(polls) < Double(HostClock.now - start) / 1e9 * 6_000)
            card.set(.none)
            #expect(player.play(5))
            player.output.stop()
            #expect(isConsecutive(frameNumbers(card.played()[0])))
        }

        @Test("A card that fails again and again is lost; stopping never hangs")
        func deaf() async throws {
            let card = try Card("card12")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(5))
            card.set(.deaf)
            #expect(await becomesTrue { player.output.state == .waiting || card.ask(.opens) > 1 })
            player.output.stop()
            #expect(player.output.state == .stopped)
            card.set(.none)
        }

        @Test("After each of many random sequences of faults the right frames are played again")
        func randomFaults() async throws {
            let sequences = Length.sequences
            let card = try Card("card13")
            let player = try Player(card, period: 32, periods: 2)
            var random = SplitMix(state: 7)
            try player.output.start()
            for turn in 0..<sequences {
                for _ in 0..<Int(random.next() % 3 + 1) {
                    switch random.next() % 5 {
                    case 0: card.set(.xrun)
                    case 1: card.set(.suspend, resume: Card.Resume(rawValue: Int32(random.next() % 4))!, lies: 1)
                    case 2 where turn % 20 == 0:
                        card.set(.gone)
                        #expect(await becomesTrue { player.output.state == .waiting })
                        card.set(.none)
                        #expect(await becomesTrue { player.output.state == .running })
                    case 3: card.move(32 * Int(random.next() % 4))
                    default: _ = player.play(Int(random.next() % 4))
                    }
                }
                #expect(card.wait(64), "sequence \(turn)")
                let first = card.ask(.frames)
                guard player.play(6) else {
                    Issue.record("sequence \(turn): it does not play on")
                    break
                }
                let numbers = frameNumbers(Array(card.played()[0].dropFirst(first)))
                #expect(numbers.count >= 4 * 32)
                #expect(isConsecutive(numbers.map { $0 }), "sequence \(turn)")
                card.forget()
            }
            player.output.stop()
            #expect(player.renderer.faultCount == 0)
        }
    }
}
