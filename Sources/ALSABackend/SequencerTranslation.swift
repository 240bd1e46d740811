internal import CALSA
internal import RenderCore

/// Between the events of ALSA's sequencer and MIDI messages: no state, no device.
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
        let note = unsafe event.pointee.data.note
        let control = unsafe event.pointee.data.control
        func message(_ status: UInt8, _ first: UInt8 = 0, _ second: UInt8 = 0) {
            if let message = MIDIMessage(status: status, first, second) { body(message) }
        }
        func controller(_ number: UInt8, _ value: UInt8) {
            message(0xB0 | control.channel & 15, number, value)
        }
        /// Reads a parameter: its number and its value of 14 bits travel in four controllers.
        func parameter(_ coarse: UInt8, _ fine: UInt8) {
            controller(coarse, high(control.param))
            controller(fine, low(control.param))
            controller(6, high(control.value))
            controller(38, low(control.value))
        }
        switch unsafe Int(event.pointee.type) {
        case Kind.noteOn: message(0x90 | note.channel & 15, note.note, note.velocity)
        case Kind.noteOff: message(0x80 | note.channel & 15, note.note, note.velocity)
        case Kind.keyPressure: message(0xA0 | note.channel & 15, note.note, note.velocity)
        case Kind.controller: controller(low(control.param), low(control.value))
        case Kind.controller14 where control.param < 32:
            controller(low(control.param), high(control.value))
            controller(low(control.param) + 32, low(control.value))
        case Kind.controller14: controller(low(control.param), low(control.value))
        case Kind.unregistered: parameter(99, 98)
        case Kind.registered: parameter(101, 100)
        case Kind.program: message(0xC0 | control.channel & 15, low(control.value))
        case Kind.pressure: message(0xD0 | control.channel & 15, low(control.value))
        case Kind.bend:
            let bits = max(-8192, min(8191, control.value)) + 8192
            message(0xE0 | control.channel & 15, low(bits), high(bits))
        case Kind.timeCode: message(0xF1, low(control.value))
        case Kind.songPosition: message(0xF2, low(control.value), high(control.value))
        case Kind.songSelect: message(0xF3, low(control.value))
        case Kind.tuneRequest: message(0xF6)
        case Kind.clock: message(0xF8)
        case Kind.start: message(0xFA)
        case Kind.continue: message(0xFB)
        case Kind.stop: message(0xFC)
        case Kind.activeSensing: message(0xFE)
        case Kind.reset: message(0xFF)
        case Kind.systemExclusive:
            let bytes = unsafe event.pointee.data.ext
            unsafe chunks(
                UnsafeRawBufferPointer(start: bytes.ptr, count: bytes.ptr == nil ? 0 : Int(bytes.len)), body)
        default: break
        }
    }

    /// Writes a message into an event, without its address and time. Returns `false` for a part of a system exclusive
    /// message: its bytes need a place elsewhere (see ``SequencerSystemExclusive``).
    static func write(_ message: MIDIMessage, into event: inout snd_seq_event_t) -> Bool {
        func note(_ kind: Int, _ channel: UInt8, _ note: UInt8, _ velocity: UInt8) {
            unsafe event.type = UInt8(kind)
            unsafe event.data.note = snd_seq_ev_note_t(
                channel: channel & 15, note: note & 127, velocity: velocity & 127, off_velocity: 0, duration: 0)
        }
        func control(_ kind: Int, _ channel: UInt8 = 0, _ number: UInt8 = 0, _ value: Int32 = 0) {
            unsafe event.type = UInt8(kind)
            unsafe event.data.control = snd_seq_ev_ctrl_t(
                channel: channel & 15, unused: (0, 0, 0), param: UInt32(number & 127), value: value)
        }
        unsafe event.flags = UInt8(SND_SEQ_EVENT_LENGTH_FIXED)
        switch message {
        case .noteOn(let channel, let key, let velocity): note(Kind.noteOn, channel, key, velocity)
        case .noteOff(let channel, let key, let velocity): note(Kind.noteOff, channel, key, velocity)
        case .keyPressure(let channel, let key, let pressure): note(Kind.keyPressure, channel, key, pressure)
        case .controller(let channel, let number, let value):
            control(Kind.controller, channel, number, Int32(value & 127))
        case .program(let channel, let number): control(Kind.program, channel, 0, Int32(number & 127))
        case .pressure(let channel, let value): control(Kind.pressure, channel, 0, Int32(value & 127))
        case .bend(let channel, let value): control(Kind.bend, channel, 0, Int32(max(-8192, min(8191, value))))
        case .timeCode(let value): control(Kind.timeCode, 0, 0, Int32(value & 127))
        case .songPosition(let value): control(Kind.songPosition, 0, 0, Int32(value & 0x3FFF))
        case .songSelect(let number): control(Kind.songSelect, 0, 0, Int32(number & 127))
        case .tuneRequest: control(Kind.tuneRequest)
        case .clock: control(Kind.clock)
        case .start: control(Kind.start)
        case .continue: control(Kind.continue)
        case .stop: control(Kind.stop)
        case .activeSensing: control(Kind.activeSensing)
        case .reset: control(Kind.reset)
        case .systemExclusive: return false
        }
        return true
    }

    /// Calls a closure with the parts of 16 bytes. An event may hold a whole message or any part of one: its first byte
    /// is 0xF0 where a message begins, and its last 0xF7 where one ends.
    private static func chunks(_ bytes: UnsafeRawBufferPointer, _ body: (MIDIMessage) -> Void) {
        var first = 0
        while first < bytes.count {
            let count = min(16, bytes.count - first)
            var chunk = SIMD16<UInt8>(repeating: 0)
            for index in 0..<count { chunk[index] = unsafe bytes[first + index] }
            body(
                .systemExclusive(
                    MIDIChunk(
                        bytes: chunk, count: count, isFirst: chunk[0] == 0xF0, isLast: chunk[count - 1] == 0xF7)))
            first += count
        }
    }

    /// Returns the lower and the higher seven of 14 bits.
    private static func low(_ value: some BinaryInteger) -> UInt8 { UInt8(truncatingIfNeeded: value) & 127 }
    private static func high(_ value: some BinaryInteger) -> UInt8 { UInt8(truncatingIfNeeded: value >> 7) & 127 }

    /// The events that are MIDI, by their numbers.
    private enum Kind {
        static var noteOn: Int { Int(SND_SEQ_EVENT_NOTEON.rawValue) }
        static var noteOff: Int { Int(SND_SEQ_EVENT_NOTEOFF.rawValue) }
        static var keyPressure: Int { Int(SND_SEQ_EVENT_KEYPRESS.rawValue) }
        static var controller: Int { Int(SND_SEQ_EVENT_CONTROLLER.rawValue) }
        static var controller14: Int { Int(SND_SEQ_EVENT_CONTROL14.rawValue) }
        static var unregistered: Int { Int(SND_SEQ_EVENT_NONREGPARAM.rawValue) }
        static var registered: Int { Int(SND_SEQ_EVENT_REGPARAM.rawValue) }
        static var program: Int { Int(SND_SEQ_EVENT_PGMCHANGE.rawValue) }
        static var pressure: Int { Int(SND_SEQ_EVENT_CHANPRESS.rawValue) }
        static var bend: Int { Int(SND_SEQ_EVENT_PITCHBEND.rawValue) }
        static var timeCode: Int { Int(SND_SEQ_EVENT_QFRAME.rawValue) }
        static var songPosition: Int { Int(SND_SEQ_EVENT_SONGPOS.rawValue) }
        static var songSelect: Int { Int(SND_SEQ_EVENT_SONGSEL.rawValue) }
        static var tuneRequest: Int { Int(SND_SEQ_EVENT_TUNE_REQUEST.rawValue) }
        static var clock: Int { Int(SND_SEQ_EVENT_CLOCK.rawValue) }
        static var start: Int { Int(SND_SEQ_EVENT_START.rawValue) }
        static var `continue`: Int { Int(SND_SEQ_EVENT_CONTINUE.rawValue) }
        static var stop: Int { Int(SND_SEQ_EVENT_STOP.rawValue) }
        static var activeSensing: Int { Int(SND_SEQ_EVENT_SENSING.rawValue) }
        static var reset: Int { Int(SND_SEQ_EVENT_RESET.rawValue) }
        static var systemExclusive: Int { Int(SND_SEQ_EVENT_SYSEX.rawValue) }
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
