internal import Synchronization

/// The queue was full, and what was to be sent was not taken.
public struct MessageQueueFull: Error, CustomStringConvertible {
    /// How many may wait at once.
    public let capacity: Int
    /// What happened and what to do.
    public var description: String {
        "The message queue holds \(capacity) messages that have not run yet. "
            + "Send again when the renderer has run, or send fewer messages."
    }
}

/// Jobs on their way to one render thread, and back when they are done.
///
/// Any number of threads send, one after the other (a lock that the render thread never takes). The render thread takes
/// jobs from a ring, and hands them back on a list.
@safe final class Inbox: @unchecked Sendable {
    // Unchecked because a place of the ring belongs to the senders until `written` passes it, then to the render thread.
    static var capacity: Int { 1024 }
    private let mask = Inbox.capacity - 1
    private let ring: UnsafeMutablePointer<Unmanaged<Job>>
    private let written = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)
    private let done = Atomic<UInt>(0)
    /// Values of transactions that wait to be shown, all in one job.
    private let pending = Atomic<UInt>(0)
    /// Jobs that were sent and are not handed back, and places that were promised.
    private let senders = Lock(0)

    init() { unsafe ring = .allocate(capacity: Self.capacity) }

    deinit {
        let remaining = takeRemaining()
        // What is replaced may still be looked at here, as on a render thread.
        let counter = CycleCounter()
        Reclaimer.shared.add(counter)
        _ = counter.begin()
        let isDone = remaining.map { job in
            // What was to happen at a time does not; what was set is set.
            let isDue = job.time.isImmediate && job.take()
            if isDue { job.applyValuesOnly() }
            return isDue
        }
        counter.end()
        Reclaimer.shared.remove(counter)
        for (job, isDone) in zip(remaining, isDone) { job.finish(wasDone: isDone) }
        collect()
        unsafe ring.deallocate()
    }

    // MARK: Control side

    /// Promises a place.
    func reserve() throws(MessageQueueFull) {
        if tryReserve() { return }
        collect()
        if !tryReserve() { throw MessageQueueFull(capacity: Self.capacity) }
    }

    /// Gives a promised place back.
    func cancelReservation() { senders.withLock { $0 -= 1 } }

    private func tryReserve() -> Bool {
        senders.withLock { used in
            guard used < Self.capacity else { return false }
            used += 1
            return true
        }
    }

    /// Takes a promised place.
    func send(_ job: Job) {
        senders.withLock { _ in
            let place = written.load(ordering: .relaxed)
            unsafe (ring + place % Self.capacity).initialize(to: Unmanaged.passRetained(job))
            written.store(place + 1, ordering: .releasing)
        }
        Collector.shared.wake()
    }

    /// Adds values to those that wait to be shown. Never full: a parameter's newer value takes the older one's place.
    ///
    /// - Returns: what lets go of those older ones, to be called with no lock held: whoever is told may send something.
    func submit(_ changes: [Transaction.Change]) -> [() -> Void] {
        let overtaken = senders.withLock { _ in
            let waiting = pending.exchange(0, ordering: .acquiringAndReleasing)
            let job = unsafe Self.job(waiting)?.takeRetainedValue() ?? Job([], takesPlace: false)
            let overtaken = changes.compactMap { job.add($0) }
            unsafe pending.store(UInt(bitPattern: Unmanaged.passRetained(job).toOpaque()), ordering: .releasing)
            return overtaken
        }
        Collector.shared.wake()
        return overtaken
    }

    /// Frees what the render thread has handed back, in the order in which it was done. Returns how many there were.
    @discardableResult
    func collect() -> Int {
        // Under the lock, so that nobody finds the list empty and its places still taken.
        let jobs = senders.withLock { used in
            var next = done.exchange(0, ordering: .acquiring)
            var jobs: [Job] = []
            while let job = unsafe Self.job(next)?.takeRetainedValue() {
                jobs.append(job)
                next = job.next
            }
            used -= jobs.count { $0.takesPlace }
            return jobs
        }
        guard !jobs.isEmpty else { return 0 }
        for job in jobs.reversed() { job.finish(wasDone: job.state.load(ordering: .acquiring) != Job.State.cancelled) }
        return jobs.count
    }

    /// Everything that was not taken. When there is no render thread any more.
    private func takeRemaining() -> [Job] {
        var jobs: [Job] = []
        let waiting = pending.exchange(0, ordering: .acquiring)
        if let job = unsafe Self.job(waiting)?.takeRetainedValue() { jobs.append(job) }
        while let job = unsafe takeNext() { unsafe jobs.append(job.takeRetainedValue()) }
        return jobs
    }

    private static func job(_ address: UInt) -> Unmanaged<Job>? {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged<Job>.fromOpaque(pointer)
    }

    // MARK: Render thread

    /// The values that wait to be shown.
    @_noLocks @_noAllocation
    func takePending() -> Unmanaged<Job>? {
        if pending.load(ordering: .relaxed) == 0 { return nil }
        let address = pending.exchange(0, ordering: .acquiringAndReleasing)
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged<Job>.fromOpaque(pointer)
    }

    /// The next job in order.
    @_noLocks @_noAllocation
    func takeNext() -> Unmanaged<Job>? {
        let place = taken.load(ordering: .relaxed)
        if place == written.load(ordering: .acquiring) { return nil }
        let job = unsafe ring[place & mask]
        taken.store(place &+ 1, ordering: .releasing)
        return unsafe job
    }

    /// Hands a job back.
    @_noLocks @_noAllocation
    func handBack(_ job: Unmanaged<Job>) {
        let address = unsafe UInt(bitPattern: job.toOpaque())
        var head = done.load(ordering: .relaxed)
        while true {
            // Its owner is this thread until the exchange succeeds.
            let next = head
            unsafe _unsafePerformance { unsafe job._withUnsafeGuaranteedRef { $0.next = next } }
            let (exchanged, original) = done.weakCompareExchange(
                expected: head, desired: address, ordering: .acquiringAndReleasing)
            if exchanged { return }
            head = original
        }
    }
}
