import Testing

@testable import Outputs
@testable import RenderCore

@Suite struct HeldNotesTests {
    private func all(_ held: HeldNotes) -> [MIDIMessage] {
        var held = held
        var messages: [MIDIMessage] = []
        while let message = held.next() { messages.append(message) }
        return messages
    }

    @Test("keys and pedals that are down are let go, each once, and nothing else")
    func letsGo() {
        var held = HeldNotes()
        #expect(all(held).isEmpty)
        let messages: [MIDIMessage] = [
            .noteOn(channel: 0, note: 0, velocity: 1), .noteOn(channel: 0, note: 63, velocity: 1),
            .noteOn(channel: 0, note: 64, velocity: 1), .noteOn(channel: 15, note: 127, velocity: 1),
            .noteOn(channel: 3, note: 60, velocity: 1), .noteOff(channel: 3, note: 60, velocity: 0),
            .noteOn(channel: 4, note: 60, velocity: 0), .noteOn(channel: 0, note: 0, velocity: 9),
            .controller(channel: 2, number: 64, value: 1), .controller(channel: 2, number: 66, value: 127),
            .controller(channel: 9, number: 69, value: 127), .controller(channel: 9, number: 69, value: 0),
            .controller(channel: 2, number: 1, value: 127), .bend(channel: 2, value: 100),
            .program(channel: 2, number: 5),
        ]
        for message in messages { held.note(message) }
        #expect(
            all(held) == [
                .noteOff(channel: 0, note: 0, velocity: 64), .noteOff(channel: 0, note: 63, velocity: 64),
                .noteOff(channel: 0, note: 64, velocity: 64), .noteOff(channel: 15, note: 127, velocity: 64),
                .controller(channel: 2, number: 64, value: 0), .controller(channel: 2, number: 66, value: 0),
            ])
        held.note(.controller(channel: 0, number: 123, value: 0))
        held.note(.controller(channel: 15, number: 120, value: 0))
        held.note(.controller(channel: 2, number: 121, value: 0))
        #expect(all(held).isEmpty)
        for note in 0..<128 {
            for channel in 0..<16 { held.note(.noteOn(channel: UInt8(channel), note: UInt8(note), velocity: 1)) }
        }
        #expect(Set(all(held)).count == 2_048)
        held.note(.reset)
        #expect(all(held).isEmpty)
    }

    @Test("what another source holds too is left out, and messages beyond MIDI do no harm")
    func others() {
        var (one, other) = (HeldNotes(), HeldNotes())
        for message: MIDIMessage in [
            .noteOn(channel: 1, note: 60, velocity: 1), .noteOn(channel: 1, note: 61, velocity: 1),
            .controller(channel: 1, number: 64, value: 127), .controller(channel: 2, number: 64, value: 127),
        ] { one.note(message) }
        other.note(.noteOn(channel: 1, note: 60, velocity: 1))
        other.note(.controller(channel: 1, number: 64, value: 127))
        one.leaveOut(other)
        #expect(
            all(one) == [.noteOff(channel: 1, note: 61, velocity: 64), .controller(channel: 2, number: 64, value: 0)])
        var wild = HeldNotes()
        wild.note(.noteOn(channel: 255, note: 255, velocity: 255))
        wild.note(.controller(channel: 255, number: 64, value: 255))
        #expect(
            all(wild) == [
                .noteOff(channel: 15, note: 127, velocity: 64), .controller(channel: 15, number: 64, value: 0),
            ])
    }
}
