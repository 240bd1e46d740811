import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// Messages in and out.
    @Suite struct MIDITests {
        @Test("Notes come in and go out on their frames, through a peer's ports")
        func messages() async throws {
            let desktop = try Desktop()
            let (keys, synth) = (MIDIInput(name: "keys"), MIDIOutput(name: "synth"))
            let heard = Guarded<[MIDIEvent]>([])
            let renderer = try Renderer { context in
                context.forEachEvent(from: keys) { event, context in
                    heard.withLock { $0.append(event) }
                    context.send(event.message, at: event.frame, to: synth)
                }
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "notes", midiInputs: [keys], midiOutputs: [synth])
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let said = try desktop.peer("peer", "midi", "notes-midi:midi_out_1", "notes-midi:midi_in_1", "3").wait()
            #expect(said.status == 0, "\(said.text)")
            let lines = said.text.split(separator: "\n").filter { $0.hasPrefix("17:") }
            #expect(lines.contains("17: 90 3c 64") && lines.contains("17: 80 3c 64"), "\(said.text)")
            #expect(lines.count >= 10, "\(said.text)")
            let events = heard.withLock { $0 }
            // A slice begins with each event, so the frames show where they went out.
            #expect(events.count >= lines.count)
        }

        /// Plays what another output of this program sends it: "seq" to "synth".
        private struct Cable {
            let heard = Guarded<[MIDIMessage]>([])
            let toSend = Guarded<[MIDIMessage]>([])
            let synth: PipeWireOutput
            let sender: PipeWireOutput

            init(_ desktop: Desktop) async throws {
                let (keys, out) = (MIDIInput(name: "keys"), MIDIOutput(name: "notes"))
                let (heard, toSend) = (heard, toSend)
                synth = PipeWireOutput(
                    try Renderer { context in
                        context.forEachEvent(from: keys) { event, _ in heard.withLock { $0.append(event.message) } }
                    }, name: "synth", midiInputs: [keys])
                sender = PipeWireOutput(
                    try Renderer { context in
                        let messages = toSend.withLock { list in
                            defer { list = [] }
                            return list
                        }
                        for message in messages { context.send(message, to: out) }
                    }, name: "seq", midiOutputs: [out])
                try synth.start()
                try sender.start()
                #expect(
                    await becomesTrue {
                        (try? desktop.run("pw-link", "seq-midi:midi_out_1", "synth-midi:midi_in_1")) != nil
                    })
                // A new link carries nothing in its first cycles.
                #expect(
                    await becomesTrue {
                        toSend.withLock { $0 = [.activeSensing] }
                        return heard.withLock { !$0.isEmpty }
                    })
                #expect(await becomesTrue { toSend.withLock { $0.isEmpty } })
                try await Task.sleep(for: .milliseconds(100))
                heard.withLock { $0 = [] }
            }

            /// Sends messages, and waits until as many have come.
            func send(_ messages: [MIDIMessage]) async -> [MIDIMessage] {
                toSend.withLock { $0 = messages }
                return await take(messages.count)
            }

            func take(_ count: Int) async -> [MIDIMessage] {
                _ = await becomesTrue { heard.withLock { $0.count } >= count }
                return heard.withLock { list in
                    defer { list = [] }
                    return list
                }
            }
        }

        @Test("Notes and pedals end when their source stops, and when its cable is pulled", arguments: [true, false])
        func vanishing(bySource: Bool) async throws {
            let desktop = try Desktop()
            let cable = try await Cable(desktop)
            let start: [MIDIMessage] = [
                .noteOn(channel: 0, note: 60, velocity: 100), .noteOn(channel: 5, note: 61, velocity: 100),
                .noteOff(channel: 5, note: 61, velocity: 1), .controller(channel: 5, number: 64, value: 127),
            ]
            #expect(await cable.send(start) == start)
            if bySource {
                cable.sender.stop()
            } else {
                try desktop.run("pw-link", "-d", "seq-midi:midi_out_1", "synth-midi:midi_in_1")
            }
            #expect(
                await cable.take(2) == [
                    .noteOff(channel: 0, note: 60, velocity: 64), .controller(channel: 5, number: 64, value: 0),
                ])
            cable.sender.stop()
            cable.synth.stop()
        }

        @Test("Messages of every kind come through, system exclusive ones in their parts")
        func kinds() async throws {
            let desktop = try Desktop()
            let cable = try await Cable(desktop)
            var all: [MIDIMessage] = [
                .noteOn(channel: 15, note: 127, velocity: 1), .keyPressure(channel: 1, note: 2, pressure: 3),
                .controller(channel: 0, number: 1, value: 127), .program(channel: 9, number: 5),
                .pressure(channel: 3, pressure: 64), .bend(channel: 2, value: 8_191), .clock, .start, .stop,
                .continue, .activeSensing, .timeCode(0x31), .songPosition(16_383), .songSelect(3), .tuneRequest,
            ]
            var heard = await cable.send(all)
            #expect(heard == all, "\(heard)")
            // 300 bytes: longer than a packet, and than what a message holds.
            let bytes: [UInt8] = [0xF0] + (0..<298).map { UInt8($0 % 128) } + [0xF7]
            all = stride(from: 0, to: bytes.count, by: 16).map { start in
                var chunk = SIMD16<UInt8>()
                let part = bytes[start..<min(start + 16, bytes.count)]
                for (place, byte) in part.enumerated() { chunk[place] = byte }
                return .systemExclusive(
                    MIDIChunk(
                        bytes: chunk, count: part.count, isFirst: start == 0, isLast: part.endIndex == bytes.count))
            }
            heard = await cable.send(all)
            #expect(heard == all, "\(heard)")
            cable.sender.stop()
            cable.synth.stop()
        }

        @Test("More than a link carries in a cycle is told, and the next cycle is whole again")
        func flood() async throws {
            let desktop = try Desktop()
            let cable = try await Cable(desktop)
            let events = Events(cable.sender)
            let many = (0..<1_000).map { MIDIMessage.controller(channel: 0, number: 7, value: UInt8($0 % 128)) }
            cable.toSend.withLock { $0 = many }
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("MIDI") } }, "\(events.all)")
            _ = await cable.take(1)
            let note = MIDIMessage.noteOn(channel: 0, note: 60, velocity: 100)
            #expect(await cable.send([note]).last == note)
            cable.sender.stop()
            cable.synth.stop()
        }
    }
}
