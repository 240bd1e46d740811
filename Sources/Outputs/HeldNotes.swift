package import RenderCore

/// The keys and pedals that a source of MIDI holds down, so that its notes can end when it vanishes.
///
/// A driver notes each message that comes in. When the source is gone it takes the messages that let go, one by one:
///
///     while let message = held.next() { … }
package struct HeldNotes: Sendable, BitwiseCopyable {
    /// A bit for each key: two words for each channel.
    private var keys = InlineArray<32, UInt64>(repeating: 0)
    /// A bit for each channel, of each of the pedals.
    private var pedals = InlineArray<3, UInt16>(repeating: 0)

    /// Creates notes of which none is held.
    @_noLocks @_noAllocation
    package init() {}

    /// Notes what a message holds down or lets go.
    @_noLocks @_noAllocation
    package mutating func note(_ message: MIDIMessage) {
        switch message {
        case .noteOn(let channel, let note, let velocity): set(channel, note, velocity > 0)
        case .noteOff(let channel, let note, _): set(channel, note, false)
        case .controller(let channel, let number, let value): control(channel & 15, number, value)
        case .reset: self = HeldNotes()
        default: break
        }
    }

    /// Returns the next message that lets go of a key or pedal, which then is not held any more; `nil` if none is held.
    @_noLocks @_noAllocation
    package mutating func next() -> MIDIMessage? {
        var word = 0
        while word < 32 {
            if keys[word] != 0 {
                let bit = keys[word].trailingZeroBitCount
                keys[word] &= keys[word] &- 1
                return .noteOff(
                    channel: UInt8(truncatingIfNeeded: word &>> 1),
                    note: UInt8(truncatingIfNeeded: (word & 1) &<< 6 &+ bit), velocity: 64)
            }
            word &+= 1
        }
        var pedal = 0
        while pedal < 3 {
            if pedals[pedal] != 0 {
                let channel = pedals[pedal].trailingZeroBitCount
                pedals[pedal] &= pedals[pedal] &- 1
                return .controller(
                    channel: UInt8(truncatingIfNeeded: channel), number: HeldNotes.controller(of: pedal), value: 0)
            }
            pedal &+= 1
        }
        return nil
    }

    /// Puts the messages that let go of all into the events of a cycle, on its first frame. Returns `false` where there is no room:
    /// the rest is held still.
    @_noLocks @_noAllocation
    package mutating func letGo(into events: inout CycleSupply.Events) -> Bool {
        while events.count < events.capacity {
            guard let message = next() else { return true }
            events.add(MIDIEvent(frame: 0, message))
        }
        return false
    }

    /// Leaves out what another source holds down too.
    @_noLocks @_noAllocation
    package mutating func leaveOut(_ other: HeldNotes) {
        var word = 0
        while word < 32 {
            keys[word] &= ~other.keys[word]
            word &+= 1
        }
        var pedal = 0
        while pedal < 3 {
            pedals[pedal] &= ~other.pedals[pedal]
            pedal &+= 1
        }
    }

    @_noLocks @_noAllocation
    private mutating func set(_ channel: UInt8, _ note: UInt8, _ isHeld: Bool) {
        let (word, bit) = (Int(channel & 15) &<< 1 | Int(note & 127) &>> 6, UInt64(1) &<< UInt64(note & 63))
        keys[word] = isHeld ? keys[word] | bit : keys[word] & ~bit
    }

    @_noLocks @_noAllocation
    private mutating func control(_ channel: UInt8, _ number: UInt8, _ value: UInt8) {
        let bit = UInt16(1) &<< UInt16(channel)
        switch number {
        case 120, 123...127:
            // All sound off, all notes off.
            keys[Int(channel) &<< 1] = 0
            keys[Int(channel) &<< 1 | 1] = 0
        case 121:
            var pedal = 0
            while pedal < 3 {
                pedals[pedal] &= ~bit
                pedal &+= 1
            }
        default:
            var pedal = 0
            while pedal < 3 {
                if number == HeldNotes.controller(of: pedal) {
                    pedals[pedal] = value > 0 ? pedals[pedal] | bit : pedals[pedal] & ~bit
                }
                pedal &+= 1
            }
        }
    }

    /// The controllers that keep notes sounding: the sustain pedal, sostenuto, and the second hold.
    @_noLocks @_noAllocation
    private static func controller(of pedal: Int) -> UInt8 { pedal == 0 ? 64 : pedal == 1 ? 66 : 69 }
}
