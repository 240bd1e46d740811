import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// The program as the desktop sees it.
    @Suite struct DesktopTests {
        @Test(
            "The desktop sees name, title, icon and role, and sets a volume that is heard and told; so does the program"
        )
        func volume() async throws {
            let desktop = try Desktop()
            let renderer = try Self.tone()
            let output = PipeWireOutput(
                renderer, name: "Tone", title: "A song", icon: "multimedia-player", role: .production)
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let dump = try desktop.run("pw-dump")
            for words in [
                "\"application.name\": \"Tone\"", "\"media.name\": \"A song\"",
                "\"application.icon-name\": \"multimedia-player\"",
                "\"media.role\": \"Production\"", "\"media.class\": \"Stream/Output/Audio\"",
            ] { #expect(dump.contains(words), "\(words)") }
            #expect(output.volume == 1)
            #expect(abs(try await Self.level(desktop, "nowhere:monitor_FL") - 0.5) < 1e-4)
            let number = try #require(try desktop.number(of: "Tone"))
            try desktop.run("wpctl", "set-volume", "\(number)", "0.5")
            #expect(await becomesTrue { abs(output.volume - 0.125) < 1e-4 })
            #expect(abs(try await Self.level(desktop, "nowhere:monitor_FL") - 0.0625) < 1e-4)
            #expect(
                await becomesTrue {
                    events.all.contains {
                        if case .volumeChanged(let volume, false) = $0 { abs(volume - 0.125) < 1e-4 } else { false }
                    }
                })
            try desktop.run("wpctl", "set-mute", "\(number)", "1")
            #expect(await becomesTrue { output.isMuted })
            #expect(try await Self.level(desktop, "nowhere:monitor_FL") == 0)
            output.isMuted = false
            output.volume = 0.25
            #expect(
                try await becomesTrue { try desktop.run("wpctl", "get-volume", "\(number)").contains("Volume: 0.63") })
            #expect(abs(try await Self.level(desktop, "nowhere:monitor_FL") - 0.125) < 1e-4)
            output.volume = -1
            #expect(await becomesTrue { output.volume == 0 })
            output.volume = .nan
            #expect(output.volume == 0)
            output.title = "Another song"
            #expect(try await becomesTrue { try desktop.run("pw-dump").contains("\"media.name\": \"Another song\"") })
        }

        @Test("An output follows the default device, says so, and stays at a device that it was given")
        func devices() async throws {
            let desktop = try Desktop()
            #expect(try PipeWireDevice.all().filter(\.isSink).map(\.name) == ["nowhere", "other"])
            #expect(try PipeWireDevice.all().first { $0.name == "other" }?.description == "The other")
            let follower = PipeWireOutput(try Self.tone(), name: "follower")
            let stayer = PipeWireOutput(try Self.tone(), name: "stayer", target: .device("nowhere"))
            let alone = PipeWireOutput(try Self.tone(), name: "alone", target: .none)
            let events = Events(follower)
            for output in [follower, stayer, alone] { try output.start() }
            defer { for output in [follower, stayer, alone] { output.stop() } }
            #expect(
                try await becomesTrue {
                    try follower.deviceNames() == ["nowhere"] && stayer.deviceNames() == ["nowhere"]
                })
            let number = try #require(try desktop.number(of: "other"))
            try desktop.run("wpctl", "set-default", "\(number)")
            #expect(try await becomesTrue { try follower.deviceNames() == ["other"] })
            #expect(await becomesTrue { events.all.contains(.moved(to: "other")) })
            #expect(try stayer.deviceNames() == ["nowhere"])
            #expect(try alone.deviceNames() == [])
            let frames = follower.statistics.cycles
            #expect(await becomesTrue { follower.statistics.cycles > frames + 10 })
            #expect(throws: PipeWireError.noTarget("trumpet", known: ["nowhere", "other"])) {
                try PipeWireOutput(Self.tone(), target: .device("trumpet")).start()
            }
        }

        @Test("A rate that the program wants is converted, which a notice says; else the renderer follows the graph's")
        func rates() async throws {
            let desktop = try Desktop()
            let (follower, fixed) = (try Self.tone(), try Self.tone())
            let following = PipeWireOutput(follower, name: "following")
            let events = Events(following)
            try following.start()
            defer { following.stop() }
            #expect(await becomesTrue { following.statistics.cycles > 10 })
            try desktop.set("clock.force-rate", 44_100)
            #expect(await becomesTrue { events.all.contains(.sampleRateChanged(44_100)) })
            #expect(follower.sampleRate == 44_100)
            try desktop.set("clock.force-rate", 48_000)
            #expect(await becomesTrue { events.all.contains(.sampleRateChanged(48_000)) })
            following.stop()
            let converted = PipeWireOutput(fixed, name: "fixed", sampleRate: 22_050)
            let told = Events(converted)
            try converted.start()
            defer { converted.stop() }
            #expect(await becomesTrue { told.all.contains { "\($0)".contains("PipeWire converts") } })
            #expect(fixed.sampleRate == 22_050)
            #expect(abs(try await Self.level(desktop, "nowhere:monitor_FL") - 0.5) < 0.01)
        }

        /// A tone of 0.5.
        static func tone() throws -> Renderer {
            let tone = Oscillator(frequency: 1_000, level: 0.5)
            return try Renderer { context in
                context.run(tone)
                context.output()
            }
        }

        /// The largest sample in a third of a second, once the level has settled.
        @Test("A graph at no rate for sound is not followed, which a notice says; the program goes on")
        func nonsense() async throws {
            let desktop = try Desktop()
            let renderer = try Self.tone()
            let output = PipeWireOutput(renderer, name: "stays")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            try desktop.set("clock.force-rate", 7)
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("PipeWire runs at 7 Hz") } })
            let played = renderer.sampleTime
            #expect(await becomesTrue { renderer.sampleTime > played + 48_000 })
            try desktop.set("clock.force-rate", 0)
            #expect(await becomesTrue(60) { (try? output.deviceNames()) == ["nowhere"] && output.state == .running })
        }

        static func level(_ desktop: Desktop, _ port: String) async throws -> Double {
            let file = "\(desktop.folder.path)/level"
            try await Task.sleep(for: .milliseconds(300))
            let result = try desktop.peer("peer", "record", port, file, "0.5").wait()
            guard result.status == 0 else { throw Program.Failure(what: result.text) }
            let samples = try PlayingTests.floats(of: file)
            return Double(samples.suffix(16_000).map(abs).max() ?? 0)
        }
    }
}
