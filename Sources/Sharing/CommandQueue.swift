public import RenderCore
public import Synchronization

/// Commands for one module, each with a time: begin, stop, open, close.
///
///     private let gates = CommandQueue<Bool>()
///
///     public func open(at time: RenderTime = .immediately) -> Bool { gates.send(true, at: time) }
///
///     var frame = 0                                               // in `process`
///     while let due = gates.next(&context, from: frame) {
///         …                                                       // the frames before it: frame..<due.frame
///         frame = due.frame
///     }
///
/// Any thread may send, the render thread too. The queue gives out a command in the slice that its time lies in, exact
/// to the frame, or at once if the time has passed. Commands of one time come in the order in which they were sent, as
/// many in a slice as the queue has room for at most. A command that is sent inside ``/RenderCore/Renderer/transaction(whenApplied:_:)`` is sent when the
/// transaction is applied.
///
/// Threads: control.
@safe public struct CommandQueue<Command: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because what is kept belongs to the render thread that has the context of the state `waiting`.
    @usableFromInline let memory: Memory
    @usableFromInline let ring: TurnRing<Item>
    @usableFromInline let underWay: UnsafeMutablePointer<Atomic<Int>>
    @usableFromInline let kept: UnsafeMutablePointer<Item?>
    @usableFromInline let waiting: RenderState<Waiting>

    /// The number of commands that may be under way at once: sent, and not yet due.
    ///
    /// Threads: any.
    public let capacity: Int

    @usableFromInline struct Item: BitwiseCopyable, Sendable {
        @usableFromInline var time: RenderTime
        @usableFromInline var command: Command

        @inlinable init(time: RenderTime, command: Command) {
            self.time = time
            self.command = command
        }
    }

    /// The commands that the render thread has taken from the ring and keeps until they are due.
    @usableFromInline struct Waiting: BitwiseCopyable, Sendable {
        /// Items in `kept`, in the order in which they were sent.
        @usableFromInline var count = 0
        /// The turn of the next item in the ring.
        @usableFromInline var turn: UInt = 0
        /// The slice that was the last to ask, and the number of commands that it was given: senders without a pause
        /// cannot hold it up.
        @usableFromInline var slice: Int64 = .min
        @usableFromInline var given = 0
        @inlinable init() {}
    }

    /// A command whose time has come.
    ///
    /// Threads: any.
    public struct Due: Sendable {
        /// The frame of the slice at which the command is due.
        public let frame: Int
        /// The command to carry out.
        public let command: Command

        @inlinable init(frame: Int, command: Command) {
            self.frame = frame
            self.command = command
        }
    }

    /// The memory, which a transaction that will send holds on to.
    @safe @usableFromInline final class Memory: @unchecked Sendable {
        // Unchecked because what is kept is the render thread's, and the rest is a ring and an atomic.
        @usableFromInline let ring: TurnRing<Item>
        @usableFromInline let capacity: Int
        /// Commands sent and not yet given out.
        @usableFromInline let underWay: UnsafeMutablePointer<Atomic<Int>>
        @usableFromInline let kept: UnsafeMutablePointer<Item?>

        @inlinable init(capacity: Int) {
            self.capacity = 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
            ring = TurnRing<Item>(capacity: self.capacity)
            unsafe kept = .allocate(capacity: self.capacity)
            unsafe kept.initialize(repeating: nil, count: self.capacity)
            unsafe underWay = .allocate(capacity: 1)
            unsafe underWay.initialize(to: Atomic(0))
        }

        @inlinable deinit {
            unsafe kept.deallocate()
            unsafe underWay.deinitialize(count: 1)
            unsafe underWay.deallocate()
            ring.deallocate()
        }

        /// Puts a command into the ring, unless as many as there is room for are under way.
        @inlinable func send(_ item: Item) -> Bool {
            var count = unsafe underWay.pointee.load(ordering: .relaxed)
            while true {
                if count >= capacity { return false }
                let (exchanged, original) = unsafe underWay.pointee.weakCompareExchange(
                    expected: count, desired: count &+ 1, ordering: .acquiring)
                // A place was free, so the ring has one: no more than `capacity` are ever counted.
                if exchanged { return ring.send(item) }
                count = original
            }
        }
    }

    /// Creates an empty queue.
    ///
    /// - Parameter capacity: The number of commands that may be under way at once, rounded up to a power of 2: 2…4096.
    @inlinable public init(capacity: Int = 64) {
        demand(capacity >= 2 && capacity <= 4096, "CommandQueue takes 2 to 4096 commands, not \(capacity)")
        memory = Memory(capacity: capacity)
        self.capacity = memory.capacity
        ring = memory.ring
        unsafe underWay = memory.underWay
        unsafe kept = memory.kept
        waiting = RenderState(Waiting())
    }

    /// Sends a command.
    ///
    /// - Returns: `false` if as many commands are under way as the queue takes; then the command was not taken.
    ///
    /// Threads: any.
    @inlinable public func send(_ command: Command, at time: RenderTime = .immediately) -> Bool {
        send(command, at: time, ifRefused: {}, ifNever: {})
    }

    /// Does the same, and tells what a transaction makes of it later.
    ///
    /// - Parameter refused: The closure that is called, on the render thread, if the transaction finds the queue full when
    ///   it is applied.
    /// - Parameter undo: The closure that is called if the transaction is never applied.
    @inlinable package func send(
        _ command: Command, at time: RenderTime, ifRefused refused: @escaping @Sendable () -> Void,
        ifNever undo: @escaping @Sendable () -> Void
    ) -> Bool {
        let item = Item(time: time, command: command)
        guard OpenTransaction.exists else { return memory.send(item) }
        return OpenTransaction.stage({ [memory] in if !memory.send(item) { refused() } }, ifNever: undo)
    }

    /// Sends a command for a frame of the present slice. On the render thread; outside of a transaction, which holds nothing there.
    @inlinable package func send(_ command: Command, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        memory.send(Item(time: .frame(frame, of: context), command: command))
    }

    /// The number of commands that have been sent and are not yet due: while there are any, a module is not at rest.
    ///
    /// Threads: any.
    @inlinable public var count: Int { unsafe underWay.pointee.load(ordering: .relaxed) }

    /// Returns the next command that is due in this slice, the earliest first, at `frame` or later.
    ///
    /// - Complexity: O(*n*) of the commands under way.
    ///
    /// Threads: render.
    @inlinable public func next(_ context: inout RenderContext, from frame: Int = 0) -> Due? {
        // A dry run takes nothing: it has no state to keep it in.
        if count == 0 || context.isDryRun { return nil }
        let (ring, underWay, kept, capacity) = unsafe (ring, underWay, kept, capacity)
        var due: Due?
        waiting.with(&context) { waiting, context in
            while waiting.count < capacity, let item = ring.take(&waiting.turn) {
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
            if first >= 0, waiting.given < capacity, let item = unsafe kept[first] {
                waiting.given &+= 1
                due = Due(frame: earliest < frame ? frame : earliest, command: item.command)
                waiting.count &-= 1
                while first < waiting.count {
                    unsafe kept[first] = kept[first &+ 1]
                    first &+= 1
                }
                unsafe underWay.pointee.wrappingSubtract(1, ordering: .releasing)
            }
        }
        return due
    }

    /// Edits the commands that the render thread has taken and that are not due yet.
    ///
    /// Threads: render.
    @inlinable package func editWaiting(_ context: inout RenderContext, _ body: (inout Command) -> Void) {
        let kept = unsafe kept
        waiting.with(&context) { waiting, _ in
            var index = 0
            while index < waiting.count {
                if var item = unsafe kept[index] {
                    body(&item.command)
                    unsafe kept[index] = item
                }
                index &+= 1
            }
        }
    }
}

extension RenderTime {
    /// Returns the time of a frame of the present slice.
    @_noLocks @_noAllocation
    @usableFromInline static func frame(_ frame: Int, of context: borrowing RenderContext) -> RenderTime {
        .sample(context.sampleTime.addingSaturated(Int64(frame)))
    }

    /// Returns how many frames after the first one of the slice the command is due; 0 or less if its time has come.
    @_noLocks @_noAllocation
    @usableFromInline func frames(from context: borrowing RenderContext) -> Int {
        if isImmediate && offset == 0 { return 0 }
        if let sample = sampleKey(context.sampleRate) {
            return Int(truncatingIfNeeded: sample.subtractingSaturated(context.sampleTime))
        }
        return Int(
            RenderTime.nearest(Double(hostKey.subtractingSaturated(context.hostTime)) * context.sampleRate * 1e-9))
    }
}
