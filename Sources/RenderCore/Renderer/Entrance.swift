internal import Glibc
internal import Synchronization

/// The changes that modules make as they are prepared for a loop: parameters, managed values, messages.
///
/// The loop before that one is still being rendered meanwhile, and must not see them. So the changes are kept like
/// those of a transaction, and shown in the first cycle of the new loop.
@safe final class Entrance: @unchecked Sendable {
    // Unchecked because only the thread that puts the loop in place uses the transaction, and then closes it.
    private let transaction: Transaction
    private let isClosed = Atomic<Bool>(false)
    private let thread = UInt(pthread_self())

    init(_ inbox: Inbox) {
        transaction = Transaction(for: inbox, hasPlace: false, takesLoops: false)
    }

    /// Keeps the changes that a closure makes, apart from a transaction that is open on this thread. If another
    /// renderer lets go of a module on another thread, or when the loop is in place, the module's changes are made at
    /// once: no loop runs it.
    func record(_ body: () -> Void) {
        let isOpen = thread == UInt(pthread_self()) && !isClosed.load(ordering: .acquiring)
        Transaction.suspended { isOpen ? transaction.fill(body) : body() }
    }

    /// Returns all changes as one job; `nil` if there are none. Once.
    func makeJob() -> Job? {
        isClosed.store(true, ordering: .releasing)
        return transaction.makeJob()
    }
}

/// Entrances on their way to the render thread, each with the loop that it belongs to.
@safe struct EntranceQueue: ~Copyable, @unchecked Sendable {
    // Unchecked because a job belongs to the control side until it is pushed, then to the render thread.
    private let new = HandOverList()
    private let waiting = Atomic<Int>(0)
    /// The render thread's own: the address of the oldest job that it has taken and not yet applied.
    private let oldest: UnsafeMutablePointer<UInt>

    init() {
        unsafe oldest = .allocate(capacity: 1)
        unsafe oldest.initialize(to: 0)
    }

    deinit { unsafe oldest.deallocate() }

    /// The number of entrances that have not been applied.
    var count: Int { waiting.load(ordering: .relaxed) }

    /// Adds the job of a loop. On the control side, before the loop is shown; one thread at a time.
    func push(_ job: Job, for loop: Leases.ImageID) {
        job.loop = loop
        waiting.wrappingAdd(1, ordering: .relaxed)
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(job).toOpaque())
        var before = new.newest
        repeat { job.next = before } while !new.add(address, to: &before)
    }

    /// Takes the next job of a loop, or of one before it. On the render thread, or when there is none any more.
    func take(upTo loop: Leases.ImageID) -> Unmanaged<Job>? {
        if new.newest != 0 { sortNew() }
        guard let job = unsafe Inbox.job(oldest.pointee) else { return nil }
        let (itsLoop, next) = unsafe job._withUnsafeGuaranteedRef { ($0.loop, $0.next) }
        guard itsLoop <= loop else { return nil }
        waiting.wrappingSubtract(1, ordering: .relaxed)
        unsafe oldest.pointee = next
        return unsafe job
    }

    /// Puts new jobs behind those that wait, the oldest first.
    private func sortNew() {
        var address = new.takeAll()
        var sorted: UInt = 0
        while let job = unsafe Inbox.job(address) {
            let next = unsafe job._withUnsafeGuaranteedRef { $0.next }
            unsafe job._withUnsafeGuaranteedRef { $0.next = sorted }
            sorted = address
            address = next
        }
        guard var last = unsafe Inbox.job(oldest.pointee) else {
            unsafe oldest.pointee = sorted
            return
        }
        while let next = unsafe Inbox.job(last._withUnsafeGuaranteedRef { $0.next }) { unsafe last = next }
        unsafe last._withUnsafeGuaranteedRef { $0.next = sorted }
    }
}
