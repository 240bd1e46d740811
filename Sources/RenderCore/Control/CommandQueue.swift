public import Synchronization

/// Commands for one module, each with a time: begin, stop, open, close.
///
///     private let gates = CommandQueue<Bool>()
///
///     public func open(at time: RenderTime = .immediately) -> Bool { gates.send(true, at: time) }
///
///     var frame = 0                                               // in `process`
///     while let due = gates.next(&context, from: frame) {
///         …                                                       // what lies before it: frame..<due.frame
///         frame = due.frame
///     }
///
/// Any thread may send, the render thread too. A command is taken out in the slice that its time lies in, exact to the
/// frame, or at once if that has passed. Those of one time come in the order in which they were sent, 64 in a slice at most. What is sent inside
/// ``Renderer/transaction(whenApplied:_:)`` is sent when the transaction is applied.
@safe public struct CommandQueue<Command: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because a cell belongs to the sender that has claimed its number, then to the render thread that has the
    // context of the state `waiting`.
    @usableFromInline let ring: Ring
    @usableFromInline let cells: UnsafeMutablePointer<Cell>
    @usableFromInline let state: UnsafeMutablePointer<State>
    @usableFromInline let kept: UnsafeMutablePointer<Item?>
    @usableFromInline let waiting: RenderState<Waiting>

    /// How many commands may be under way at once: sent, and not yet due.
    @inlinable public static var capacity: Int { @_noLocks @_noAllocation get { 64 } }

    @usableFromInline struct Item: BitwiseCopyable, Sendable {
        @usableFromInline var time: RenderTime
        @usableFromInline var command: Command

        @inlinable init(time: RenderTime, command: Command) {
            self.time = time
            self.command = command
        }
    }

    /// An item and the number of the sender's or reader's turn.
    @safe @usableFromInline struct Cell: ~Copyable {
        @usableFromInline let turn: Atomic<UInt>
        @usableFromInline var item: Item?
        @inlinable init(turn: UInt) { self.turn = Atomic(turn) }
    }

    @safe @usableFromInline struct State: ~Copyable {
        @usableFromInline let next = Atomic<UInt>(0)
        /// Commands sent and not yet given out.
        @usableFromInline let count = Atomic<Int>(0)
        @inlinable init() {}
    }

    /// What the render thread has taken from the ring and keeps until it is due.
    @usableFromInline struct Waiting: BitwiseCopyable, Sendable {
        /// Items in `kept`, in the order in which they were sent.
        @usableFromInline var count = 0
        /// The turn of the next cell.
        @usableFromInline var turn: UInt = 0
        /// Which slice was the last to ask, and how many it was given: senders without a pause cannot hold it up.
        @usableFromInline var slice: Int64 = .min
        @usableFromInline var given = 0
        @inlinable init() {}
    }

    /// A command whose time has come.
    public struct Due: Sendable {
        /// In which frame of the slice.
        public let frame: Int
        /// What is to be done.
        public let command: Command

        @inlinable init(frame: Int, command: Command) {
            self.frame = frame
            self.command = command
        }
    }

    /// The memory, which a transaction that will send holds on to.
    @safe @usableFromInline final class Ring: @unchecked Sendable {
        // Unchecked because the cells are passed on by their turns.
        @usableFromInline let cells: UnsafeMutablePointer<Cell>
        @usableFromInline let state: UnsafeMutablePointer<State>
        @usableFromInline let kept: UnsafeMutablePointer<Item?>

        @inlinable init() {
            unsafe kept = .allocate(capacity: CommandQueue.capacity)
            unsafe kept.initialize(repeating: nil, count: CommandQueue.capacity)
            unsafe cells = .allocate(capacity: CommandQueue.capacity)
            for turn in 0..<CommandQueue.capacity { unsafe (cells + turn).initialize(to: Cell(turn: UInt(turn))) }
            unsafe state = .allocate(capacity: 1)
            unsafe state.initialize(to: State())
        }

        @inlinable deinit {
            unsafe kept.deallocate()
            unsafe cells.deinitialize(count: CommandQueue.capacity)
            unsafe cells.deallocate()
            unsafe state.deinitialize(count: 1)
            unsafe state.deallocate()
        }

        @inlinable func send(_ item: Item) -> Bool { unsafe CommandQueue.post(item, to: cells, state) }
    }

    /// An empty queue.
    @inlinable public init() {
        ring = Ring()
        unsafe cells = ring.cells
        unsafe state = ring.state
        unsafe kept = ring.kept
        waiting = RenderState(Waiting())
    }

    /// Sends a command. From any thread, also the render thread.
    ///
    /// - Returns: `false` if 64 commands are under way; then it was not taken.
    @inlinable public func send(_ command: Command, at time: RenderTime = .immediately) -> Bool {
        let item = Item(time: time, command: command)
        guard Transaction.isOpen else { return ring.send(item) }
        return Transaction.stageInCurrent { [ring] in _ = ring.send(item) }
    }

    /// How many commands have been sent and are not yet due: while there are any, a module is not at rest. Any thread.
    @inlinable public var count: Int { unsafe state.pointee.count.load(ordering: .relaxed) }

    /// The next command that is due in this slice, the earliest first, at `frame` or later. On the render thread.
    ///
    /// - Complexity: O(*n*) of the commands under way.
    @inlinable public func next(_ context: inout RenderContext, from frame: Int = 0) -> Due? {
        if count == 0 { return nil }
        let (cells, state, kept) = unsafe (cells, state, kept)
        var due: Due?
        waiting.with(&context) { waiting, context in
            while let item = unsafe Self.take(&waiting, cells) {
                unsafe kept[waiting.count] = item
                waiting.count &+= 1
            }
            var first = -1
            var earliest = context.frameCount
            var index = 0
            while index < waiting.count {
                if let item = unsafe kept[index] {
                    let offset = item.time.frames(from: context)
                    if offset < earliest {
                        earliest = offset
                        first = index
                    }
                }
                index &+= 1
            }
            if waiting.slice != context.sampleTime {
                waiting.slice = context.sampleTime
                waiting.given = 0
            }
            if first >= 0, waiting.given < Self.capacity, let item = unsafe kept[first] {
                waiting.given &+= 1
                due = Due(frame: earliest < frame ? frame : earliest, command: item.command)
                waiting.count &-= 1
                while first < waiting.count {
                    unsafe kept[first] = kept[first &+ 1]
                    first &+= 1
                }
                unsafe state.pointee.count.wrappingSubtract(1, ordering: .releasing)
            }
        }
        return due
    }

    /// Takes the oldest command from the ring, if there is room for it.
    @inlinable static func take(_ waiting: inout Waiting, _ cells: UnsafeMutablePointer<Cell>) -> Item? {
        let turn = waiting.turn
        let cell = unsafe cells + Int(turn & UInt(capacity &- 1))
        guard waiting.count < capacity, unsafe cell.pointee.turn.load(ordering: .acquiring) == turn &+ 1 else {
            return nil
        }
        let item = unsafe cell.pointee.item
        unsafe cell.pointee.turn.store(turn &+ UInt(capacity), ordering: .releasing)
        waiting.turn = turn &+ 1
        return item
    }

    /// Puts a command into the ring, unless as many as there is room for are under way.
    @inlinable static func post(
        _ item: Item, to cells: UnsafeMutablePointer<Cell>, _ state: UnsafeMutablePointer<State>
    ) -> Bool {
        var count = unsafe state.pointee.count.load(ordering: .relaxed)
        while true {
            if count >= capacity { return false }
            let (exchanged, original) = unsafe state.pointee.count.weakCompareExchange(
                expected: count, desired: count &+ 1, ordering: .acquiring)
            if exchanged { break }
            count = original
        }
        // A place was free, so the cell is: no more than `capacity` are ever counted.
        let turn = unsafe state.pointee.next.wrappingAdd(1, ordering: .relaxed).oldValue
        let cell = unsafe cells + Int(turn & UInt(capacity &- 1))
        unsafe cell.pointee.item = item
        unsafe cell.pointee.turn.store(turn &+ 1, ordering: .releasing)
        return true
    }
}

extension RenderTime {
    /// How many frames after the first one of the slice it is; 0 or less if it has come.
    @_noLocks @_noAllocation
    @usableFromInline func frames(from context: borrowing RenderContext) -> Int {
        if isImmediate && offset == 0 { return 0 }
        if let sample = sampleKey(context.sampleRate) { return Int(truncatingIfNeeded: sample &- context.sampleTime) }
        return Int(RenderTime.nearest(Double(hostKey &- context.hostTime) * context.sampleRate * 1e-9))
    }
}
