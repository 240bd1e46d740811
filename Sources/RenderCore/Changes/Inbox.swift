internal import Synchronization

/// The queue was full, and the message was not taken.
///
/// Threads: control.
public struct MessageQueueFull: Error, CustomStringConvertible {
    /// The number of messages that may wait at once.
    public let capacity: Int
    /// A sentence that says what happened and what to do.
    public var description: String {
        "The message queue holds \(capacity) messages that have not run yet. "
            + "Send again when the renderer has run, or send fewer messages."
    }
}

/// Jobs on their way to one render thread, and back when they are done.
///
/// Any number of threads send, one after the other (a lock that the render thread never takes). The render thread takes
/// jobs from a ring, and hands them back on a list.
///
/// A job that is called off gives its place back at once, and stays where it is: a renderer may stand still. So the ring has twice as
/// many places as jobs may wait. Where more of them are taken than that, a sender copies those that were not called off behind the
/// others, and moves the ring's beginning there, unless the render thread has moved it meanwhile.
@safe final class Inbox: @unchecked Sendable {
    // Unchecked because the ring is memory of this object's own, in which each place is atomic.
    static var capacity: Int { 1024 }
    private let mask = 2 * Inbox.capacity - 1
    private let ring: UnsafeMutablePointer<Atomic<UInt>>
    private let written = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)
    private let done = HandOverList()
    /// Values of transactions that wait to be shown, all in one job.
    private let pending = Atomic<UInt>(0)
    private struct Senders {
        /// Jobs that were sent and are neither handed back nor called off, and places that were promised.
        var used = 0
        /// Closes the inbox of a renderer that is gone: jobs that wait are settled, and so are those that come from now
        /// on.
        var isClosed = false
    }
    private let senders = Lock(Senders(), .inbox)

    init() {
        unsafe ring = .allocate(capacity: mask + 1)
        for place in 0...mask { unsafe (ring + place).initialize(to: Atomic(0)) }
    }

    deinit {
        Inbox.settle(takeRemaining())
        collect()
        unsafe ring.deallocate()
    }

    /// Ends jobs of a renderer that is gone: values that were set are set, messages do not run.
    static func settle(_ jobs: [Job]) {
        if jobs.isEmpty { return }
        // Changes may still look at values that they replace here, as on a render thread.
        let counter = CycleCounter()
        Reclaimer.shared.add(counter)
        _ = counter.begin()
        let isDone = jobs.map { job in
            // A message that was to run at a time does not run; the values that were set are set.
            let isDue = job.take() && job.time.isImmediate
            if isDue { job.applyValuesOnly() }
            return isDue
        }
        counter.end()
        Reclaimer.shared.remove(counter)
        Reclaimer.shared.runErrand {
            for (job, isDone) in zip(jobs, isDone) { job.finish(wasDone: isDone, end: .rendererIsGone) }
        }
    }

    // MARK: Control side

    /// Promises a place.
    func reserve() throws(MessageQueueFull) {
        if tryReserve() { return }
        collect()
        if !tryReserve() { throw MessageQueueFull(capacity: Self.capacity) }
    }

    /// Gives a promised place back.
    func cancelReservation() { senders.withLock { $0.used -= 1 } }

    private func tryReserve() -> Bool {
        senders.withLock { senders in
            // A renderer that is gone keeps nothing waiting.
            guard senders.isClosed || senders.used < Self.capacity else { return false }
            senders.used += 1
            return true
        }
    }

    /// The renderer is gone: what was done is freed, what waits is settled, and so is what comes from now on. A task may keep the
    /// inbox while it waits for one of these.
    func close() {
        senders.withLock { $0.isClosed = true }
        collect()
        Inbox.settle(takeRemaining())
    }

    /// Takes a promised place.
    func send(_ job: Job) {
        let (isSent, left) = senders.withLock { senders -> (Bool, [Job]) in
            if senders.isClosed {
                senders.used -= 1
                return (false, [])
            }
            var place = written.load(ordering: .relaxed)
            var left: [Job] = []
            if place - taken.load(ordering: .acquiring) >= Self.capacity { (place, left) = leaveOutCancelled() }
            unsafe ring[place & mask].store(
                UInt(bitPattern: Unmanaged.passRetained(job).toOpaque()), ordering: .relaxed)
            written.store(place + 1, ordering: .releasing)
            return (true, left)
        }
        if !left.isEmpty { Reclaimer.shared.runErrand { withExtendedLifetime(left) {} } }
        if isSent { Collector.shared.wake() } else { Inbox.settle([job]) }
    }

    /// Calls a job off, unless it has been taken. Its place is free at once, and what it holds is released soon.
    func cancel(_ job: Job) -> Bool {
        guard job.cancel() else { return false }
        if job.takesPlace { cancelReservation() }
        return true
    }

    /// Takes the jobs that were called off out of the ring. Called with the lock held: so no job is freed meanwhile, for which the
    /// render thread hands it back first, and ``collect()`` takes the lock.
    ///
    /// - Returns: The place behind the last job, and the jobs that were called off.
    private func leaveOutCancelled() -> (Int, [Job]) {
        while true {
            let (first, end) = (taken.load(ordering: .acquiring), written.load(ordering: .relaxed))
            var next = end
            var cancelled: [UInt] = []
            for place in first..<end {
                let address = unsafe ring[place & mask].load(ordering: .relaxed)
                guard let job = unsafe Self.job(address) else { continue }
                if unsafe job._withUnsafeGuaranteedRef({ $0.isCancelled }) {
                    cancelled.append(address)
                } else {
                    unsafe ring[next & mask].store(address, ordering: .relaxed)
                    next += 1
                }
            }
            if taken.compareExchange(expected: first, desired: end, ordering: .acquiringAndReleasing).exchanged {
                written.store(next, ordering: .releasing)
                return (next, cancelled.compactMap { unsafe Self.job($0)?.takeRetainedValue() })
            }
        }
    }

    /// Adds values to those that wait to be shown. Never full: a cell's newer value takes the older one's place.
    ///
    /// - Returns: The older ones, which the caller releases without holding a lock.
    func submit(_ changes: [Change]) -> [Change] {
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

    /// Takes the jobs that the render thread has handed back, and has them freed in the order in which they were done.
    /// Returns how many there were. Their places are free at once.
    @discardableResult
    func collect() -> Int {
        // Under the lock, so that no sender finds the list empty and its places still taken.
        let jobs = senders.withLock { senders in
            var next = done.takeAll()
            var jobs: [Job] = []
            while let job = unsafe Self.job(next)?.takeRetainedValue() {
                jobs.append(job)
                next = job.next
            }
            senders.used -= jobs.count { $0.takesPlace && !$0.isCancelled }
            return jobs
        }
        guard !jobs.isEmpty else { return 0 }
        Reclaimer.shared.runErrand {
            for job in jobs.reversed() { job.finish(wasDone: true) }
        }
        return jobs.count
    }

    /// Takes all remaining jobs. It is called when there is no render thread any more.
    private func takeRemaining() -> [Job] {
        var jobs: [Job] = []
        let waiting = pending.exchange(0, ordering: .acquiring)
        if let job = unsafe Self.job(waiting)?.takeRetainedValue() { jobs.append(job) }
        while let job = unsafe takeNext() { unsafe jobs.append(job.takeRetainedValue()) }
        return jobs
    }

    static func job(_ address: UInt) -> Unmanaged<Job>? {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged<Job>.fromOpaque(pointer)
    }

    // MARK: Render thread

    /// Takes the values that wait to be shown.
    @_noLocks @_noAllocation
    func takePending() -> Unmanaged<Job>? {
        if pending.load(ordering: .relaxed) == 0 { return nil }
        let address = pending.exchange(0, ordering: .acquiringAndReleasing)
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        return unsafe Unmanaged<Job>.fromOpaque(pointer)
    }

    /// Takes the next job in order.
    @_noLocks @_noAllocation
    func takeNext() -> Unmanaged<Job>? {
        while true {
            let place = taken.load(ordering: .acquiring)
            if place == written.load(ordering: .acquiring) { return nil }
            let address = unsafe ring[place & mask].load(ordering: .relaxed)
            let isMine = taken.compareExchange(
                expected: place, desired: place &+ 1, ordering: .acquiringAndReleasing
            ).exchanged
            // Otherwise a sender has just moved the beginning.
            guard isMine, let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { continue }
            return unsafe Unmanaged<Job>.fromOpaque(pointer)
        }
    }

    /// Hands a job back.
    @_noLocks @_noAllocation
    func handBack(_ job: Unmanaged<Job>) {
        let address = unsafe UInt(bitPattern: job.toOpaque())
        var before = done.newest
        repeat {
            // Its owner is this thread until it is in the list.
            let next = before
            unsafe _unsafePerformance { unsafe job._withUnsafeGuaranteedRef { $0.next = next } }
        } while !done.add(address, to: &before)
    }
}
