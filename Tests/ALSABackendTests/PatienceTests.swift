import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

// Tests of the time that actions may take, and of the notices when they take longer.
extension ALSATests {
    @Suite struct PatienceTests {
        private func notices(_ events: Events, _ part: String) -> Int {
            events.count { if case .notice(let sentence) = $0 { sentence.contains(part) } else { false } }
        }

        @Test("A suspension of more than half a second is waited for, without a loss")
        func longSleep() async throws {
            let card = try Card("card6")
            let player = try Player(card)
            try player.output.start()
            #expect(player.play(10))
            let (resumes, starts) = (card.ask(.resumes), card.ask(.starts))
            card.set(.asleep)
            #expect(await becomesTrue { card.ask(.resumes) > resumes })
            usleep(1_200_000)
            #expect(player.output.state == .running)
            card.set(.none)
            // When it has woken up it is started anew, sooner or later.
            #expect(await becomesTrue { card.ask(.starts) > starts })
            #expect(player.play(10))
            player.output.stop()
            #expect(player.events.count { if case .lost = $0 { true } else { false } } == 0)
            #expect(isConsecutive(Array(frameNumbers(card.played()[0]).suffix(6 * 64))))
        }

        @Test("A device that does not wake up is lost, in those words, and played again when it has")
        func endlessSleep() async throws {
            let card = try Card("card6")
            let player = try Player(card, patience: 0.3) { $0.searchInterval = 5_000_000 }
            try player.output.start()
            #expect(player.play(10))
            card.set(.asleep)
            #expect(
                await becomesTrue {
                    player.events.count { event in
                        if case .lost(let sentence) = event { sentence.contains("does not wake up") } else { false }
                    } == 1
                })
            card.set(.none)
            #expect(await becomesTrue { player.output.state == .running })
            #expect(await becomesTrue { player.play(10) })
            player.output.stop()
        }

        private static func inBackground(_ body: @escaping @Sendable () -> Void) { _ = Task.detached { body() } }

        /// Flags that a closure and a test share.
        private final class Flags: Sendable {
            let isCaught = Atomic<Bool>(false)
            let isReleased = Atomic<Bool>(false)
            let hasStopped = Atomic<Bool>(false)
        }

        @Test("A closure that does not end: one sentence says so, stopping returns, and a new start says why not")
        func endlessClosure() async throws {
            let card = try Card("card7")
            let flags = Flags()
            let renderer = try Renderer { context in
                guard !context.isDryRun, flags.isCaught.load(ordering: .relaxed) else { return }
                while !flags.isReleased.load(ordering: .relaxed) { usleep(1_000) }
            }
            defer { flags.isReleased.store(true, ordering: .relaxed) }
            var settings = ALSASettings(
                device: card.name, inputDevice: nil, inputs: [], period: 64, periods: 4, isDithered: false, priority: 0,
                lossPolicy: .wait, compensatesLatency: true)
            settings.watchedPlaces = []
            let output = ALSAOutput(renderer, settings)
            let events = Events(output)
            try output.start()
            #expect(card.wait(256))
            flags.isCaught.store(true, ordering: .relaxed)
            #expect(card.move(64) == 64)
            #expect(await becomesTrue { notices(events, "has not ended") == 1 })
            Self.inBackground {
                output.stop()
                flags.hasStopped.store(true, ordering: .relaxed)
            }
            #expect(await becomesTrue { flags.hasStopped.load(ordering: .relaxed) })
            #expect(!flags.isReleased.load(ordering: .relaxed) && output.state == .stopped)
            #expect(notices(events, "has not ended") == 1)
            #expect(throws: ALSAError.closureNotEnded) { try output.start() }
            flags.isCaught.store(false, ordering: .relaxed)
            flags.isReleased.store(true, ordering: .relaxed)
            #expect(await becomesTrue { (try? output.start()) != nil })
            #expect(card.wait(256))
            output.stop()
        }

        @Test("A \"plug\" gives the rate of its card, and our own converter does the rest")
        func plug() async throws {
            let card = try Card("card8", rates: 44_100...44_100)
            #expect(Plugin.configure(text: "pcm.plugged { type plug slave.pcm \"card8\" }\n"))
            DeviceWatch.readConfigurationAnew()
            defer {
                _ = Plugin.configure()
                DeviceWatch.readConfigurationAnew()
            }
            let player = try Player(card, clockRate: 44_100) {
                $0.device = "plugged"
                $0.rate = 48_000
            }
            try player.output.start()
            #expect(player.output.configuration?.sampleRate == 44_100)
            #expect(player.renderer.sampleRate == 48_000)
            player.output.stop()
        }

        @Test("The output passes on ALSA's complaints about its configuration, and a program's own handler stays")
        func messages() throws {
            _ = try Card("card9")
            defer {
                _ = Plugin.configure()
                DeviceWatch.readConfigurationAnew()
            }
            #expect(Plugin.configure(text: "pcm.odd { type nosuchkind }\n"))
            DeviceWatch.readConfigurationAnew()
            let output = ALSAOutput(Renderer(), device: "odd", priority: 0)
            let events = Events(output)
            let error = #expect(throws: ALSAError.self) { try output.start() }
            #expect(error?.description.contains("nosuchkind") == true, "\(String(describing: error))")
            #expect(notices(events, "ALSA says: ") > 0)
            #expect(Plugin.configure(text: "pcm.odd { type hw } }}}\n"))
            DeviceWatch.readConfigurationAnew()
            let other = #expect(throws: ALSAError.self) { try output.start() }
            if case .misconfigured = other {} else { Issue.record("\(String(describing: other))") }
        }
    }
}
