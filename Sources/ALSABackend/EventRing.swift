internal import RenderCore
internal import Synchronization

/// A MIDI message, the port that it came in by or goes out by, and when: in nanoseconds of the host clock.
struct TimedMessage: BitwiseCopyable, Sendable, Hashable {
    var hostTime: Int64
    var port: Int
    var message: MIDIMessage
}

/// Messages from one thread to one other, in their order. Neither side waits, locks or allocates.
@safe struct EventRing: ~Copyable, @unchecked Sendable {
    // Unchecked because a place belongs to the writer until `written` has passed it, then to the reader until `read` has.
    private let places: UnsafeMutablePointer<TimedMessage>
    private let mask: Int
    private let written = Atomic<Int>(0)
    private let read = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)

    /// A ring.
    ///
    /// - Parameter capacity: how many messages may wait; a power of two.
    init(capacity: Int) {
        mask = capacity - 1
        unsafe places = .allocate(capacity: capacity)
        unsafe places.initialize(repeating: TimedMessage(hostTime: 0, port: 0, message: .clock), count: capacity)
    }

    deinit { unsafe places.deallocate() }

    /// Adds a message. `false`: it is full; that is counted.
    @discardableResult func add(_ message: TimedMessage) -> Bool {
        let place = written.load(ordering: .relaxed)
        guard place &- read.load(ordering: .acquiring) <= mask else {
            lost.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        unsafe places[place & mask] = message
        written.store(place &+ 1, ordering: .releasing)
        return true
    }

    /// The message that has waited longest. It stays until ``drop()``.
    var first: TimedMessage? {
        let place = read.load(ordering: .relaxed)
        return place == written.load(ordering: .acquiring) ? nil : unsafe places[place & mask]
    }

    /// Gives up the message that has waited longest.
    func drop() { read.wrappingAdd(1, ordering: .releasing) }

    /// Messages that found no room.
    var lostCount: Int { lost.load(ordering: .relaxed) }
}
