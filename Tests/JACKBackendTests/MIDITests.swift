import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

extension JACKTests {
    /// A client of an independent library, Debian's python3-jack-client: it sends and hears, and says what as lines of text.
    static func peer(_ server: DummyServer, _ arguments: String...) throws -> Program {
        let here = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        try #require(
            access("/usr/lib/python3/dist-packages/jack.py", R_OK) == 0,
            "Please install python3-jack-client; scripts/test does so.")
        return try Program(
            "/usr/bin/python3", ["\(here)/Peers/peer.py"] + arguments, environment: server.environment)
    }

    /// Counts events by their kind, and keeps when they came.
    @Suite struct MIDITests {
        @Test("Messages become bytes and the same messages again")
        func bytes() {
            let messages: [MIDIMessage] = [
                .noteOn(channel: 3, note: 60, velocity: 1), .noteOff(channel: 15, note: 127, velocity: 64),
                .keyPressure(channel: 0, note: 1, pressure: 2), .controller(channel: 1, number: 7, value: 127),
                .program(channel: 2, number: 5), .pressure(channel: 9, pressure: 100), .bend(channel: 4, value: -8192),
                .bend(channel: 4, value: 0), .bend(channel: 4, value: 8191), .timeCode(0x71), .songPosition(16_383),
                .songSelect(3), .tuneRequest, .clock, .start, .continue, .stop, .activeSensing, .reset,
            ]
            for message in messages {
                let bytes = message.bytes
                #expect(MIDIMessage(status: bytes.status, bytes.first, bytes.second) == message)
            }
            #expect(MIDIMessage(status: 0x90, 60, 0) == .noteOff(channel: 0, note: 60, velocity: 64))
            #expect(MIDIMessage(status: 0xE0, 0, 0x40) == .bend(channel: 0, value: 0))
            #expect(MIDIMessage(status: 0xF4) == nil)
            #expect(MIDIMessage(status: 0x12) == nil)
        }

        @Test("An event sent in freewheel arrives at its frame, and cuts the cycle there")
        func frames() async throws {
            let server = try DummyServer(period: 1024)
            let out = MIDIOutput(name: "notes")
            let keys = MIDIInput(name: "keys")
            let sender = JACKOutput(
                try Renderer { context in
                    // One note per 1000 frames of the sample clock, wherever that falls in the cycle.
                    let first = (1000 - context.sampleTime % 1000) % 1000
                    for frame in stride(from: first, to: Int64(context.frameCount), by: 1000) {
                        let number = (context.sampleTime + frame) / 1000
                        context.send(
                            .noteOn(channel: 0, note: UInt8(number % 128), velocity: 100), at: Int(frame), to: out)
                    }
                }, name: "seq", server: server.name, midiOutputs: [out], connect: .none)
            let heard = MessagePort<Heard>(capacity: 65_536)
            let port = Port(heard)
            let renderer = try Renderer { context in
                context.forEachEvent(from: keys) { event, context in
                    if context.isOffline {
                        port.port.send(
                            Heard(frame: context.sampleTime + Int64(event.frame), offset: event.frame, event.message))
                    }
                }
            }
            let receiver = JACKOutput(
                renderer, name: "synth", server: server.name, midiInputs: [keys], connect: .none)
            try sender.start()
            try receiver.start()
            let events = Events(receiver)
            try await server.connect("seq:midi_out_1", to: "synth:midi_in_1")
            try sender.setFreewheel(true)
            #expect(await becomesTrue { renderer.sampleTime > 500_000 })
            try sender.setFreewheel(false)
            #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
            receiver.stop()
            sender.stop()
            var all: [Heard] = []
            port.port.drain { all.append($0) }
            // A client that was late for the last cycle by the clock may take it for the first one without: its events
            // are not the others' first, and the rest is a cycle off.
            all.removeAll { $0.frame < 2048 }
            try #require(all.count > 400)
            let shift = all[0].frame - (all[0].frame + 500) / 1000 * 1000
            #expect([-24, 0, 24].contains(shift))
            for (index, event) in all.prefix(400).enumerated() {
                #expect(event.frame == all[0].frame + Int64(index) * 1000)
                #expect(event.offset == 0)
                let number = UInt8(((event.frame + 500) / 1000 - shift / 24) % 128)
                #expect(event.message == .noteOn(channel: 0, note: number, velocity: 100))
            }
        }

        struct Heard: BitwiseCopyable, Sendable {
            let frame: Int64
            let offset: Int
            let message: MIDIMessage
            init(frame: Int64, offset: Int, _ message: MIDIMessage) {
                self.frame = frame
                self.offset = offset
                self.message = message
            }
        }

        /// A port that a closure can capture.
        final class Port: Sendable {
            let port: MessagePort<Heard>
            init(_ port: consuming MessagePort<Heard>) { self.port = port }
        }

        final class Due: Sendable { let value = Atomic(false) }

        @Test("Notes and pedals end when their source goes, when its cable is pulled, and when the server went with it")
        func vanishing() async throws {
            let server = try DummyServer(period: 256)
            let keys = MIDIInput(name: "keys")
            let heard = MessagePort<Heard>(capacity: 65_536)
            let port = Port(heard)
            let synth = JACKOutput(
                try Renderer { context in
                    context.forEachEvent(from: keys) { event, context in
                        port.port.send(
                            Heard(frame: context.sampleTime + Int64(event.frame), offset: event.frame, event.message))
                    }
                }, name: "synth", server: server.name, midiInputs: [keys], connect: .none)
            let events = Events(synth)
            try synth.start()
            var all: [MIDIMessage] = []
            /// Waits for messages, by whichever way they come.
            func hears(_ messages: [MIDIMessage]) async -> Bool {
                await becomesTrue {
                    port.port.drain { all.append($0.message) }
                    return all.count >= messages.count
                } && all == messages
            }
            let start: [MIDIMessage] = [
                .noteOn(channel: 0, note: 60, velocity: 100), .noteOn(channel: 5, note: 61, velocity: 100),
                .noteOff(channel: 5, note: 61, velocity: 1), .controller(channel: 5, number: 64, value: 127),
            ]
            let end: [MIDIMessage] = [
                .noteOff(channel: 0, note: 60, velocity: 64), .controller(channel: 5, number: 64, value: 0),
            ]
            enum Way: CaseIterable { case source, cable, server }
            for way in Way.allCases {
                let out = MIDIOutput(name: "notes")
                let isDue = Due()
                let sender = JACKOutput(
                    try Renderer { context in
                        guard isDue.value.exchange(false, ordering: .relaxed) else { return }
                        for message in start { context.send(message, to: out) }
                    }, name: "seq", server: server.name, midiOutputs: [out], connect: .none)
                try sender.start()
                try await server.connect("seq:midi_out_1", to: "synth:midi_in_1")
                isDue.value.store(true, ordering: .relaxed)
                #expect(await hears(start), "\(way): \(all)")
                all = []
                switch way {
                case .source: sender.stop()
                case .cable: _ = try server.run("jack_disconnect", "seq:midi_out_1", "synth:midi_in_1")
                case .server:
                    server.end(SIGKILL)
                    #expect(await becomesTrue { events.all.contains { if case .lost = $0 { true } else { false } } })
                    try server.start()
                }
                #expect(await hears(end), "\(way): \(all)")
                all = []
                sender.stop()
            }
            synth.stop()
        }

        @Test("System exclusive messages, short and long, come through in parts and leave in one piece")
        func exclusive() async throws {
            let server = try DummyServer(period: 256)
            let (keys, out) = (MIDIInput(), MIDIOutput())
            let renderer = try Renderer { context in
                context.forEachEvent(from: keys) { event, context in
                    context.send(event.message, at: event.frame, to: out)
                }
            }
            let output = JACKOutput(
                renderer, name: "thru", server: server.name, midiInputs: [keys], midiOutputs: [out], connect: .none)
            try output.start()
            let result = try JACKTests.peer(server, "midi-echo", "thru:midi_in_1", "thru:midi_out_1").wait()
            output.stop()
            #expect(result.status == 0, "\(result.text)")
            #expect(result.text.contains("all messages came back"))
        }

        @Test("jack_midiseq plays, and jack_midi_dump sees what we send")
        func tools() async throws {
            let server = try DummyServer(period: 256)
            let (keys, out) = (MIDIInput(), MIDIOutput())
            let tone = Oscillator(level: 0)
            let renderer = try Renderer { context in
                context.forEachEvent(from: keys) { event, context in
                    switch event.message {
                    case .noteOn(_, let note, let velocity):
                        tone.frequency.value = 440 * RenderMath.exp2((Float(note) - 69) / 12)
                        tone.level.value = Float(velocity) / 127
                    case .noteOff: tone.level.value = 0
                    default: break
                    }
                    context.send(event.message, at: event.frame, to: out)
                }
                context.run(tone)
                context.output()
            }
            let output = JACKOutput(
                renderer, name: "osc", server: server.name, midiInputs: [keys], midiOutputs: [out], connect: .none)
            try output.start()
            let sequence = try server.begin("jack_midiseq", ["seq", "24000", "0", "69", "12000"])
            let file = "/tmp/rs-midi-\(getpid())"
            let dump = try server.begin("sh", ["-c", "exec stdbuf -oL jack_midi_dump -a >\(file)"])
            defer {
                for program in [sequence, dump] {
                    program.signal(SIGTERM)
                    program.wait()
                }
                unlink(file)
            }
            #expect(
                try await becomesTrue {
                    let ports = try server.run("jack_lsp")
                    return ports.contains("seq:out") && ports.contains("midi-monitor:input")
                })
            try await server.connect("osc:midi_out_1", to: "midi-monitor:input")
            try await server.connect("seq:out", to: "osc:midi_in_1")
            #expect(await becomesTrue { tone.level.value > 0 })
            #expect(abs(tone.frequency.value - 440) < 0.1)
            #expect(await becomesTrue { tone.level.value == 0 })
            #expect(
                await becomesTrue {
                    let text = JACKTests.contents(of: file)
                    return text.contains("90 45") && text.contains("80 45")
                }, "\(JACKTests.contents(of: file))")
            output.stop()
            #expect(renderer.faultCount == 0)
        }
    }
}
