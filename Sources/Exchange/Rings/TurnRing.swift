public import Synchronization

/// Plain values from any number of threads to one, each sender's in its order: no lock, no allocation. What holds it frees
/// it.
///
/// A place has the number of the turn that may use it next. A sender claims a turn, fills its place and passes that on to
/// the reader. The reader passes it on to the sender that comes once round later.
@safe @usableFromInline package struct TurnRing<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
    // Unchecked because a place belongs to the sender that has claimed its turn, then to the one reader.
    @usableFromInline let places: UnsafeMutablePointer<Place>
    @usableFromInline package let state: UnsafeMutablePointer<State>
    @usableFromInline package let mask: UInt

    @safe @usableFromInline struct Place: ~Copyable {
        @usableFromInline let turn: Atomic<UInt>
        @usableFromInline var value: Value?
        @inlinable init(turn: UInt) { self.turn = Atomic(turn) }
    }

    @safe @usableFromInline package struct State: ~Copyable {
        /// The turn of the next sender.
        @usableFromInline let next = Atomic<UInt>(0)
        @usableFromInline package let lost = Atomic<Int>(0)
        @inlinable init() {}
    }

    /// - Parameter capacity: a power of two.
    @inlinable package init(capacity: Int) {
        unsafe places = .allocate(capacity: capacity)
        for turn in 0..<capacity { unsafe (places + turn).initialize(to: Place(turn: UInt(turn))) }
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
        mask = UInt(capacity - 1)
    }

    @inlinable package func deallocate() {
        unsafe places.deinitialize(count: Int(mask) + 1)
        unsafe places.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Adds a value. `false`: the ring is full; that is counted.
    @inlinable package func send(_ value: Value) -> Bool {
        // Acquired, so that a sender knows of the places all that those before it have known.
        var turn = unsafe state.pointee.next.load(ordering: .acquiring)
        while true {
            let place = unsafe places + Int(turn & mask)
            let ahead = unsafe Int(bitPattern: place.pointee.turn.load(ordering: .acquiring) &- turn)
            if ahead == 0 {
                let (exchanged, original) = unsafe state.pointee.next.weakCompareExchange(
                    expected: turn, desired: turn &+ 1, ordering: .acquiringAndReleasing)
                if exchanged {
                    unsafe place.pointee.value = value
                    unsafe place.pointee.turn.store(turn &+ 1, ordering: .releasing)
                    return true
                }
                turn = original
            } else if ahead < 0 {
                unsafe state.pointee.lost.wrappingAdd(1, ordering: .relaxed)
                return false
            } else {
                turn = unsafe state.pointee.next.load(ordering: .acquiring)
            }
        }
    }

    /// The oldest value, taken out. For the one reader, who keeps the turn that it has come to.
    @inlinable package func take(_ turn: inout UInt) -> Value? {
        let place = unsafe places + Int(turn & mask)
        guard unsafe place.pointee.turn.load(ordering: .acquiring) == turn &+ 1 else { return nil }
        let value = unsafe place.pointee.value
        unsafe place.pointee.turn.store(turn &+ mask &+ 1, ordering: .releasing)
        turn &+= 1
        return value
    }
}
