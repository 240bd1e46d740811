internal import CRender
internal import Glibc

/// The order in which locks are taken: a thread that holds one may take only those that stand below it in this list.
///
/// No lock is ever held while code of a user runs: a completion, a `deinit`, a `prepare`, a closure that changes a
/// list. Such code may ask anything of anything, and may wait for another thread that does.
///
/// Debug builds check both, the order in ``Lock/withLock(in:_:)`` and the absence of locks in
/// ``HeldLocks/expectNone(before:)``.
package enum LockRank: UInt8 {
    /// An output or a session, from its start to its stop.
    case output
    /// The run of an output: a session may start and stop it.
    case run
    /// A module's settings on the control side: a player's files, a mixer's sources, the members of a list.
    case module
    /// A part of a module that its control side reaches with the module's own lock held.
    case part
    /// The file behind a stream, while one thread reads or writes it.
    case stream
    /// A renderer's loop and settings.
    case renderer
    /// The table of the renderers that have modules.
    case leases
    /// Transactions that are handed over, one after the other.
    case commits
    /// The entries of a ``ManagedArray``.
    case array
    /// The nodes of a ``ManagedValue``.
    case value
    /// Jobs on their way to a render thread.
    case inbox
    /// Values on their way from a ``MessagePort`` to its listeners.
    case delivery
    /// A few variables: no other lock is taken inside.
    case leaf
}

/// A mutex for the control side. Never taken inside of a cycle: a debug build tells who does it, once.
///
/// The lock is no `Synchronization.Mutex`: that is a bare futex, which ThreadSanitizer does not see. And it is not one
/// of `Void`: a value without a size is taken for the head of the object.
@safe package final class Lock<State>: @unchecked Sendable {
    // Unchecked because `state` is reached only with the mutex held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var state: State
    private let rank: LockRank

    /// Creates a lock around a state.
    ///
    /// - Parameter rank: The place in the order of locks.
    package init(_ state: State, _ rank: LockRank = .leaf) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        self.state = state
        self.rank = rank
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs a closure that has the state to itself. It must be short, and must not run code of a user: what may be the last
    /// reference to an object leaves the state by ``change(in:_:)``, or is returned from here.
    @inlinable package func withLock<Result, Failure: Error>(
        in file: StaticString = #fileID, _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let held = take(file)
        defer { giveBack(held) }
        return try body(&state)
    }

    /// Runs a closure that has the state to itself, and keeps what the state held before until the mutex is free.
    ///
    /// For changes by which objects leave: the last reference to an object may be the one that leaves, and its `deinit` may be
    /// code of a user.
    @inlinable package func change<Result, Failure: Error>(
        in file: StaticString = #fileID, _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var before: State?
        defer { withExtendedLifetime(before) {} }
        return try withLock(in: file) { state throws(Failure) in
            before = state
            return try body(&state)
        }
    }

    /// Takes the mutex. Returns which locks this thread held before.
    @usableFromInline func take(_ file: StaticString) -> UInt64 {
        #if DEBUG
            HeldLocks.expectControlCode(in: file)
            let held = HeldLocks.take(rank)
        #else
            let held: UInt64 = 0
        #endif
        unsafe pthread_mutex_lock(mutex)
        return held
    }

    @usableFromInline func giveBack(_ held: UInt64) {
        unsafe pthread_mutex_unlock(mutex)
        #if DEBUG
            HeldLocks.giveBack(held)
        #endif
    }
}

/// The ranks of the locks that this thread holds, a bit each. In debug builds.
package enum HeldLocks {
    /// Notes a lock. Returns the earlier note.
    static func take(_ rank: LockRank) -> UInt64 {
        let held = crender_held_locks_get()
        guard held >> UInt64(rank.rawValue) == 0 else {
            fatalError("RenderStack: a lock of the rank \(rank) is taken while one of the same or a later rank is held")
        }
        crender_held_locks_set(held | 1 << UInt64(rank.rawValue))
        return held
    }

    /// Says of a file, once, that its code is for control code, and was called in a cycle.
    static func expectControlCode(in file: StaticString) {
        guard crender_is_first_lock_of_cycle() != 0 else { return }
        StandardError.sayOnce(
            "\(file) locks inside of a cycle. Call what says \"Threads: control.\" from control code, and not from a render "
                + "loop or `process`; rtwatch names the line")
    }

    static func giveBack(_ held: UInt64) { crender_held_locks_set(held) }

    /// Stops a debug build where code of a user is about to run while this thread holds a lock of ours.
    package static func expectNone(before action: @autoclosure () -> String) {
        #if DEBUG
            guard crender_held_locks_get() == 0 else {
                fatalError("RenderStack: a lock is held before \(action())")
            }
        #endif
    }
}

extension Array {
    /// The elements in an array with memory of its own, to be taken out of a ``Lock`` whose state changes its array in place.
    ///
    /// A plain copy shares the memory until one of the two is changed. ThreadSanitizer does not see the count that Swift keeps of
    /// that: to it, a thread that reads the copy and another that later changes the array under the lock are a race. An array that
    /// is replaced as a whole needs no such copy.
    package var apart: [Element] { map { $0 } }
}
