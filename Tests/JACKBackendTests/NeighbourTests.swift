import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import JACKBackend

// Tests of what other programs must not suffer from us, and of what we must notice of them.
extension JACKTests {
    @Suite struct NeighbourTests {
        private func notices(_ events: Events, _ part: String) -> Int {
            events.count { if case .notice(let sentence) = $0 { sentence.contains(part) } else { false } }
        }

        private static func inBackground(_ body: @escaping @Sendable () -> Void) { _ = Task.detached { body() } }

        /// Flags that a closure and a test share.
        private final class Flags: Sendable {
            let isCaught = Atomic<Bool>(false)
            let isReleased = Atomic<Bool>(false)
            let hasStopped = Atomic<Bool>(false)
        }

        @Test("A closure that does not end: one sentence says so, stopping returns, and a new start says why not")
        func endless() async throws {
            let server = try DummyServer(period: 128)
            let flags = Flags()
            let renderer = try Renderer { context in
                guard !context.isDryRun, flags.isCaught.load(ordering: .relaxed) else { return }
                while !flags.isReleased.load(ordering: .relaxed) { usleep(1_000) }
            }
            defer { flags.isReleased.store(true, ordering: .relaxed) }
            let output = JACKOutput(renderer, name: "endless", server: server.name, connect: .none)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            flags.isCaught.store(true, ordering: .relaxed)
            #expect(await becomesTrue { notices(events, "has not ended") == 1 })
            let interruptions = { events.count { if case .xruns = $0 { true } else { false } } }
            let before = interruptions()
            // Some tens of looks, in which the server complains at each cycle.
            usleep(1_500_000)
            #expect(interruptions() == before)
            Self.inBackground {
                output.stop()
                flags.hasStopped.store(true, ordering: .relaxed)
            }
            #expect(await becomesTrue { flags.hasStopped.load(ordering: .relaxed) })
            #expect(!flags.isReleased.load(ordering: .relaxed) && output.state == .stopped)
            #expect(notices(events, "has not ended") == 1)
            #expect(throws: JACKError.closureNotEnded) { try output.start() }
            // The server does without us, and others are free.
            #expect(try !server.run("jack_lsp", "-c").contains("endless:out_1\n   "))
            flags.isCaught.store(false, ordering: .relaxed)
            flags.isReleased.store(true, ordering: .relaxed)
            #expect(await becomesTrue { (try? output.start()) != nil })
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 10 })
            output.stop()
        }

        @Test("An output of many channels leaves the server unchanged, again and again")
        func manyPorts() async throws {
            let server = try DummyServer(period: 256)
            let renderer = try Renderer(
                channels: 48, layout: StackLayout(slots: 2, channels: 48, frames: 256)
            ) { _ in }
            let output = JACKOutput(renderer, name: "many", server: server.name, connect: .none)
            for _ in 0..<3 {
                try output.start()
                #expect(await becomesTrue { output.statistics.cycles > 3 })
                output.stop()
            }
            #expect(try !server.run("jack_lsp").contains("many"))
        }

        @Test("The output reports a server that comes back with another rate and other cycles, and renders both")
        func otherRate() async throws {
            let server = try DummyServer(period: 256, rate: 48_000)
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "rates", server: server.name)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            server.end(SIGKILL)
            #expect(await becomesTrue { output.state == .waiting })
            server.change(period: 512, rate: 96_000)
            try server.start()
            #expect(await becomesTrue { output.state == .running })
            #expect(
                await becomesTrue {
                    events.all.contains(.sampleRateChanged(96_000))
                        && events.all.contains(.bufferSizeChanged(frames: 512))
                })
            #expect(renderer.sampleRate == 96_000)
            #expect(try output.bufferSize() == 512)
            // Three periods of the driver are heard later, and these are longer now.
            #expect(
                await becomesTrue {
                    events.all.contains { if case .latencyChanged = $0 { true } else { false } }
                })
            output.stop()
        }

        @Test("A device that goes and comes back while the server lives is connected again, but not where that was cut")
        func device() async throws {
            let server = try DummyServer(period: 256, channels: 0)
            let source = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Peers/device.c"
            let path = "/tmp/rs-device-\(getpid())"
            let compiled = try Program("gcc", ["-O1", "-o", path, source, "-ljack"]).wait()
            try #require(compiled.status == 0, "\(compiled.text)")
            defer { unlink(path) }
            let box = try server.begin(path, [])
            defer {
                box.signal(SIGKILL)
                box.wait()
            }
            func links() throws -> String { try server.run("jack_lsp", "-c", "tied:") }
            func becomesThere(_ isThere: Bool) async throws {
                #expect(try await becomesTrue { try server.run("jack_lsp").contains("box:in_2") == isThere })
            }
            try await becomesThere(true)
            let output = JACKOutput(Renderer(), name: "tied", server: server.name)
            let events = Events(output)
            try output.start()
            let both = "tied:out_1\n   box:in_1\ntied:out_2\n   box:in_2"
            #expect(try await becomesTrue { try links().contains(both) })
            #expect(await JACKTests.linksAreSeen(by: output))
            box.signal(SIGUSR1)
            try await becomesThere(false)
            #expect(await becomesTrue { notices(events, "connected to nothing") == 1 })
            #expect(events.count { $0 == .deviceGone("box") } == 1)
            box.signal(SIGUSR1)
            #expect(try await becomesTrue { try links().contains(both) })
            #expect(await becomesTrue { events.count { $0 == .deviceCame("box") } == 1 })
            #expect(await JACKTests.linksAreSeen(by: output))
            try server.run("jack_disconnect", "tied:out_1", "box:in_1")
            #expect(try await becomesTrue { try !links().contains(both) })
            #expect(await JACKTests.linksAreSeen(by: output))
            box.signal(SIGUSR1)
            try await becomesThere(false)
            box.signal(SIGUSR1)
            #expect(try await becomesTrue { try links().contains("tied:out_2\n   box:in_2") })
            #expect(await JACKTests.linksAreSeen(by: output))
            #expect(try !links().contains("box:in_1"))
            // Once for each time that it was away, and the second time only if it came back late.
            #expect((1...2).contains(notices(events, "connected to nothing")))
            output.stop()
        }

        @Test("Running ends when the output has stopped by itself, with the reason")
        func runs() async throws {
            let server = try DummyServer()
            let output = JACKOutput(Renderer(), name: "runs", server: server.name, connect: .none, rejoins: false)
            let run = Task { try await output.run() }
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            server.end(SIGTERM)
            let result = await run.result
            #expect(throws: OutputError.self) { try result.get() }
            try server.start()
            #expect(await becomesTrue { (try? output.start()) != nil })
            let other = Task { try await output.run() }
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            usleep(300_000)
            output.stop()
            #expect(try await other.value == false)
        }

        @Test("The output counts the events that a cycle has no room for, and reports them")
        func lostEvents() async throws {
            let server = try DummyServer(period: 256)
            let synth = MIDIOutput(name: "synth")
            let isFlooding = Atomic<Bool>(false)
            let renderer = try Renderer { context in
                guard !context.isDryRun, isFlooding.exchange(false, ordering: .relaxed) else { return }
                for _ in 0..<3_000 { context.send(.clock, to: synth) }
            }
            let output = JACKOutput(
                renderer, name: "flood", server: server.name, midiOutputs: [synth], connect: .none)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            #expect(notices(events, "MIDI") == 0)
            isFlooding.store(true, ordering: .relaxed)
            #expect(await becomesTrue { notices(events, "MIDI messages that were sent were lost") == 1 })
            output.stop()
        }

        @Test("A program's own handlers for JACK's messages are its own again when no output is left")
        func handlers() async throws {
            let before = JACKTests.handler("jack_error_callback")
            let server = try DummyServer()
            let output = JACKOutput(Renderer(), name: "quiet", server: server.name, connect: .none)
            try output.start()
            #expect(JACKTests.handler("jack_error_callback") != before)
            output.stop()
            #expect(await becomesTrue { JACKTests.handler("jack_error_callback") == before })
        }
    }

    /// The address of one of libjack's handlers.
    static func handler(_ name: String) -> UInt {
        guard let place = dlsym(nil, name) else { return 0 }
        return place.load(as: UInt.self)
    }
}
