import CALSA
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct SequencerSourceTests {
        private static func on(_ note: UInt8) -> MIDIMessage { .noteOn(channel: 0, note: note, velocity: 100) }
        private static func off(_ note: UInt8) -> MIDIMessage { .noteOff(channel: 0, note: note, velocity: 64) }
        private static let sustain = MIDIMessage.controller(channel: 0, number: 64, value: 127)

        @Test(
            "MIDI: the notes and pedals of a source that vanishes end on a frame, those of others go on",
            arguments: [
                SND_SEQ_EVENT_PORT_UNSUBSCRIBED.rawValue, SND_SEQ_EVENT_PORT_EXIT.rawValue,
                SND_SEQ_EVENT_CLIENT_EXIT.rawValue,
            ])
        func vanishing(_ kind: UInt32) async throws {
            let keyboard = try Keyboard("card17")
            try keyboard.output.start()
            let (gone, other): ((UInt8, UInt8), (UInt8, UInt8)) = ((24, 0), (28, 1))
            func arrival(
                _ frame: Int, _ message: MIDIMessage?, from source: (UInt8, UInt8), input: Int? = 0, type: UInt32 = 0
            ) -> FakeSequencer.Arrival {
                FakeSequencer.Arrival(
                    hostTime: Keyboard.hostTime(Double(frame) + 0.5), input: input, message: message, type: Int32(type),
                    source: source)
            }
            let isCable = kind == SND_SEQ_EVENT_PORT_UNSUBSCRIBED.rawValue
            let arrivals = [
                arrival(10, Self.on(60), from: gone), arrival(11, Self.on(64), from: gone),
                arrival(12, Self.sustain, from: gone),
                arrival(13, Self.off(64), from: gone), arrival(14, Self.on(67), from: gone),
                arrival(15, Self.on(67), from: other),
                arrival(16, Self.on(72), from: other), arrival(17, Self.on(48), from: gone, input: 1),
                // Both of its cables are pulled, or it ends as a whole.
                arrival(100, nil, from: gone, input: isCable ? 0 : nil, type: kind),
                arrival(200, nil, from: gone, input: isCable ? 1 : nil, type: kind),
                arrival(300, nil, from: gone, input: isCable ? 0 : nil, type: kind),
            ]
            keyboard.sequencer.arrive(arrivals)
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.taken } == arrivals.count })
            #expect(keyboard.play(10))
            let ends = keyboard.take().filter { $0.time >= 100 }
            let atOnce: [MIDIMessage] = [Self.off(60), .controller(channel: 0, number: 64, value: 0)]
            // What another source holds at the same input goes on.
            #expect(ends.filter { $0.message != Self.off(48) }.map(\.message) == atOnce)
            #expect(ends.filter { $0.message != Self.off(48) }.allSatisfy { $0.time == 100 })
            #expect(ends.filter { $0.message == Self.off(48) }.map(\.time) == [isCable ? 200 : 100])
            keyboard.output.stop()
        }

        @Test("MIDI: an event about a port is of the source that it names")
        func departures() throws {
            var event = snd_seq_event_t()
            event.data.addr = snd_seq_addr_t(client: 24, port: 3)
            event.type = UInt8(SND_SEQ_EVENT_PORT_START.rawValue)
            #expect(SequencerSources.departure(in: &event, 0) == nil)
            event.type = UInt8(SND_SEQ_EVENT_NOTEOFF.rawValue)
            #expect(SequencerSources.departure(in: &event, 0) == nil)
            event.type = UInt8(SND_SEQ_EVENT_CLIENT_EXIT.rawValue)
            let client = try #require(SequencerSources.departure(in: &event, nil))
            #expect(client.source == .init(client: 24, port: nil) && client.input == nil)
            event.type = UInt8(SND_SEQ_EVENT_PORT_EXIT.rawValue)
            let port = try #require(SequencerSources.departure(in: &event, nil))
            #expect(port.source == .init(client: 24, port: 3) && port.input == nil)
            // The news of connections between others.
            event.type = UInt8(SND_SEQ_EVENT_PORT_UNSUBSCRIBED.rawValue)
            #expect(SequencerSources.departure(in: &event, nil) == nil)
        }
    }
}
