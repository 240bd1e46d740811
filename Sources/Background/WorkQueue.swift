internal import CRender
internal import RenderCore
internal import Synchronization

/// The queue in which render threads leave their jobs. Its threads sleep on the bell.
@safe struct WorkQueue: @unchecked Sendable {
    // Unchecked because the list is made for many threads, and both words are atomic.
    private let list: UnsafeMutablePointer<HandOverList>
    private let bell: UnsafeMutablePointer<Atomic<UInt32>>
    private let sleepers: UnsafeMutablePointer<Atomic<Int>>

    /// Creates a queue for as long as the process runs.
    init() {
        unsafe list = .allocate(capacity: 1)
        unsafe list.initialize(to: HandOverList())
        unsafe bell = .allocate(capacity: 1)
        unsafe bell.initialize(to: Atomic(0))
        unsafe sleepers = .allocate(capacity: 1)
        unsafe sleepers.initialize(to: Atomic(0))
    }

    /// Adds a job, and wakes a thread if one sleeps.
    @_noLocks @_noAllocation
    func push(_ item: UnsafeMutablePointer<WorkItem>) {
        unsafe list.pointee.add(UInt(bitPattern: item), link: &item.pointee.next)
        unsafe bell.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        // The one system call, and only where all that is done is done: it does not wait.
        let (bell, sleepers) = unsafe (bell, sleepers)
        if unsafe sleepers.pointee.load(ordering: .sequentiallyConsistent) > 0 {
            unsafe _unsafePerformance { unsafe ring(bell) }
        }
    }

    /// Takes all jobs: the address of the one that came last.
    func takeAll() -> UInt { unsafe list.pointee.takeAll() }

    /// The number that the bell shows before the queue is looked at.
    var count: UInt32 { unsafe bell.pointee.load(ordering: .sequentiallyConsistent) }

    /// Sleeps until a job comes, unless one has come since the bell showed that.
    func sleep(since count: UInt32) {
        unsafe sleepers.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        // The kernel looks at the word again: a job that came in between is not missed.
        unsafe crender_wait(bell, count)
        unsafe sleepers.pointee.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }
}

private func ring(_ bell: UnsafeMutablePointer<Atomic<UInt32>>) {
    crender_permitted_begins()
    unsafe crender_wake(bell, 1)
    crender_permitted_ends()
}
