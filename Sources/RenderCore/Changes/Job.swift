internal import Synchronization

/// Work for a render thread to do once: changes that belong together, at a time or as soon as possible.
///
/// A job is made and freed on the control side. In between it is the render thread's, which hands it back when it is
/// done.
@safe final class Job: @unchecked Sendable {
    // Unchecked because a job has one owner at a time: the control side, the inbox, the render thread.
    let time: RenderTime
    /// Indicates whether the job takes one of the inbox's places.
    let takesPlace: Bool
    private var changes: UnsafeMutablePointer<Unmanaged<Change>>
    private(set) var count = 0
    private var capacity: Int
    private var positions: [UInt: Int] = [:]
    /// The next in the list of those that are done, or that enter with a loop.
    var next: UInt = 0
    /// The loop that it enters with, if it is an ``Entrance``.
    var loop: Leases.ImageID = 0
    /// The job's state. The first thread to change it from `waiting` decides what becomes of the job.
    let state = Atomic<UInt8>(State.waiting)

    /// Claims the job, and returns whether it may be done: `true` once, unless the job has been called off.
    func take() -> Bool {
        state.compareExchange(expected: State.waiting, desired: State.taken, ordering: .acquiringAndReleasing).exchanged
    }

    /// Calls it off, unless it has been taken, and has its changes released: the render thread does not look at that
    /// any more. Control side.
    func cancel() -> Bool {
        let (exchanged, _) = state.compareExchange(
            expected: State.waiting, desired: State.cancelled, ordering: .acquiringAndReleasing)
        if exchanged { Reclaimer.shared.runErrand { self.letGo(wasDone: false, end: .wasWithdrawn) } }
        return exchanged
    }

    /// Indicates whether it was called off.
    var isCancelled: Bool { @_noLocks @_noAllocation get { state.load(ordering: .acquiring) == State.cancelled } }

    enum State {
        static var waiting: UInt8 { @_noLocks @_noAllocation get { 0 } }
        static var taken: UInt8 { @_noLocks @_noAllocation get { 1 } }
        static var cancelled: UInt8 { @_noLocks @_noAllocation get { 2 } }
    }

    init(_ changes: [Change], at time: RenderTime = .immediately, takesPlace: Bool = true) {
        self.time = time
        self.takesPlace = takesPlace
        capacity = max(changes.count, 4)
        unsafe self.changes = .allocate(capacity: capacity)
        for change in changes { add(change)?.letGo(.wasWithdrawn) }
    }

    /// Adds a change. Returns an earlier one of the same cell, which the caller releases without holding a lock.
    /// Control side.
    func add(_ change: Change) -> Change? {
        let cell = change.cell
        if cell != 0, let position = positions[cell] {
            let earlier = unsafe changes[position].takeRetainedValue()
            unsafe changes[position] = .passRetained(change)
            return earlier
        }
        if count == capacity {
            let larger = UnsafeMutablePointer<Unmanaged<Change>>.allocate(capacity: capacity * 2)
            unsafe larger.moveInitialize(from: changes, count: count)
            unsafe changes.deallocate()
            unsafe changes = larger
            capacity *= 2
        }
        unsafe (changes + count).initialize(to: .passRetained(change))
        if cell != 0 { positions[cell] = count }
        count += 1
        return nil
    }

    /// Does it. On the render thread.
    func apply(_ context: inout RenderContext) {
        var index = 0
        while index < count {
            unsafe changes[index]._withUnsafeGuaranteedRef { $0.apply(&context) }
            index &+= 1
        }
    }

    /// Makes the values visible although no render thread has asked: when there will be none. Inside a counted cycle.
    func applyValuesOnly() { for index in 0..<count { unsafe changes[index]._withUnsafeGuaranteedRef { $0.show() } } }

    /// Frees its changes, after it was done or given up; not if it was called off, which has seen to that. Control
    /// side, with no lock held: it runs code of a user.
    ///
    /// - Parameters:
    ///   - wasDone: `true` if its values are shown.
    ///   - end: The fate of its messages.
    func finish(wasDone: Bool, end: Change.End = .hasRun) {
        if !isCancelled { letGo(wasDone: wasDone, end: end) }
    }

    private func letGo(wasDone: Bool, end: Change.End) {
        HeldLocks.expectNone(before: "a job is finished")
        let all = (0..<count).map { unsafe changes[$0].takeRetainedValue() }
        count = 0
        if wasDone { for change in all { change.finish(end) } }
        // The last one first: it may have built on those before it.
        if !wasDone { for change in all.reversed() { change.withdraw(end) } }
    }

    deinit {
        letGo(wasDone: false, end: .wasWithdrawn)
        unsafe changes.deallocate()
    }
}
