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
/// to the frame, or at once if the time has passed. Commands of one time come in the order in which they were sent, 64
/// in a slice at most. A command that is sent inside ``/RenderCore/Renderer/transaction(whenApplied:_:)`` is sent when the
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
    @inlinable public static var capacity: Int { @_noLocks @_noAllocation get { 64 } }

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
        @usableFromInline let ring = TurnRing<Item>(capacity: CommandQueue.capacity)
        /// Commands sent and not yet given out.
        @usableFromInline let underWay: UnsafeMutablePointer<Atomic<Int>>
        @usableFromInline let kept: UnsafeMutablePointer<Item?>

        @inlinable init() {
            unsafe kept = .allocate(capacity: CommandQueue.capacity)
            unsafe kept.initialize(repeating: nil, count: CommandQueue.capacity)
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
                if count >= CommandQueue.capacity { return false }
                let (exchanged, original) = unsafe underWay.pointee.weakCompareExchange(
                    expected: count, desired: count &+ 1, ordering: .acquiring)
                // A place was free, so the ring has one: no more than `capacity` are ever counted.
                if exchanged { return ring.send(item) }
                count = original
            }
        }
    }

    /// Creates an empty queue.
    @inlinable public init() {
        memory = Memory()
        ring = memory.ring
        unsafe underWay = memory.underWay
        unsafe kept = memory.kept
        waiting = RenderState(Waiting())
    }

    /// Sends a command.
    ///
    /// - Returns: `false` if 64 commands are under way; then the command was not taken.
    ///
    /// Threads: any.
    @inlinable public func send(_ command: Command, at time: RenderTime = .immediately) -> Bool {
        let item = Item(time: time, command: command)
        guard OpenTransaction.exists else { return memory.send(item) }
        return OpenTransaction.stage { [memory] in _ = memory.send(item) }
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
        let (ring, underWay, kept) = unsafe (ring, underWay, kept)
        var due: Due?
        waiting.with(&context) { waiting, context in
            while waiting.count < Self.capacity, let item = ring.take(&waiting.turn) {
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
                unsafe underWay.pointee.wrappingSubtract(1, ordering: .releasing)
            }
        }
        return due
    }
}

extension RenderTime {
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
