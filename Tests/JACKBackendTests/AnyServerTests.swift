import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

extension JACKTests {
    /// Tests that hold on every server of JACK's kind. `scripts/checks/pipewire` runs these same tests with PipeWire's
    /// libjack: with `RENDERSTACK_TEST_SERVER=given` they use the server that is there.
    @Suite struct AnyServerTests {
        /// A jackd of our own, unless a server is given.
        private let server: DummyServer?
        private var name: String? { server?.name }

        init() throws {
            let isGiven = getenv("RENDERSTACK_TEST_SERVER").map { String(cString: $0) } == "given"
            server = isGiven ? nil : try DummyServer(period: 256)
        }

        @Test("Ports have their names, and a client whose name is taken gets another, which an event says")
        func names() async throws {
            let voice = AudioInput(channels: 1, name: "voice")
            let renderer = try Renderer { context in
                context.run(voice)
                context.output()
            }
            let (keys, notes) = (MIDIInput(), MIDIOutput())
            func make() -> JACKOutput {
                JACKOutput(
                    renderer, name: "any", server: name, inputs: [voice], midiInputs: [keys], midiOutputs: [notes],
                    connect: .none)
            }
            let (first, second) = (make(), JACKOutput(Renderer(), name: "any", server: name, connect: .none))
            let events = Events(second)
            // On a busy machine the server may take longer than the library waits.
            #expect(await becomesTrue { JACKOutput.isServerRunning(named: name) })
            try first.start()
            #expect(first.state == .running)
            #expect(
                try first.portNames() == [
                    "any:out_1", "any:out_2", "any:in_1", "any:midi_out_1", "any:midi_in_1",
                ])
            try second.start()
            let other = try second.clientName()
            #expect(other != "any" && other.hasPrefix("any"))
            #expect(await becomesTrue { events.all.contains(.renamed(other)) })
            second.stop()
            first.stop()
            #expect(first.state == .stopped)
            #expect(throws: JACKError.notRunning) { try first.clientName() }
        }

        @Test("Cycles of the server's length come, one after the other, and their frames stay with the host's time")
        func cycles() async throws {
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "cycles", server: name)
            for _ in 0..<2 {
                let before = renderer.sampleTime
                try output.start()
                #expect(renderer.sampleRate == 48_000)
                #expect(await becomesTrue { output.statistics.cycles >= 20 })
                #expect(
                    try await becomesTrue {
                        let now = HostClock.now
                        guard let frame = try output.frame(atHostTime: now),
                            let time = try output.hostTime(atFrame: frame)
                        else { return false }
                        return abs(time - now) < 12_000
                    })
                let frames = try output.bufferSize()
                output.stop()
                #expect(renderer.sampleTime - before == Int64(output.statistics.cycles * frames))
            }
            #expect(renderer.faultCount == 0)
        }

        @Test("One client gets the sound and the notes that another sends")
        func connected() async throws {
            let (counter, voice) = (FrameCounter(), AudioInput(channels: 1))
            let (out, keys) = (MIDIOutput(), MIDIInput())
            let sender = JACKOutput(
                try Renderer(channels: 1) { context in
                    context.run(counter)
                    context.output()
                    context.send(.noteOn(channel: 3, note: 69, velocity: 99), at: 0, to: out)
                }, name: "from", server: name, midiOutputs: [out], connect: .none)
            let heard = Heard()
            let receiver = JACKOutput(
                try Renderer(channels: 1) { context in
                    context.forEachEvent(from: keys) { event, _ in
                        if event.message == .noteOn(channel: 3, note: 69, velocity: 99) {
                            heard.notes.wrappingAdd(1, ordering: .relaxed)
                        }
                    }
                    context.run(voice)
                    heard.look(context.samples(0)[0], context.samples(0)[context.frameCount - 1], context.frameCount)
                    context.output()
                }, name: "to", server: name, midiInputs: [keys], connect: .ports(inputs: ["from:out_1"]))
            try sender.start()
            try receiver.start()
            #expect(await becomesTrue { voice.isConnected })
            #expect(await becomesTrue { heard.runs.load(ordering: .relaxed) > 50 })
            // Another program connects the ports.
            let tool = try Program(
                "jack_connect", ["from:midi_out_1", "to:midi_in_1"], environment: server?.environment ?? [:])
            #expect(tool.wait().status == 0)
            #expect(await becomesTrue { heard.notes.load(ordering: .relaxed) > 50 })
            receiver.stop()
            sender.stop()
        }

        final class Heard: Sendable {
            let notes = Atomic<Int>(0)
            /// Slices of which the first and the last sample are as far apart as they should be.
            let runs = Atomic<Int>(0)
            func look(_ first: Float, _ last: Float, _ frames: Int) {
                if last - first == Float(frames - 1) * 0x1p-17 { runs.wrappingAdd(1, ordering: .relaxed) }
            }
        }

        @Test("The transport is located, started and stopped, and the closure sees it")
        func transport() async throws {
            let rolled = Atomic<Int64>(0)
            let output = JACKOutput(
                try Renderer { context in
                    if context.transport.isRolling { rolled.store(context.transport.frame, ordering: .relaxed) }
                }, name: "rolls", server: name, connect: .none)
            try output.start()
            try output.locateTransport(480_000)
            #expect(try await becomesTrue { try output.transport().frame == 480_000 })
            try output.startTransport()
            #expect(await becomesTrue { rolled.load(ordering: .relaxed) > 490_000 })
            try output.stopTransport()
            #expect(try await becomesTrue { try !output.transport().isRolling })
            try output.locateTransport(0)
            output.stop()
        }

        @Test(
            "A bounce through freewheel is what rendering offline gives, bit for bit; without one it goes on by the clock"
        )
        func bounce() async throws {
            func program() throws -> (renderer: Renderer, tap: RingTap) {
                let (tone, late, tap) = (Oscillator(frequency: 220), Late(1000), RingTap(seconds: 2, channels: 1))
                let renderer = try Renderer(channels: 1) { context in
                    context.run(tone)
                    context.run(late)
                    if context.isOffline || context.isDryRun { context.run(tap) }
                    context.output()
                }
                return (renderer, tap)
            }
            let (renderer, tap) = try program()
            let output = JACKOutput(renderer, name: "bounces", server: name)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            try output.setFreewheel(true)
            #expect(
                await becomesTrue { tap.ring.availableFrames > 48_000 || events.all.contains(.regained) })
            if server != nil { #expect(!events.all.contains(.regained)) }
            if events.all.contains(.regained) {
                // PipeWire 0.3 may take a program that is to freewheel from its clock and give it no other. The output
                // misses its cycles, and comes back by the clock.
                let cycles = output.statistics.cycles
                #expect(await becomesTrue { output.statistics.cycles > cycles + 10 })
                return output.stop()
            }
            try output.setFreewheel(false)
            #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
            output.stop()
            let bounced = tap.takeAll()
            #expect(bounced.first == 0)
            try #require(bounced.channels[0].count > 48_000)
            let expected = try program().renderer.renderOffline(frames: bounced.channels[0].count).array(0)
            #expect(bounced.channels[0] == expected)
        }
    }
}
