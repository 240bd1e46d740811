import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

/// Puts the number of each frame into the first channel: what stays in the others came in.
final class FrameStamp: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let now = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = Float((now &+ Int64(i)) & 0xFFFF) * 0x1p-17 + 0x1p-18 }
    }
}

/// Two cards whose frames move by command: one plays what the other captures, and the number of each frame.
struct TwoCards {
    let card: Card
    let microphone: Card
    let renderer: Renderer
    let output: ALSAOutput
    let events: Events
    let input = AudioInput(channels: 2)

    init(
        _ card: Card, _ microphone: Card, ifLost: ALSALossPolicy = .wait,
        change: (inout ALSASettings) -> Void = { _ in }
    ) throws {
        (self.card, self.microphone) = (card, microphone)
        let (input, stamp) = (input, FrameStamp())
        renderer = try Renderer { context in
            context.run(input)
            context.run(stamp)
            context.output()
        }
        var settings = ALSASettings(
            device: card.name, inputDevice: microphone.name, inputs: [input], period: 64, periods: 4, isDithered: false,
            priority: 0, lossPolicy: ifLost, compensatesLatency: true)
        settings.patience = 60_000_000_000
        settings.watchedPlaces = []
        change(&settings)
        output = ALSAOutput(renderer, settings)
        events = Events(output)
    }

    /// Plays and records so many periods. `false`: it does not follow.
    func play(_ count: Int, captures: Bool = true) -> Bool {
        for _ in 0..<count {
            guard card.wait(256) else { return false }
            if captures { microphone.move(64) }
            guard card.move(64) == 64 else { return false }
        }
        return card.wait(256)
    }

    /// Plays until something is so. `false`: it does not become so.
    func play(until isSo: () -> Bool) async -> Bool {
        await becomesTrue {
            if isSo() { return true }
            _ = play(1)
            return false
        }
    }

    func count(_ start: String) -> Int { events.count { "\($0)".hasPrefix(start) } }

    /// The state of both cards, for a test that fails.
    var state: String {
        let questions: [Card.Question] = [.isOpen, .isRunning, .queued, .opens, .prepares, .starts, .resumes]
        let cards = [card, microphone].map { card in "\(questions.map { "\($0) \(card.ask($0))" })" }
        return "\(output.state); \(cards); \(events.all.suffix(6).map { "\($0)" })"
    }

    /// Returns how many of the last frames that were played show the ramp that the microphone captures.
    func rises(_ frames: Int) -> Int {
        let heard = card.played()[1].suffix(frames)
        return zip(heard, heard.dropFirst()).count { abs($1 - $0 - 1 / 32_768) < 2e-6 }
    }
}

extension ALSATests {
    @Suite struct TwoCardTests {
        @Test("Two cards: the one that records is lost and found again while the other plays on, without a gap")
        func captureLost() async throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true))
            try two.output.start()
            for turn in 1...3 {
                #expect(two.play(100))
                #expect(two.input.isConnected)
                two.microphone.set(.gone)
                #expect(await two.play { two.count("The device that records is lost") == turn })
                #expect(two.output.state == .running)
                #expect(two.play(20))
                #expect(!two.input.isConnected)
                #expect(two.card.played()[1].suffix(512).allSatisfy { $0 == 0 })
                two.microphone.set(.none)
                #expect(await two.play { two.input.isConnected })
                #expect(two.microphone.ask(.isOpen) == 1)
            }
            #expect(two.play(200))
            // Of 64 × 60 frames the ramp falls once in 32768.
            #expect(two.rises(3840) > 3700)
            two.output.stop()
            let numbers = frameNumbers(Array(two.card.played()[0].dropFirst(256)))
            #expect(isConsecutive(numbers))
            #expect(two.events.count { $0 == .regained } == 3)
            #expect(two.events.count { if case .gap = $0 { true } else { false } } == 0)
        }

        @Test("Two cards: the one that plays is lost and found again while the other records on, every frame once")
        func playbackLost() async throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true))
            try two.output.start()
            #expect(two.play(100))
            for turn in 1...3 {
                two.card.set(.gone)
                #expect(await becomesTrue { two.count("The device that plays is lost") == turn })
                #expect(two.output.state == .running)
                #expect(await becomesTrue { two.card.ask(.isOpen) == 0 })
                #expect(two.microphone.wait(63))
                let before = two.renderer.sampleTime
                for _ in 0..<100 {
                    #expect(two.microphone.move(64) == 64)
                    #expect(two.microphone.wait(0))
                }
                // The input sets the pace now. The samples that the line had in store for the other clock were given
                // out at once.
                let rendered = two.renderer.sampleTime - before
                #expect(rendered >= 6400 - 64 && rendered < 6400 + 2048, "\(rendered)")
                #expect(two.input.isConnected)
                two.card.set(.none)
                #expect(await becomesTrue { two.card.ask(.isRunning) == 1 })
                #expect(two.play(100))
                #expect(isConsecutive(frameNumbers(Array(two.card.played()[0].suffix(6000)))))
            }
            #expect(two.play(100))
            #expect(two.rises(3840) > 3700)
            two.output.stop()
            #expect(two.events.count { $0 == .regained } == 3)
        }

        @Test("Two cards: by policy all stops when one of them is lost", arguments: [true, false])
        func stops(_ isCapture: Bool) async throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true), ifLost: .stop)
            try two.output.start()
            #expect(two.play(10))
            (isCapture ? two.microphone : two.card).set(.gone)
            #expect(
                await becomesTrue {
                    if isCapture { two.card.move(64) }
                    return two.output.state == .stopped
                })
            #expect(two.card.ask(.isOpen) == 0 && two.microphone.ask(.isOpen) == 0)
            two.output.stop()
        }

        @Test("Two cards: a card that records and stands still is given up, and comes back")
        func captureStalls() async throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true)) { $0.patience = 100_000_000 }
            try two.output.start()
            two.microphone.set(.stall)
            #expect(await two.play { two.count("The device that records stands still.") > 0 })
            two.microphone.set(.none)
            #expect(await two.play { two.input.isConnected })
            two.output.stop()
        }

        @Test("Two cards: xruns and suspensions of the one that records do not touch what is played")
        func captureFaults() throws {
            let two = try TwoCards(Card("card17"), Card("card18", isCapture: true))
            try two.output.start()
            for fault in [Card.Fault.xrun, .suspend, .xrun, .suspend] {
                #expect(two.play(20))
                two.microphone.set(fault)
                #expect(two.play(20))
            }
            #expect(two.play(200))
            #expect(two.rises(3840) > 3700)
            two.output.stop()
            #expect(isConsecutive(frameNumbers(Array(two.card.played()[0].dropFirst(256)))))
            #expect(two.events.count { if case .xruns = $0 { true } else { false } } >= 1)
        }
    }
}
