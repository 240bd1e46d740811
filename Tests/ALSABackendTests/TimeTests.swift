import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

/// Notes the first sample of each slice, and when it was captured.
final class CaptureTimes: Sendable {
    let samples = Atomic<Int>(-1)
    let hostTime = Atomic<Int64>(0)

    func note(_ context: inout RenderContext) {
        var top = context.top
        let first = top[0]
        samples.store(Int(first[0] * 32_768), ordering: .relaxed)
        hostTime.store(context.top.time.hostTime ?? 0, ordering: .releasing)
    }
}

extension ALSATests {
    @Suite struct TimeTests {
        /// A clock that counts the frames of a card of 48 kHz.
        private static func host(_ frame: Int) -> Int64 { 1_000_000_000 + Int64(Double(frame) * 1e9 / 48_000) }

        private func settings(
            _ device: String?, _ microphone: String, _ input: AudioInput, _ clock: Player.Clock
        ) -> ALSASettings {
            var settings = ALSASettings(
                device: device, inputDevice: microphone, inputs: [input], period: 64, periods: 4, isDithered: false,
                priority: 0, lossPolicy: .wait, compensatesLatency: true)
            settings.patience = 60_000_000_000
            settings.now = { clock.now }
            return settings
        }

        @Test(
            "An input carries the time of its capture: less the frames that the card and the converters hold",
            arguments: [nil, "card14", "card17"] as [String?], [48_000.0, 44_100])
        func capture(_ device: String?, _ asked: Double) throws {
            let name = device == "card14" ? "card14" : "card18"
            let card = try device.map { try Card($0) }
            let microphone = try Card(name, isCapture: true)
            microphone.setDelay(48)
            defer { microphone.setDelay(0) }
            let clock = Player.Clock()
            let (input, times) = (AudioInput(channels: 2), CaptureTimes())
            let renderer = try Renderer { context in
                context.run(input)
                times.note(&context)
                context.output()
            }
            var settings = settings(device, name, input, clock)
            settings.rate = asked
            let output = ALSAOutput(renderer, settings)
            try output.start()
            #expect(microphone.wait(0))
            // Frame `origin` of the microphone is captured at the clock's zero.
            let origin = microphone.ask(.frames)
            for _ in 0..<200 {
                if let card { #expect(card.wait(256)) }
                clock.frames.wrappingAdd(64, ordering: .releasing)
                #expect(microphone.move(64) == 64)
                if let card { #expect(card.move(64) == 64) }
                if device != "card17" { #expect(microphone.wait(0)) }
            }
            if let card { #expect(card.wait(256)) }
            output.stop()
            let sample = times.samples.load(ordering: .acquiring)
            let time = times.hostTime.load(ordering: .acquiring)
            // The sound of a frame came to the card 48 frames before the card had it.
            let frame = Double((sample - origin) & 0x7FFF)
            let captured = 1e9 + (frame - 48) * 1e9 / 48_000
            // The sound was as old as the output says.
            if device != "card17" {
                let age = Double(clock.now - time) * renderer.sampleRate / 1e9
                #expect(abs(age - Double(output.captureLatency)) < 1.5, "\(age), \(output.captureLatency) frames")
            }
            // The sample says its frame to one.
            #expect(abs(Double(time) - captured) < 1.1e9 / 48_000, "\((Double(time) - captured) * 48e-6) frames")
        }

        @Test("Host times and gaps add up over any faults, so the sound is heard at the time that they say")
        func gaps() async throws {
            let sequences = Length.sequences / 4
            for rate in [nil, 44_100.0] {
                let card = try Card("card13")
                let player = try Player(card, period: 32, periods: 3) { $0.rate = rate }
                var random = SplitMix(state: 11)
                try player.output.start()
                #expect(player.play(1))
                let first = try #require(player.renderer.nextRenderTime)
                let start = player.renderer.sampleTime
                for turn in 0..<sequences {
                    // The time passes while the output waits for room: after a fault it would look at the clock, and
                    // who of the two is first would be chance.
                    player.passTime(frames: Int(random.next() % 500))
                    switch random.next() % 4 {
                    case 0: card.set(.xrun)
                    case 1: card.set(.suspend, resume: Card.Resume(rawValue: Int32(random.next() % 4))!, lies: 1)
                    case 2 where turn % 10 == 0:
                        card.set(.gone)
                        #expect(await becomesTrue { player.output.state == .waiting })
                        player.passTime(frames: Int(random.next() % 5000))
                        card.set(.none)
                        #expect(await becomesTrue { player.output.state == .running })
                    default:
                        // The card goes on alone, up to an xrun.
                        #expect(card.wait(96))
                        player.passTime(frames: 96)
                        card.move(97)
                    }
                    guard player.play(8) else {
                        Issue.record("sequence \(turn): it does not play on")
                        break
                    }
                    if rate == nil { #expect(player.isOnTime(frames: 64), "sequence \(turn)") }
                    card.forget()
                }
                let last = try #require(player.renderer.nextRenderTime)
                let frames = player.renderer.sampleTime - start
                player.output.stop()
                let told = player.events.all.reduce(Int64(0)) { sum, event in
                    if case .gap(let frames, _) = event { sum + frames } else { sum }
                }
                let passed = Double(last - first) * player.renderer.sampleRate / 1e9
                // Each gap is reported in whole frames.
                let difference = abs(passed - Double(frames + told))
                #expect(difference < (rate == nil ? 2 : 1 + 0.6 * Double(sequences)), "\(difference)")
            }
        }
    }
}
