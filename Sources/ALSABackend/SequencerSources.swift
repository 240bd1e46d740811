internal import CALSA
internal import Outputs
internal import RenderCore

/// The notes that each source holds down at each of our inputs.
struct SequencerSources {
    /// A port of another client, or all of its ports.
    struct Address: Hashable, Sendable {
        var client: UInt8
        var port: UInt8?
    }

    private struct Way: Hashable {
        let source: Address
        let input: Int
    }

    private var held: [Way: HeldNotes] = [:]

    /// Notes a message.
    mutating func note(_ message: MIDIMessage, from source: Address, to input: Int) {
        held[Way(source: source, input: input), default: HeldNotes()].note(message)
    }

    /// Returns the source that an event says is gone, and the input to which it led, or `nil` for all inputs. An input is told of
    /// a connection that ends, whoever ends it.
    static func departure(in event: UnsafePointer<snd_seq_event_t>, _ input: Int?) -> (source: Address, input: Int?)? {
        switch unsafe UInt32(event.pointee.type) {
        case SND_SEQ_EVENT_PORT_UNSUBSCRIBED.rawValue:
            guard let input else { return nil }
            let sender = unsafe event.pointee.data.connect.sender
            return (Address(client: sender.client, port: sender.port), input)
        case SND_SEQ_EVENT_PORT_EXIT.rawValue:
            let port = unsafe event.pointee.data.addr
            return (Address(client: port.client, port: port.port), nil)
        case SND_SEQ_EVENT_CLIENT_EXIT.rawValue:
            return (Address(client: unsafe event.pointee.data.addr.client, port: nil), nil)
        default: return nil
        }
    }

    /// Forgets a source, and returns the messages that let go of its notes: not of those that another source holds at the same input.
    mutating func end(_ source: Address, at input: Int?) -> [(input: Int, message: MIDIMessage)] {
        let ways = held.keys.filter { way in
            way.source.client == source.client && (source.port == nil || way.source.port == source.port)
                && (input == nil || way.input == input)
        }
        let gone = ways.compactMap { way in held.removeValue(forKey: way).map { (way.input, $0) } }
        var messages: [(input: Int, message: MIDIMessage)] = []
        for (input, notes) in gone {
            var notes = notes
            for (way, others) in held where way.input == input { notes.leaveOut(others) }
            while let message = notes.next() { messages.append((input, message)) }
        }
        return messages
    }
}
