internal import Synchronization

/// Plain values from one thread to one other, in their order. Neither side waits, locks or allocates.
@safe package struct PlainRing<Value: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because a place belongs to the writer until `written` has passed it, then to the reader until `read` has.
    private let places: UnsafeMutablePointer<Value>
    private let mask: Int
    private let written = Atomic<Int>(0)
    private let read = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)

    /// Creates a ring.
    ///
    /// - Parameters:
    ///   - capacity: The number of values that may wait; a power of two.
    ///   - value: Any value, to fill the memory with.
    package init(capacity: Int, filledWith value: Value) {
        mask = capacity - 1
        unsafe places = .allocate(capacity: capacity)
        unsafe places.initialize(repeating: value, count: capacity)
    }

    deinit { unsafe places.deallocate() }

    /// Adds a value. `false`: the ring is full; that is counted.
    @discardableResult package borrowing func add(_ value: Value) -> Bool {
        let place = written.load(ordering: .relaxed)
        guard place &- read.load(ordering: .acquiring) <= mask else {
            lost.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        unsafe places[place & mask] = value
        written.store(place &+ 1, ordering: .releasing)
        return true
    }

    /// The value that has waited longest. It stays until ``drop()``.
    package var first: Value? {
        let place = read.load(ordering: .relaxed)
        return place == written.load(ordering: .acquiring) ? nil : unsafe places[place & mask]
    }

    /// Gives up the value that has waited longest.
    package borrowing func drop() { read.wrappingAdd(1, ordering: .releasing) }

    /// The number of values that wait. For the reader.
    package var count: Int { written.load(ordering: .acquiring) &- read.load(ordering: .relaxed) }

    /// Values that found no room.
    package var lostCount: Int { lost.load(ordering: .relaxed) }
}
