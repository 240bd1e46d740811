/// Events on their way into a renderer inside of another one, or out of it, in the order in which they were added.
@safe package struct Outbox: ~Copyable {
    /// An event, and the address of the input or output that it is for.
    @safe package struct Entry {
        package var event: MIDIEvent
        package let port: UnsafeRawPointer
        /// The frame of the outer renderer at which it came in or is heard, where the inner one has another clock.
        package var due: Int64 = 0
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let capacity: Int
    package private(set) var count = 0

    /// Creates an outbox for so many events.
    package init(capacity: Int) {
        self.capacity = capacity
        unsafe entries = .allocate(capacity: capacity)
    }

    deinit { unsafe entries.deallocate() }

    /// The entry at a place.
    package subscript(_ index: Int) -> Entry {
        @_noLocks @_noAllocation get { unsafe entries[index] }
    }

    /// Puts an event behind the others. `false`: there is no room.
    @_noLocks @_noAllocation
    package mutating func add(_ event: MIDIEvent, to port: UnsafeRawPointer, due: Int64 = 0) -> Bool {
        guard count < capacity else { return false }
        unsafe (entries + count).initialize(to: Entry(event: event, port: port, due: due))
        count &+= 1
        return true
    }

    /// Forgets the events that are due before a frame.
    @_noLocks @_noAllocation
    package mutating func forget(dueBefore limit: Int64) {
        var (index, kept) = (0, 0)
        while index < count {
            let entry = unsafe entries[index]
            if entry.due >= limit {
                unsafe entries[kept] = entry
                kept &+= 1
            }
            index &+= 1
        }
        count = kept
    }

    /// Says when the events are due that were added since there were `first`: `frame` for one at frame 0, `pace` for each further.
    @_noLocks @_noAllocation
    package mutating func setDue(from first: Int, _ frame: Double, pace: Double, after origin: Int64) {
        var index = first
        while index < count {
            let frames = frame + Double(unsafe entries[index].event.frame) * pace
            unsafe entries[index].due = origin &+ (frames < 0x1p60 ? Int64(frames) : 1 &<< 60)
            index &+= 1
        }
    }
}
