import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// Daemons, managers and devices that go and come.
    @Suite struct LossTests {
        @Test("The daemon is killed three times: the program plays on by the clock, and joins again, once each time")
        func daemon() async throws {
            let desktop = try Desktop()
            let ramp = Ramp(channels: 2)
            let renderer = try Renderer { context in
                context.run(ramp)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "survivor")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            for round in 1...3 {
                #expect(await becomesTrue { output.state == .running && (try? output.deviceNames()) == ["nowhere"] })
                desktop.endManager()
                desktop.endDaemon()
                #expect(await becomesTrue { output.state == .waiting })
                let frames = ramp.frames.load(ordering: .relaxed)
                #expect(await becomesTrue { ramp.frames.load(ordering: .relaxed) > frames + 24_000 })
                try desktop.startDaemon()
                try desktop.startManager()
                #expect(await becomesTrue { output.state == .running })
                #expect(await becomesTrue { (try? output.deviceNames()) == ["nowhere"] })
                #expect(events.count { if case .lost = $0 { true } else { false } } == round)
                #expect(events.count { $0 == .regained } == round)
            }
            let counts = try #require(output.frameCounts)
            #expect(counts.byClock > 3 * 24_000)
            #expect(counts.played + counts.byClock >= ramp.frames.load(ordering: .relaxed) - 8_192)
            #expect(renderer.faultCount == 0)
        }

        @Test("News that were told before a loss of the daemon are not told again after it")
        func once() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "once", sampleRate: 22_050)
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            let isConversion = { (event: OutputEvent) in "\(event)".contains("PipeWire converts") }
            #expect(await becomesTrue { events.count(isConversion) == 1 })
            desktop.endManager()
            desktop.endDaemon()
            #expect(await becomesTrue { output.state == .waiting })
            try desktop.startDaemon()
            try desktop.startManager()
            #expect(await becomesTrue { (try? output.deviceNames()) == ["nowhere"] })
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 100 })
            #expect(events.count(isConversion) == 1)
        }

        @Test("An output that is not to wait stops when the daemon ends, and says so")
        func without() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), rejoins: false)
            let events = Events(output)
            try output.start()
            desktop.endDaemon()
            #expect(await becomesTrue { output.state == .stopped })
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("Start the output again") } })
            #expect(throws: PipeWireError.self) { try output.start() }
            try desktop.startDaemon()
            try output.start()
            output.stop()
        }

        @Test(
            "Without a manager the output waits and says what to do; with one it is heard, and so it is with the next")
        func manager() async throws {
            let desktop = try Desktop(hasManager: false)
            let output = PipeWireOutput(try DesktopTests.tone(), name: "orphan")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(
                await becomesTrue { events.all.contains { "\($0)".contains("systemctl --user start wireplumber") } })
            #expect(await becomesTrue { output.statistics.cycles > 20 })
            try desktop.startManager()
            #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] })
            desktop.endManager()
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 100 })
            // The links are the manager's, and so are the devices of a desktop: they go with it.
            for sink in ["nowhere", "other"] {
                try desktop.run("pw-cli", "destroy", "\(try #require(try desktop.number(of: sink)))")
            }
            try desktop.startManager()
            let maker = try desktop.makeSink("third")
            defer { maker.signal(SIGKILL) }
            #expect(try await becomesTrue { try output.deviceNames() == ["third"] }, "\(events.all)")
            #expect(events.count { if case .lost = $0 { true } else { false } } == 0)
        }

        @Test(
            "A sink that is removed: the output moves to the other; without any it plays by the clock, and comes back")
        func sinks() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "moved")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] && output.statistics.cycles > 100 })
            try desktop.run("pw-cli", "destroy", "\(try #require(try desktop.number(of: "nowhere")))")
            #expect(try await becomesTrue { try output.deviceNames() == ["other"] })
            #expect(
                await becomesTrue {
                    events.all.contains(.deviceGone("nowhere")) && events.all.contains(.moved(to: "other"))
                })
            try desktop.run("pw-cli", "destroy", "\(try #require(try desktop.number(of: "other")))")
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("PipeWire has no sink") } })
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 20 })
            let maker = try desktop.makeSink("third")
            defer { maker.signal(SIGKILL) }
            #expect(try await becomesTrue { try output.deviceNames() == ["third"] })
            #expect(await becomesTrue { events.all.contains(.deviceCame("third")) })
        }

        @Test("A daemon that stands still: the program plays on, and the server's cycles go on where they were")
        func frozen() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "frozen")
            try output.start()
            #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] })
            desktop.endDaemon(SIGSTOP)
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 40 })
            desktop.endDaemon(SIGCONT)
            let played = try #require(output.frameCounts).played
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > played + 4_800 })
            output.stop()
            #expect(output.state == .stopped)
        }

        @Test("A render loop that does not end: stop returns, says where it is, a start says why not, and others play")
        func endless() async throws {
            let desktop = try Desktop()
            let isHeld = Guarded(false)
            let renderer = try Renderer { context in
                while isHeld.withLock({ $0 }) {}
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "endless")
            let events = Events(output)
            try output.start()
            isHeld.withLock { $0 = true }
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("has not ended") } }, "\(events.all)")
            output.stop()
            #expect(output.state == .stopped)
            #expect(throws: PipeWireError.self) { try output.start() }
            let other = PipeWireOutput(try DesktopTests.tone(), name: "other")
            try other.start()
            #expect(await becomesTrue { other.statistics.cycles > 5 })
            other.stop()
            isHeld.withLock { $0 = false }
            #expect(await becomesTrue { (try? output.start()) != nil })
            #expect(await becomesTrue { output.statistics.cycles > 5 })
            output.stop()
            _ = desktop
        }
    }
}
