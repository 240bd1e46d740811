import Foundation
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct ReturnTests {
        /// An empty folder that stands for /dev/snd.
        private func folder() throws -> String {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("rs-alsa-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            return path.path
        }

        private func touch(_ path: String) { _ = FileManager.default.createFile(atPath: path, contents: nil) }

        /// Nothing is looked for unless something is noticed.
        private static func onlyWatches(_ folder: String, _ settings: inout ALSASettings) {
            settings.searchInterval = 3_600_000_000_000
            settings.watchedPlaces = [DeviceWatch.Place(folder: folder)]
        }

        @Test("A watched folder says that something in it came or went, or that it came itself")
        func watch() throws {
            let root = try folder()
            defer { try? FileManager.default.removeItem(atPath: root) }
            let watch = DeviceWatch([
                .init(folder: root, name: "snd"), .init(folder: "\(root)/snd"),
                .init(folder: root, name: "asound.conf"),
            ])
            #expect(!watch.hasChanged())
            touch("\(root)/other")
            #expect(!watch.hasChanged())
            try FileManager.default.createDirectory(atPath: "\(root)/snd", withIntermediateDirectories: false)
            #expect(watch.hasChanged())
            #expect(!watch.hasChanged())
            touch("\(root)/snd/pcmC0D0p")
            #expect(watch.hasChanged())
            try FileManager.default.removeItem(atPath: "\(root)/snd/pcmC0D0p")
            #expect(watch.hasChanged())
            try "pcm.x { type null }\n".write(toFile: "\(root)/asound.conf", atomically: true, encoding: .utf8)
            #expect(watch.hasChanged())
            try FileManager.default.removeItem(atPath: "\(root)/snd")
            #expect(watch.hasChanged())
            #expect(!DeviceWatch([.init(folder: "\(root)/none")]).hasChanged())
            #expect(DeviceWatch.Place(file: "/etc/asound.conf") == .init(folder: "/etc", name: "asound.conf"))
        }

        @Test("A card that is waited for is opened as soon as it is noticed, and not looked for before")
        func noticed() async throws {
            let root = try folder()
            defer { try? FileManager.default.removeItem(atPath: root) }
            let card = try Card("card6")
            let player = try Player(card) { Self.onlyWatches(root, &$0) }
            try player.output.start()
            #expect(player.play(5))
            card.set(.gone)
            #expect(await becomesTrue { player.output.state == .waiting })
            #expect(await becomesTrue { player.events.count { if case .lost = $0 { true } else { false } } == 1 })
            // One look follows a loss. The question waits until it is over.
            _ = player.output.configuration
            card.set(.none)
            usleep(300_000)
            #expect(player.output.state == .waiting)
            player.passTime(frames: 4_800)
            touch("\(root)/pcmC0D0p")
            #expect(await becomesTrue { player.output.state == .running })
            #expect(player.play(20))
            #expect(player.isOnTime(frames: 64))
            player.output.stop()
            // 4800 frames passed, and the frames of the card's memory had been rendered for a time that has gone.
            let gaps = player.events.all.compactMap { if case .gap(let frames, _) = $0 { frames } else { nil } }
            #expect(gaps == [4_800])
        }

        @Test("Events say which cards come and go")
        func comings() async throws {
            let root = try folder()
            defer { try? FileManager.default.removeItem(atPath: root) }
            let names = Guarded<Set<String>>(["hw:CARD=Box,DEV=0"])
            let player = try Player(Card("card8")) {
                Self.onlyWatches(root, &$0)
                $0.deviceNames = { names.withLock { $0 } }
            }
            try player.output.start()
            #expect(player.play(5))
            names.withLock { $0 = ["hw:CARD=Box,DEV=0", "hw:CARD=Mic,DEV=0"] }
            touch("\(root)/pcmC1D0c")
            #expect(await becomesTrue { player.events.all.contains(.deviceCame("hw:CARD=Mic,DEV=0")) })
            names.withLock { $0 = ["hw:CARD=Mic,DEV=0"] }
            touch("\(root)/pcmC0D0p")
            #expect(await becomesTrue { player.events.all.contains(.deviceGone("hw:CARD=Box,DEV=0")) })
            player.output.stop()
            let news = player.events.count { event in
                switch event {
                case .deviceCame, .deviceGone: true
                default: false
                }
            }
            #expect(news == 2)
        }

        @Test("From the device that was taken instead it returns to the first one when that is back")
        func returns() async throws {
            let root = try folder()
            defer { try? FileManager.default.removeItem(atPath: root) }
            let (card, other) = (try Card("card8"), try Card("card9", rates: 44_100...44_100))
            let player = try Player(card, ifLost: .fallBack(to: "card9")) { Self.onlyWatches(root, &$0) }
            try player.output.start()
            for turn in 1...3 {
                #expect(player.play(5))
                card.set(.gone)
                #expect(await becomesTrue { player.output.configuration?.device == "card9" })
                #expect(other.wait(256))
                #expect(player.renderer.sampleRate == 44_100)
                for _ in 0..<10 {
                    #expect(other.move(64) == 64)
                    #expect(other.wait(256))
                }
                #expect(isConsecutive(frameNumbers(other.played()[0].suffix(64))))
                card.set(.none)
                touch("\(root)/pcm\(turn)")
                #expect(await becomesTrue { player.output.configuration?.device == "card8" })
                #expect(card.wait(256))
                #expect(player.renderer.sampleRate == 48_000)
                #expect(await becomesTrue { other.ask(.isOpen) == 0 })
            }
            #expect(player.play(20))
            player.output.stop()
            #expect(isConsecutive(frameNumbers(card.played()[0].suffix(640))))
            let texts = player.events.all.map { "\($0)" }
            #expect(texts.count { $0 == "The sound goes on with the device \"card9\"." } == 3)
            #expect(texts.count { $0 == "The sound is back on the device \"card8\"." } == 3)
            #expect(!texts.contains { $0.contains("another device") })
        }

        @Test("A first device that is back but of no use does not interrupt the one that plays instead")
        func vain() async throws {
            let root = try folder()
            defer { try? FileManager.default.removeItem(atPath: root) }
            let (card, other) = (try Card("card8"), try Card("card9"))
            let player = try Player(card, ifLost: .fallBack(to: "card9")) {
                Self.onlyWatches(root, &$0)
                $0.searchInterval = 10_000_000
                $0.format = .float32
            }
            try player.output.start()
            #expect(player.play(5))
            card.set(.gone)
            #expect(await becomesTrue { player.output.configuration?.device == "card9" })
            card.allow(formats: [.int16], accesses: [.copiedInterleaved], rates: 48_000...48_000, channels: 2...2)
            let before = other.ask(.opens)
            card.set(.none)
            usleep(500_000)
            // Opened again once, after the one try.
            #expect(other.ask(.opens) - before <= 1)
            player.output.stop()
        }

        @Test("A name that stands for another card is followed, without being lost")
        func follows() async throws {
            let (first, second) = (try Card("card10"), try Card("card11"))
            #expect(Plugin.configure(["moving": "card10"]))
            defer { _ = Plugin.configure() }
            let player = try Player(first) {
                $0.device = "moving"
                $0.searchInterval = 3_600_000_000_000
                $0.watchedPlaces = [DeviceWatch.Place(file: Plugin.configuration)!]
            }
            DeviceWatch.readConfigurationAnew()
            try player.output.start()
            #expect(player.play(5))
            let opens = first.ask(.opens)
            // Other names change: nothing happens.
            #expect(Plugin.configure(["moving": "card10", "else": "card12"]))
            usleep(300_000)
            #expect(player.play(5))
            #expect(first.ask(.opens) == opens)
            #expect(Plugin.configure(["moving": "card11"]))
            #expect(await becomesTrue { second.ask(.isRunning) == 1 })
            #expect(await becomesTrue { first.ask(.isOpen) == 0 })
            for _ in 0..<10 {
                #expect(second.wait(256))
                #expect(second.move(64) == 64)
            }
            #expect(second.wait(256))
            #expect(player.output.state == .running)
            player.output.stop()
            #expect(isConsecutive(frameNumbers(second.played()[0].suffix(384))))
            #expect(player.events.count { "\($0)" == "\"moving\" is another device now." } == 1)
            #expect(player.events.count { if case .lost = $0 { true } else { false } } == 0)
        }

        @Test("A device that takes all frames at once is given them by the clock: no busy loop at real-time priority")
        func unclocked() async throws {
            _ = try Card("card0")
            #expect(Plugin.configure())
            let renderer = Renderer()
            let output = ALSAOutput(renderer, device: "null", priority: 0)
            let events = Events(output)
            let start = HostClock.now
            try output.start()
            usleep(1_500_000)
            output.stop()
            // Half a second in advance is free; the machine may be slow, but time cannot be fast.
            let passed = Double(HostClock.now - start) / 1e9
            #expect(Double(renderer.sampleTime) < (passed + 1.5) * 48_000)
            #expect(events.count { "\($0)".contains("has no clock") } <= 1)
        }
    }
}
