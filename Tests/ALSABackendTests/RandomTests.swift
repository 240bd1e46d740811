import Glibc
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

/// The length of tests that go through random sequences of faults, and through hours.
enum Length {
    static let isSoak = getenv("RENDERSTACK_SOAK") != nil
    static var sequences: Int {
        #if DEBUG
            60
        #else
            isSoak ? 20_000 : 1000
        #endif
    }
    /// Of sound, for cards whose clocks differ.
    static var seconds: Double {
        #if DEBUG
            12
        #else
            isSoak ? 6 * 3600 : 1200
        #endif
    }
}

extension ALSATests {
    @Suite struct RandomTests {
        @Test("Two cards: after each of many random sequences of faults of both, both are heard again")
        func twoCards() async throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true))
            var random = SplitMix(state: 23)
            try two.output.start()
            for turn in 0..<Length.sequences / 2 {
                for _ in 0..<random.next() % 3 + 1 {
                    let card = random.next() % 2 == 0 ? two.card : two.microphone
                    switch random.next() % 8 {
                    case 0, 1: card.set(.xrun)
                    case 2:
                        card.set(.suspend, resume: Card.Resume(rawValue: Int32(random.next() % 4))!, lies: 1)
                    case 3 where turn % 10 == 0: card.set(.gone)
                    case 4: card.move(64 * Int(random.next() % 5))
                    default: usleep(UInt32(random.next() % 2000))
                    }
                }
                two.card.set(.none)
                two.microphone.set(.none)
                // A card that was gone for a moment may not have been noticed, or be on its way back.
                let isBack = await becomesTrue {
                    guard two.card.wait(256, seconds: 0.05) else {
                        two.microphone.move(64)
                        return false
                    }
                    return two.play(1) && two.input.isConnected
                }
                guard isBack, two.play(20) else {
                    Issue.record("sequence \(turn): it does not play on: \(two.state)")
                    break
                }
                let played = two.card.played()[0].suffix(640)
                #expect(isConsecutive(played.map { Int64((($0 - 0x1p-18) * 0x1p17).rounded()) }), "sequence \(turn)")
                // The line may begin anew once more while it finds the clocks; then it is heard.
                #expect(await two.play { two.rises(640) > 300 }, "sequence \(turn)")
                two.card.forget()
            }
            two.output.stop()
            #expect(two.renderer.faultCount == 0)
        }

        @Test("After each of many random sequences of faults a sine at another rate is a sine again")
        func converted() async throws {
            let card = try Card("card13", rates: 44_100...44_100)
            let player = try Player(
                card, period: 32, periods: 3, clockRate: 44_100, sound: LongSine(frequency: 997, rate: 48_000)
            ) { $0.rate = 48_000 }
            var random = SplitMix(state: 5)
            try player.output.start()
            for turn in 0..<Length.sequences / 2 {
                for _ in 0..<random.next() % 3 + 1 {
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
                guard player.play(24) else {
                    Issue.record("sequence \(turn): it does not play on")
                    break
                }
                // The samples that were in the card's memory, and in the converter, have gone by.
                let found = FoundSine(card.played()[0].suffix(512), step: 2 * Double.pi * 997 / 44_100)
                #expect(abs(found.amplitude - 0.5) < 0.001, "sequence \(turn)")
                #expect(found.rest < -100, "sequence \(turn): \(found.rest) dB")
                card.forget()
            }
            player.output.stop()
            #expect(player.renderer.faultCount == 0)
        }

        @Test(
            "For hours two cards whose clocks differ are heard without a click, and no later at the end",
            arguments: [-500.0, 500])
        func hours(_ ppm: Double) throws {
            let rate: UInt32 = 8_000
            let card = try Card("card17", rates: rate...rate)
            let microphone = try Card("card18", isCapture: true, rates: rate...rate)
            let two = try TwoCards(card, microphone) {
                $0.period = 512
                $0.periods = 3
                $0.rate = Double(rate)
            }
            try two.output.start()
            let origin = microphone.ask(.frames)
            let cycles = Int(Length.seconds * Double(rate)) / 512
            var due = 0.0
            var early: Double?
            var ramp = RampListener()
            for cycle in 0..<cycles {
                guard card.wait(1536) else {
                    Issue.record("cycle \(cycle): it does not follow")
                    break
                }
                let before = Int(due)
                due += 512 * (1 + ppm * 1e-6)
                let fresh = Int(due) - before
                guard microphone.move(fresh) == fresh, card.move(512) == 512 else {
                    Issue.record("cycle \(cycle): an xrun")
                    break
                }
                guard cycle % 100 == 99 else { continue }
                #expect(card.wait(1536))
                let heard = card.played()[1]
                card.forget()
                guard cycle > 100 else { continue }
                ramp.hear(heard)
                guard ramp.clicks == 0 else {
                    Issue.record("cycle \(cycle): \(ramp.clicks) clicks")
                    break
                }
                // The age of the frame that was heard last, modulo the ramp.
                guard ramp.isRising, let sample = heard.last else { continue }
                let captured = Double(origin + Int(due) + 0x4000)
                let age = (captured - Double(sample) * 32_768).truncatingRemainder(dividingBy: 32_768)
                // The controller has found the clocks after five minutes.
                if Double(cycle * 512) / Double(rate) > 300 {
                    if let early { #expect(abs(age - early) < 4, "cycle \(cycle)") } else { early = age }
                } else {
                    #expect(age > 0 && age < 4 * 1536, "cycle \(cycle)")
                }
            }
            two.output.stop()
            #expect(two.events.count { if case .xruns = $0 { true } else { false } } == 0)
            #expect(two.events.count { if case .gap = $0 { true } else { false } } == 0)
        }
    }
}

/// Listens to the ramp from 0 to 1 that a simulated microphone captures: it rises, and falls once in 32,768 frames.
private struct RampListener {
    /// Samples that do not rise as the ramp does, though no fall is near.
    private(set) var clicks = 0
    /// Indicates whether the last frames that were heard rise.
    private(set) var isRising = false

    /// The length for which the resampler's filter rings around a fall.
    private static let reach = 64
    private var kept: [Float] = []

    private static func rises(_ samples: [Float], _ index: Int) -> Bool {
        abs(samples[index + 1] - samples[index] - 1 / 32_768) < 2e-6
    }

    /// Hears what comes next. The last frames are judged only when it is known whether a fall follows.
    mutating func hear(_ more: [Float]) {
        let reach = Self.reach
        let samples = kept + more
        guard samples.count > 4 * reach else { return kept = samples }
        let last = samples.count - reach - 1
        let falls = (reach..<last).filter { index in
            samples[index + 1] < samples[index] - 0.1 && samples[index - reach] > 0.98
                && samples[index + reach] < 0.02
        }
        clicks += (2 * reach..<last - reach).count { index in
            !Self.rises(samples, index) && !falls.contains { abs($0 - index) <= reach }
        }
        isRising = (last..<samples.count - 1).allSatisfy { Self.rises(samples, $0) }
        kept = Array(samples.suffix(4 * reach + 1))
    }
}
