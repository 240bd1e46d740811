import CALSA
import RenderStack
import Testing

@testable import ALSABackend

/// libasound's own translation between bytes and events, which needs no device: an independent peer.
private final class Peer {
    private var coder: OpaquePointer?

    init() {
        snd_midi_event_new(16_384, &coder)
        // Every message with its status byte.
        snd_midi_event_no_status(coder, 1)
    }
    deinit { snd_midi_event_free(coder) }

    /// The events of some bytes, each as long as the closure lasts.
    func encode(_ bytes: [UInt8], _ body: (inout snd_seq_event_t) -> Void) {
        snd_midi_event_reset_encode(coder)
        for byte in bytes {
            var event = snd_seq_event_t()
            if snd_midi_event_encode_byte(coder, Int32(byte), &event) == 1 { body(&event) }
        }
    }

    /// The bytes of an event; `nil` where it knows none.
    func decode(_ event: snd_seq_event_t) -> [UInt8]? {
        var event = event
        var bytes = [UInt8](repeating: 0, count: 16_384)
        snd_midi_event_reset_decode(coder)
        let count = snd_midi_event_decode(coder, &bytes, bytes.count, &event)
        return count < 0 ? nil : Array(bytes[0..<count])
    }
}

/// Returns the bytes that we make of an event.
func bytes(of event: snd_seq_event_t) -> [UInt8] {
    var event = event
    var bytes: [UInt8] = []
    SequencerTranslation.read(&event) { message in bytes += ours(message) }
    return bytes
}

func ours(_ message: MIDIMessage) -> [UInt8] {
    if case .systemExclusive(let chunk) = message { return (0..<chunk.count).map { chunk.bytes[$0] } }
    let (count, status, first, second) = message.bytes
    return Array([status, first, second][0..<count])
}

/// A note-on without velocity arrives as a note-off of the middle velocity: that is ours, not the peer's.
private func normalized(_ bytes: [UInt8]) -> [UInt8] {
    bytes.count == 3 && bytes[0] & 0xF0 == 0x90 && bytes[2] == 0 ? [bytes[0] & 0x0F | 0x80, bytes[1], 64] : bytes
}

/// Every message but the exclusive ones, with the least, the greatest and some other values.
private let allMessages: [MIDIMessage] = {
    let values: [UInt8] = [0, 1, 63, 64, 100, 127]
    var messages: [MIDIMessage] = [
        .tuneRequest, .clock, .start, .continue, .stop, .activeSensing, .reset,
    ]
    for a in values {
        messages += [.timeCode(a), .songSelect(a), .songPosition(UInt16(a) * 129)]
        for channel: UInt8 in [0, 9, 15] {
            messages += [.program(channel: channel, number: a), .pressure(channel: channel, pressure: a)]
            for b in values {
                messages += [
                    .noteOn(channel: channel, note: a, velocity: max(1, b)),
                    .noteOff(channel: channel, note: a, velocity: b),
                    .keyPressure(channel: channel, note: a, pressure: b),
                    .controller(channel: channel, number: a, value: b),
                    .bend(channel: channel, value: Int16(a) * 128 + Int16(b) - 8192),
                ]
            }
        }
    }
    return messages
}()

extension ALSATests {
    @Suite struct SequencerTranslationTests {
        @Test("MIDI: what libasound makes of bytes is read as those bytes")
        func readingEncoded() {
            let peer = Peer()
            var count = 0
            for message in allMessages {
                peer.encode(ours(message)) { event in
                    count += 1
                    #expect(bytes(of: event) == ours(message), "\(message)")
                }
            }
            #expect(count == allMessages.count)
            // With running status, and clock bytes in between.
            var heard: [UInt8] = []
            peer.encode([0x91, 60, 100, 0xF8, 62, 101, 60, 0, 0xB2, 7, 0xFE, 90, 10, 64]) { heard += bytes(of: $0) }
            #expect(
                heard == [
                    0x91, 60, 100, 0xF8, 0x91, 62, 101, 0x81, 60, 64, 0xFE, 0xB2, 7, 90, 0xB2, 10, 64,
                ])
        }

        @Test("MIDI: every event that libasound can decode is read as it decodes it, also those of 14 bits")
        func readingDecoded() {
            let peer = Peer()
            var known = 0
            for type in 0...255 {
                // An exclusive one points somewhere; those up to 4 and from 50 on are no MIDI.
                for number: UInt32 in [0, 1, 31, 32, 64, 127, 1000, 16_383] {
                    for value: Int32 in [-8192, -1, 0, 1, 63, 127, 128, 8191, 16_383]
                    where type != SND_SEQ_EVENT_SYSEX.rawValue && (130..<140).contains(type) == false {
                        var event = snd_seq_event_t()
                        event.type = UInt8(type)
                        if (5...8).contains(type) {
                            event.data.note.channel = UInt8(number & 15)
                            event.data.note.note = UInt8(number & 127)
                            event.data.note.velocity = UInt8(value & 127)
                        } else {
                            event.data.control.channel = UInt8(number & 15)
                            event.data.control.param = number
                            event.data.control.value = value
                        }
                        // The peer lets a bend out of range overflow; ours ends at the end.
                        if type == SND_SEQ_EVENT_PITCHBEND.rawValue, !(-8192...8191).contains(value) { continue }
                        guard let expected = peer.decode(event) else {
                            #expect(bytes(of: event) == [], "event type \(type)")
                            continue
                        }
                        known += 1
                        #expect(bytes(of: event) == normalized(expected), "event type \(type), \(number) \(value)")
                    }
                }
            }
            #expect(known > 1000)
        }

        @Test("MIDI: libasound decodes our events to the ones that it would have made itself")
        func writing() {
            let peer = Peer()
            for message in allMessages {
                var event = snd_seq_event_t()
                #expect(SequencerTranslation.write(message, into: &event))
                #expect(peer.decode(event) == ours(message), "\(message)")
                peer.encode(ours(message)) { own in
                    #expect(own.type == event.type && own.flags & 12 == event.flags & 12, "\(message)")
                    #expect(
                        own.data.raw8.d.0 == event.data.raw8.d.0
                            && own.data.raw32.d.1 == event.data.raw32.d.1 && own.data.raw32.d.2 == event.data.raw32.d.2,
                        "\(message)")
                }
            }
            // Values that a program sends by mistake stay inside of what the wire can carry.
            for message: MIDIMessage in [
                .noteOn(channel: 255, note: 255, velocity: 255), .bend(channel: 16, value: .max),
                .bend(channel: 0, value: .min), .songPosition(.max), .controller(channel: 99, number: 200, value: 200),
            ] {
                var event = snd_seq_event_t()
                _ = SequencerTranslation.write(message, into: &event)
                #expect(peer.decode(event) == ours(message), "\(message)")
            }
        }

        @Test("MIDI: system exclusive messages come in parts, however they are cut, and leave whole")
        func exclusive() {
            var random = SystemRandomNumberGenerator()
            for length in [2, 3, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1000, 8192] {
                let message =
                    [0xF0] + (0..<length - 2).map { _ in UInt8.random(in: 0...127, using: &random) } + [UInt8(0xF7)]
                for step in [1, 3, 16, 256, 8192] {
                    var (parts, whole): ([MIDIChunk], [[UInt8]]) = ([], [])
                    var joined = SequencerSystemExclusive()
                    for first in stride(from: 0, to: length, by: step) {
                        var part = Array(message[first..<min(length, first + step)])
                        part.withUnsafeMutableBytes { part in
                            var event = snd_seq_event_t()
                            event.type = UInt8(SND_SEQ_EVENT_SYSEX.rawValue)
                            event.data.ext = snd_seq_ev_ext_t(len: UInt32(part.count), ptr: part.baseAddress)
                            SequencerTranslation.read(&event) { message in
                                guard case .systemExclusive(let chunk) = message else { return }
                                parts.append(chunk)
                                if let all = joined.add(chunk) { whole.append(all) }
                            }
                        }
                    }
                    #expect(whole == [message])
                    #expect(parts.count { $0.isFirst } == 1 && parts.first?.isFirst == true)
                    #expect(parts.count { $0.isLast } == 1 && parts.last?.isLast == true)
                }
            }
            // One that is too long is cut; the next one is whole again. Bytes from nowhere harm nothing.
            var joined = SequencerSystemExclusive()
            let zero = SIMD16<UInt8>(repeating: 0)
            let part = MIDIChunk(bytes: zero, count: 16, isFirst: false, isLast: false)
            for _ in 0..<1000 { #expect(joined.add(part) == nil) }
            #expect(
                joined.add(MIDIChunk(bytes: zero, count: 99, isFirst: false, isLast: true))?.count
                    == SequencerSystemExclusive.longest)
            #expect(joined.add(MIDIChunk(bytes: zero, count: -1, isFirst: true, isLast: true)) == nil)
            #expect(joined.add(MIDIChunk(bytes: zero, count: 2, isFirst: true, isLast: true)) == [0, 0])
            var event = snd_seq_event_t()
            event.type = UInt8(SND_SEQ_EVENT_SYSEX.rawValue)
            event.data.ext = snd_seq_ev_ext_t(len: 77, ptr: nil)
            #expect(bytes(of: event) == [])
        }
    }
}
