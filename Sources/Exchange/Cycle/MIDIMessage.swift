/// The message of a MIDI event, as a plain value: it can be kept, sent between threads and compared.
///
/// Channels count from 0 to 15, as in the bytes; people count them from 1.
///
/// Threads: any.
public enum MIDIMessage: Sendable, Hashable, BitwiseCopyable {
    /// A key goes down: note 60 is middle C, velocity 1…127.
    case noteOn(channel: UInt8, note: UInt8, velocity: UInt8)
    /// A key goes up. A note-on with the velocity 0 arrives as this.
    case noteOff(channel: UInt8, note: UInt8, velocity: UInt8)
    /// The pressure on one key that is held down.
    case keyPressure(channel: UInt8, note: UInt8, pressure: UInt8)
    /// A knob, a pedal, a switch: controller 0…127, value 0…127.
    case controller(channel: UInt8, number: UInt8, value: UInt8)
    /// Another sound is selected.
    case program(channel: UInt8, number: UInt8)
    /// The pressure on the keys of a channel that are held down.
    case pressure(channel: UInt8, pressure: UInt8)
    /// The wheel: -8192…8191, 0 in the middle.
    case bend(channel: UInt8, value: Int16)
    /// A part of a system exclusive message. Long ones come in several, of the same frame.
    case systemExclusive(MIDIChunk)
    /// A quarter of a frame of time code.
    case timeCode(UInt8)
    /// The position at which a song begins, in sixteenths.
    case songPosition(UInt16)
    /// The number of a song.
    case songSelect(UInt8)
    /// Analogue synthesizers are to tune themselves.
    case tuneRequest
    /// A clock tick. 24 of them are a quarter note.
    case clock
    /// The sequence begins from its start with the next clock.
    case start
    /// The sequence goes on with the next clock.
    case `continue`
    /// The sequence stops.
    case stop
    /// The sender is there.
    case activeSensing
    /// The receiver is to go to its state after switching on.
    case reset

    /// Creates the message of a status byte and its data bytes; `nil` for no message, or for a system exclusive one
    /// (see ``MIDIChunk``).
    ///
    /// - Parameters:
    ///   - status: The first byte, 0x80…0xFF.
    ///   - first: The first data byte, where there is one.
    ///   - second: The second one.
    @_noLocks @_noAllocation
    public init?(status: UInt8, _ first: UInt8 = 0, _ second: UInt8 = 0) {
        let channel = status & 0x0F
        let (a, b) = (first & 0x7F, second & 0x7F)
        switch status & 0xF0 {
        case 0x80: self = .noteOff(channel: channel, note: a, velocity: b)
        case 0x90 where b == 0: self = .noteOff(channel: channel, note: a, velocity: 64)
        case 0x90: self = .noteOn(channel: channel, note: a, velocity: b)
        case 0xA0: self = .keyPressure(channel: channel, note: a, pressure: b)
        case 0xB0: self = .controller(channel: channel, number: a, value: b)
        case 0xC0: self = .program(channel: channel, number: a)
        case 0xD0: self = .pressure(channel: channel, pressure: a)
        case 0xE0: self = .bend(channel: channel, value: (Int16(b) &<< 7 | Int16(a)) &- 8192)
        default:
            switch status {
            case 0xF1: self = .timeCode(a)
            case 0xF2: self = .songPosition(UInt16(b) &<< 7 | UInt16(a))
            case 0xF3: self = .songSelect(a)
            case 0xF6: self = .tuneRequest
            case 0xF8: self = .clock
            case 0xFA: self = .start
            case 0xFB: self = .continue
            case 0xFC: self = .stop
            case 0xFE: self = .activeSensing
            case 0xFF: self = .reset
            default: return nil
            }
        }
    }

    /// The bytes, and the number of the three that are used; 0 for a system exclusive message (see ``MIDIChunk``).
    public var bytes: (count: Int, status: UInt8, first: UInt8, second: UInt8) {
        @_noLocks @_noAllocation get {
            switch self {
            case .noteOff(let channel, let note, let velocity): MIDIMessage.three(0x80, channel, note, velocity)
            case .noteOn(let channel, let note, let velocity): MIDIMessage.three(0x90, channel, note, velocity)
            case .keyPressure(let channel, let note, let value): MIDIMessage.three(0xA0, channel, note, value)
            case .controller(let channel, let number, let value): MIDIMessage.three(0xB0, channel, number, value)
            case .program(let channel, let number): (2, 0xC0 | channel & 15, number & 127, 0)
            case .pressure(let channel, let value): (2, 0xD0 | channel & 15, value & 127, 0)
            case .bend(let channel, let value): MIDIMessage.bend(channel, value)
            case .systemExclusive: (0, 0xF0, 0, 0)
            case .timeCode(let value): (2, 0xF1, value & 127, 0)
            case .songPosition(let value):
                (3, 0xF2, UInt8(truncatingIfNeeded: value) & 127, UInt8(truncatingIfNeeded: value &>> 7) & 127)
            case .songSelect(let number): (2, 0xF3, number & 127, 0)
            case .tuneRequest: (1, 0xF6, 0, 0)
            case .clock: (1, 0xF8, 0, 0)
            case .start: (1, 0xFA, 0, 0)
            case .continue: (1, 0xFB, 0, 0)
            case .stop: (1, 0xFC, 0, 0)
            case .activeSensing: (1, 0xFE, 0, 0)
            case .reset: (1, 0xFF, 0, 0)
            }
        }
    }

    /// The same message as a port would carry it: its numbers are held to their ranges, and a note-on without velocity is a note-off.
    package var held: MIDIMessage {
        @_noLocks @_noAllocation get {
            let bytes = bytes
            return MIDIMessage(status: bytes.status, bytes.first, bytes.second) ?? self
        }
    }

    @_noLocks @_noAllocation
    private static func three(
        _ status: UInt8, _ channel: UInt8, _ first: UInt8, _ second: UInt8
    ) -> (count: Int, status: UInt8, first: UInt8, second: UInt8) {
        (3, status | channel & 15, first & 127, second & 127)
    }

    @_noLocks @_noAllocation
    private static func bend(
        _ channel: UInt8, _ value: Int16
    ) -> (count: Int, status: UInt8, first: UInt8, second: UInt8) {
        let limited = value < -8192 ? -8192 : value > 8191 ? 8191 : value
        let bits = UInt16(bitPattern: limited &+ 8192)
        return three(0xE0, channel, UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits &>> 7))
    }
}

/// Up to 16 bytes of a system exclusive message, 0xF0 and 0xF7 included.
///
/// Threads: any.
public struct MIDIChunk: Sendable, Hashable, BitwiseCopyable {
    /// The bytes; those beyond ``count`` are 0.
    public var bytes: SIMD16<UInt8>
    /// The number of bytes: 1…16.
    public var count: Int
    /// Indicates whether the message begins with this chunk.
    public var isFirst: Bool
    /// Indicates whether the message ends with this chunk.
    public var isLast: Bool

    /// Creates a part of a message.
    @_noLocks @_noAllocation
    public init(bytes: SIMD16<UInt8>, count: Int, isFirst: Bool, isLast: Bool) {
        self.bytes = bytes
        self.count = count
        self.isFirst = isFirst
        self.isLast = isLast
    }
}

/// A MIDI message and its frame.
///
/// Threads: any.
public struct MIDIEvent: Sendable, Hashable, BitwiseCopyable {
    /// The frame, counted from the first of the slice.
    public var frame: Int
    /// The message.
    public var message: MIDIMessage

    /// Creates a message at a frame.
    @_noLocks @_noAllocation
    public init(frame: Int = 0, _ message: MIDIMessage) {
        self.frame = frame
        self.message = message
    }
}
