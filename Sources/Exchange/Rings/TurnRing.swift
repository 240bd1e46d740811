public import Synchronization

/// Plain values from any number of threads to one, each sender's in its order: no lock, no allocation. What holds it frees
/// it.
///
/// A cell has the number of the turn that may use it next. A sender claims a turn, fills its cell and passes that on to
/// the reader. The reader passes it on to the sender that comes once round later.
@safe @usableFromInline package struct TurnRing<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
    // Unchecked because a cell belongs to the sender that has claimed its turn, then to the one reader.
    @usableFromInline let cells: UnsafeMutablePointer<Cell>
    @usableFromInline package let state: UnsafeMutablePointer<State>
    @usableFromInline package let mask: UInt

    @safe @usableFromInline struct Cell: ~Copyable {
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
        unsafe cells = .allocate(capacity: capacity)
        for turn in 0..<capacity { unsafe (cells + turn).initialize(to: Cell(turn: UInt(turn))) }
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
        mask = UInt(capacity - 1)
    }

    @inlinable package func deallocate() {
        unsafe cells.deinitialize(count: Int(mask) + 1)
        unsafe cells.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Adds a value. `false`: the ring is full; that is counted.
    @inlinable package func send(_ value: Value) -> Bool {
        // Acquired, so that a sender knows of the cells all that those before it have known.
        var turn = unsafe state.pointee.next.load(ordering: .acquiring)
        while true {
            let cell = unsafe cells + Int(turn & mask)
            let ahead = unsafe Int(bitPattern: cell.pointee.turn.load(ordering: .acquiring) &- turn)
            if ahead == 0 {
                let (exchanged, original) = unsafe state.pointee.next.weakCompareExchange(
                    expected: turn, desired: turn &+ 1, ordering: .acquiringAndReleasing)
                if exchanged {
                    unsafe cell.pointee.value = value
                    unsafe cell.pointee.turn.store(turn &+ 1, ordering: .releasing)
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
        let cell = unsafe cells + Int(turn & mask)
        guard unsafe cell.pointee.turn.load(ordering: .acquiring) == turn &+ 1 else { return nil }
        let value = unsafe cell.pointee.value
        unsafe cell.pointee.turn.store(turn &+ mask &+ 1, ordering: .releasing)
        turn &+= 1
        return value
    }
}
