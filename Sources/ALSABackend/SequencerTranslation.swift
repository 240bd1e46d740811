internal import CALSA
internal import RenderCore

/// Between the events of ALSA's sequencer and MIDI messages: no state, no device. libasound knows the bytes of each event.
enum SequencerTranslation {
    /// Reads the messages of an event: one message, two or four for the long controllers, one for each 16 bytes of a
    /// system exclusive part, none for an event that is no MIDI.
    ///
    /// A `NOTE` with a length does not come out of a queue as such: the kernel makes two events of it.
    ///
    /// - Parameters:
    ///   - event: The event, with its bytes valid at their address.
    ///   - body: The closure that gets each message, in order.
    static func read(_ event: UnsafePointer<snd_seq_event_t>, _ body: (MIDIMessage) -> Void) {
        var copy = unsafe event.pointee
        switch unsafe Int(copy.type) {
        case Int(SND_SEQ_EVENT_SYSEX.rawValue):
            // An event may hold a whole message or any part of one.
            let all = unsafe copy.data.ext
            let bytes = unsafe UnsafeRawBufferPointer(start: all.ptr, count: all.ptr == nil ? 0 : Int(all.len))
            return unsafe MIDIMessage.readExclusive(bytes, isPart: true, body)
        case Int(SND_SEQ_EVENT_PITCHBEND.rawValue):
            // libasound lets a bend out of range overflow.
            unsafe copy.data.control.value = max(-8192, min(8191, copy.data.control.value))
        default: break
        }
        unsafe withCoder { coder in
            var bytes = SIMD16<UInt8>(repeating: 0)
            unsafe withUnsafeMutableBytes(of: &bytes) { bytes in
                let count = unsafe snd_midi_event_decode(
                    coder, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &copy)
                // Where there are several messages, they are controllers.
                for first in stride(from: 0, to: count, by: 3) {
                    unsafe MIDIMessage.read(UnsafeRawBufferPointer(rebasing: bytes[first..<first + 3]), body)
                }
            }
        }
    }

    /// Writes a message into an event, without its address and time. Returns `false` for a part of a system exclusive
    /// message: its bytes need a place elsewhere (see ``SequencerSystemExclusive``).
    static func write(_ message: MIDIMessage, into event: inout snd_seq_event_t) -> Bool {
        if case .systemExclusive = message { return false }
        unsafe withCoder { coder in
            unsafe message.withBytes { bytes, count, _ in
                _ = unsafe snd_midi_event_encode(coder, bytes, count, &event)
            }
        }
        return true
    }

    /// Calls a closure with libasound's translator, which has read nothing, and gives each message its status byte.
    private static func withCoder(_ body: (OpaquePointer) -> Void) {
        var coder: OpaquePointer?
        guard unsafe snd_midi_event_new(16, &coder) == 0, let coder = unsafe coder else { return }
        unsafe snd_midi_event_no_status(coder, 1)
        unsafe body(coder)
        unsafe snd_midi_event_free(coder)
    }
}

/// Puts the parts of a system exclusive message together: other programs take one in a single event most readily.
struct SequencerSystemExclusive {
    /// Bytes of the longest message that can be sent; the rest of a longer one is left out.
    static var longest: Int { 8192 }
    private var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(Self.longest) }

    /// Adds a part. The whole message, when it was the last one.
    mutating func add(_ chunk: MIDIChunk) -> [UInt8]? {
        if chunk.isFirst { bytes.removeAll(keepingCapacity: true) }
        for index in 0..<max(0, min(16, chunk.count)) where bytes.count < Self.longest {
            bytes.append(chunk.bytes[index])
        }
        guard chunk.isLast, !bytes.isEmpty else { return nil }
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }
}
