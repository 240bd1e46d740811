public import Synchronization

/// Plain values from render threads to control code: "the main-thread message queue".
///
///     let levels = MessagePort<Float>(capacity: 64)
///     …
///     levels.send(peak)                                   // in `process`: no lock, no allocation, wakes nobody
///     …
///     for await level in levels.events { … }              // anywhere
///     let subscription = levels.onMain { level in … }     // on the main actor
///
/// Any number of threads may send; what one of them sends arrives in its order. When the port is full, `send` says so and
/// ``lostCount`` counts it. While nobody listens the values stay in the port; ``drain(_:)`` takes them without a listener
/// and without a thread of ours.
@safe public struct MessagePort<Value: BitwiseCopyable & Sendable>: EventSource, ~Copyable, @unchecked Sendable {
    // Unchecked because a cell belongs to the sender that has claimed its number, then to the one reader.
    @usableFromInline let cells: UnsafeMutablePointer<Cell>
    @usableFromInline let state: UnsafeMutablePointer<State>
    @usableFromInline let mask: UInt
    private let reader: Reader

    /// A value and the number of the sender's or reader's turn.
    @safe @usableFromInline struct Cell: ~Copyable {
        @usableFromInline let turn: Atomic<UInt>
        @usableFromInline var value: Value?
        init(turn: UInt) { self.turn = Atomic(turn) }
    }

    @safe @usableFromInline struct State: ~Copyable {
        @usableFromInline let next = Atomic<UInt>(0)
        @usableFromInline let lost = Atomic<Int>(0)
        init() {}
    }

    /// A port.
    ///
    /// - Parameter capacity: how many values may wait, 1…65,536; rounded up to a power of two.
    /// - Precondition: the capacity is in range.
    public init(capacity: Int = 256) {
        precondition((1...65_536).contains(capacity), "MessagePort: a capacity of \(capacity); it must be 1…65,536")
        var count = 2
        while count < capacity { count *= 2 }
        unsafe cells = .allocate(capacity: count)
        for turn in 0..<count { unsafe (cells + turn).initialize(to: Cell(turn: UInt(turn))) }
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
        mask = UInt(count - 1)
        reader = unsafe Reader(cells, mask)
    }

    deinit {
        reader.close()
        unsafe cells.deinitialize(count: Int(mask) + 1)
        unsafe cells.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Sends a value. From any thread, also the render thread.
    ///
    /// - Returns: `false` if the port was full and the value was not taken.
    @discardableResult
    @inlinable public func send(_ value: Value) -> Bool {
        var turn = unsafe state.pointee.next.load(ordering: .relaxed)
        while true {
            let cell = unsafe cells + Int(turn & mask)
            let ahead = unsafe Int(bitPattern: cell.pointee.turn.load(ordering: .acquiring) &- turn)
            if ahead == 0 {
                let (exchanged, original) = unsafe state.pointee.next.weakCompareExchange(
                    expected: turn, desired: turn &+ 1, ordering: .relaxed)
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
                turn = unsafe state.pointee.next.load(ordering: .relaxed)
            }
        }
    }

    /// How many values found the port full.
    public var lostCount: Int { unsafe state.pointee.lost.load(ordering: .relaxed) }

    /// How many values may wait.
    public var capacity: Int { Int(mask) + 1 }

    /// Values from now on, in order.
    public var events: AsyncStream<Value> { reader.subscribe() }

    /// Takes everything that is there, in order, on this thread. What a listener has taken does not come again.
    ///
    /// - Returns: how many values there were.
    @discardableResult
    public func drain(_ body: (Value) -> Void) -> Int {
        let values = reader.take()
        for value in values { body(value) }
        return values.count
    }

    /// The control side of a port.
    @safe final class Reader: Collectable, @unchecked Sendable {
        // Unchecked because the cells are read under the lock.
        private let cells: UnsafeMutablePointer<Cell>
        private let mask: UInt
        private let hub = EventHub<Value>()
        private let position = Lock<UInt?>(0)
        /// Held from taking values to handing them on: nobody overtakes, and nothing is taken when the stream ends.
        private let delivery = Lock(0)

        init(_ cells: UnsafeMutablePointer<Cell>, _ mask: UInt) {
            unsafe self.cells = cells
            self.mask = mask
        }

        func subscribe() -> AsyncStream<Value> {
            let stream = hub.subscribe()
            Collector.shared.add(self)
            return stream
        }

        func take() -> [Value] {
            position.withLock { position in
                var values: [Value] = []
                // Not more than there is room for: senders may be as fast as this.
                while var turn = position, values.count <= Int(mask) {
                    let cell = unsafe cells + Int(turn & mask)
                    guard unsafe cell.pointee.turn.load(ordering: .acquiring) == turn &+ 1 else { break }
                    if let value = unsafe cell.pointee.value { values.append(value) }
                    unsafe cell.pointee.turn.store(turn &+ mask &+ 1, ordering: .releasing)
                    turn &+= 1
                    position = turn
                }
                return values
            }
        }

        package func collect() -> Bool {
            guard hub.hasListeners else { return false }
            return delivery.withLock { _ in
                let values = take()
                for value in values { hub.send(value) }
                return !values.isEmpty
            }
        }

        /// The cells are about to go. What is in them reaches whoever listens.
        func close() {
            _ = collect()
            position.withLock { $0 = nil }
            delivery.withLock { _ in hub.finish() }
        }
    }
}
