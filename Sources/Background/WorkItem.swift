internal import RenderCore
internal import Synchronization

/// The frames of its renderer at which a job was submitted and is due; the render thread's own.
@usableFromInline struct WorkTerms: Sendable, BitwiseCopyable {
    var submitted: Int64 = .min
    var due: Int64 = .min
    /// Indicates whether the job was counted as late.
    var isCounted = false

    @usableFromInline init() {}
}

/// A job on its way from the render thread to a thread of the ``WorkPool`` and back: its state belongs to the render
/// thread while the stage is idle or done, to the pool while it is queued, and to one thread of the pool while it runs.
@safe @usableFromInline struct WorkItem: ~Copyable {
    /// The stage is on the heap of its own, because threads sleep on it.
    let stage: UnsafeMutablePointer<Atomic<UInt32>>
    let queue: WorkQueue
    let run: @Sendable () -> Void
    let free: @Sendable () -> Void
    /// The host time at which the result is needed; `.max` offline, where only the result has a deadline.
    var due: Int64 = .max
    /// The address of the next item in the queue.
    var next: UInt = 0
    /// The thread that runs it; 0 for none.
    let runner = Atomic<UInt>(0)
    /// Indicates whether the item is freed behind the job: no module waits for it, or the job itself has released the module.
    var isOrphan = false

    private let submitted = Atomic<Int>(0)
    private let late = Atomic<Int>(0)
    let longest = Atomic<Int64>(0)

    enum Stage: UInt32 { case idle, queued, running, done }

    init(_ queue: WorkQueue, run: @escaping @Sendable () -> Void, free: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.run = run
        self.free = free
        unsafe stage = .allocate(capacity: 1)
        unsafe stage.initialize(to: Atomic(Stage.idle.rawValue))
    }

    deinit { unsafe stage.deallocate() }

    var statistics: BackgroundStatistics {
        BackgroundStatistics(
            submitted: submitted.load(ordering: .relaxed), late: late.load(ordering: .relaxed),
            longest: longest.load(ordering: .relaxed))
    }

    /// Returns the outcome of the job. On the render thread, which waits only offline.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func look(
        _ item: UnsafeMutablePointer<WorkItem>, _ terms: UnsafeMutablePointer<WorkTerms>, at now: Int64,
        _ isOffline: Bool
    ) -> BackgroundOutcome {
        let stage = unsafe item.pointee.stage.pointee.load(ordering: .acquiring)
        if stage == Stage.idle.rawValue { return .ready }
        // A clock that was set back makes the job due.
        if unsafe now >= terms.pointee.submitted && now < terms.pointee.due { return .notDue }
        if stage != Stage.done.rawValue {
            if !isOffline {
                if unsafe !terms.pointee.isCounted { unsafe item.pointee.late.wrappingAdd(1, ordering: .relaxed) }
                unsafe terms.pointee.isCounted = true
                return .late
            }
            // Offline the driver waits here, and no device waits for the driver.
            unsafe _unsafePerformance { unsafe WorkPool.shared.awaitEnd(item) }
        }
        unsafe item.pointee.stage.pointee.store(Stage.idle.rawValue, ordering: .relaxed)
        return .ready
    }

    /// Hands the job over. On the render thread.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func submit(
        _ item: UnsafeMutablePointer<WorkItem>, _ terms: UnsafeMutablePointer<WorkTerms>, at now: Int64,
        _ deadline: Int,
        _ hostTime: Int64, _ frame: Int, _ rate: Double, _ isOffline: Bool
    ) -> Bool {
        guard unsafe item.pointee.stage.pointee.load(ordering: .relaxed) == Stage.idle.rawValue else { return false }
        // Half a million years at most, so that no sum overflows.
        let frames = Int64(deadline < 0 ? 0 : deadline > 1 << 60 ? 1 << 60 : deadline)
        unsafe terms.pointee.submitted = now
        unsafe terms.pointee.due = now.addingReportingOverflow(frames).overflow ? Int64.max : now &+ frames
        unsafe terms.pointee.isCounted = false
        let nanoseconds = (Double(frame) + Double(frames)) * 1e9 / rate
        let isFar = isOffline || !(nanoseconds < 0x1p61) || hostTime > 1 &<< 61
        unsafe item.pointee.due = isFar ? Int64.max : hostTime &+ Int64(nanoseconds)
        unsafe item.pointee.stage.pointee.store(Stage.queued.rawValue, ordering: .relaxed)
        unsafe item.pointee.submitted.wrappingAdd(1, ordering: .relaxed)
        unsafe item.pointee.queue.push(item)
        return true
    }
}
