internal import CRender
internal import Glibc
internal import LinuxRealtime
internal import RenderCore
internal import Synchronization

/// The threads that do the jobs of ``BackgroundWork``, for as long as the process runs.
@safe final class WorkPool: Sendable {
    static let shared = WorkPool()

    let queue = WorkQueue()
    /// Addresses of the jobs that no thread has begun, in the order in which they came.
    private let waiting = Lock<[UInt]>([])
    private let threadCount = Lock(0)
    /// The number of threads: one fewer than the processors, one of which is left to ordinary threads.
    let threadLimit = max(1, min(4, Int(crender_processor_count()) - 1))
    /// Below every audio thread (JACK gives its clients 5 and more), above all that is not real-time.
    private static var priority: Int { 2 }
    /// The time after which a thread makes a pause, however many jobs wait: 50 ms.
    private static var patience: Int64 { 50_000_000 }

    private init() {}

    /// Makes an item for jobs. The threads start with the first.
    func makeItem(
        run: @escaping @Sendable () -> Void, free: @escaping @Sendable () -> Void
    ) -> UnsafeMutablePointer<WorkItem> {
        startThreads()
        let item = UnsafeMutablePointer<WorkItem>.allocate(capacity: 1)
        unsafe item.initialize(to: WorkItem(queue, run: run, free: free))
        return unsafe item
    }

    /// Does a job once, for control code, among those of render threads: the one that is due first comes first.
    func run(due: Int64, _ job: @escaping @Sendable () -> Void) {
        let item = unsafe makeItem(run: job, free: {})
        unsafe item.pointee.due = due
        unsafe item.pointee.isOrphan = true
        unsafe item.pointee.stage.pointee.store(WorkItem.Stage.queued.rawValue, ordering: .relaxed)
        unsafe queue.push(item)
    }

    /// Starts threads. If no thread can be had, the next item tries again; until then live jobs are late, and offline
    /// the thread that waits does them.
    private func startThreads() {
        threadCount.withLock { count in
            while count < threadLimit {
                var thread = pthread_t()
                let error = startThread(&thread) {
                    unsafe crender_name_thread("rs-background")
                    WorkPool.shared.work()
                }
                guard error == 0 else { return }
                pthread_detach(thread)
                count += 1
            }
        }
    }

    // MARK: On the side of modules

    /// Waits until a job is done, or does it if no thread has begun it. On a thread that renders offline.
    func awaitEnd(_ item: UnsafeMutablePointer<WorkItem>) {
        crender_permitted_begins()
        if unsafe take(item) { unsafe perform(item) } else { unsafe waitForEnd(item) }
        crender_permitted_ends()
    }

    /// Frees an item, behind the job that may be running.
    func end(_ item: UnsafeMutablePointer<WorkItem>) {
        let stage = unsafe item.pointee.stage.pointee.load(ordering: .acquiring)
        let isUnderWay = stage == WorkItem.Stage.queued.rawValue || stage == WorkItem.Stage.running.rawValue
        if unsafe isUnderWay && !take(item) {
            if unsafe item.pointee.runner.load(ordering: .acquiring) == UInt(pthread_self()) {
                // The job itself has dropped the module.
                unsafe item.pointee.isOrphan = true
                return
            }
            unsafe waitForEnd(item)
        }
        unsafe free(item)
    }

    private func waitForEnd(_ item: UnsafeMutablePointer<WorkItem>) {
        let stage = unsafe item.pointee.stage
        while true {
            let now = unsafe stage.pointee.load(ordering: .acquiring)
            if now == WorkItem.Stage.done.rawValue { return }
            unsafe crender_wait(stage, now)
        }
    }

    private func free(_ item: UnsafeMutablePointer<WorkItem>) {
        unsafe item.pointee.free()
        unsafe item.deinitialize(count: 1)
        unsafe item.deallocate()
    }

    // MARK: On the threads

    private func work() {
        var mode = Mode.ordinary
        var awakeSince = HostClock.now
        while true {
            let count = queue.count
            if let item = unsafe takeFirst() {
                setMode(&mode, isLive: unsafe item.pointee.due != .max)
                unsafe perform(item)
                if HostClock.now &- awakeSince < Self.patience { continue }
                // The guard takes the priority of a thread that computes too long without a pause.
                usleep(500)
            } else {
                queue.sleep(since: count)
                if mode == .lost { mode = .ordinary }
            }
            awakeSince = HostClock.now
        }
    }

    private func perform(_ item: UnsafeMutablePointer<WorkItem>) {
        HeldLocks.expectNone(before: "a job runs")
        unsafe item.pointee.runner.store(UInt(pthread_self()), ordering: .releasing)
        // Denormals are off, so that every thread computes the same numbers.
        let denormals = crender_denormals_off()
        let start = HostClock.now
        unsafe item.pointee.run()
        let took = HostClock.now &- start
        crender_denormals_restore(denormals)
        if unsafe item.pointee.isOrphan { return unsafe free(item) }
        if unsafe took > item.pointee.longest.load(ordering: .relaxed) {
            unsafe item.pointee.longest.store(took, ordering: .relaxed)
        }
        unsafe item.pointee.runner.store(0, ordering: .relaxed)
        // From here on the item may be freed; only its address is used, to wake the threads that wait for it.
        let stage = unsafe item.pointee.stage
        unsafe stage.pointee.store(WorkItem.Stage.done.rawValue, ordering: .releasing)
        unsafe crender_wake(stage, .max)
    }

    /// Takes the job that is due first out of the queue, and returns it.
    private func takeFirst() -> UnsafeMutablePointer<WorkItem>? {
        unsafe waiting.withLock { waiting in
            collect(&waiting)
            var first: Int?
            for index in waiting.indices {
                guard let known = first else {
                    first = index
                    continue
                }
                if unsafe WorkPool.item(waiting[index]).pointee.due < WorkPool.item(waiting[known]).pointee.due {
                    first = index
                }
            }
            return unsafe first.map { unsafe begin(waiting.remove(at: $0)) }
        }
    }

    /// Takes one job, unless another thread has begun it.
    private func take(_ item: UnsafeMutablePointer<WorkItem>) -> Bool {
        waiting.withLock { waiting in
            collect(&waiting)
            guard let index = waiting.firstIndex(of: UInt(bitPattern: item)) else { return false }
            _ = unsafe begin(waiting.remove(at: index))
            return true
        }
    }

    private func begin(_ address: UInt) -> UnsafeMutablePointer<WorkItem> {
        let item = unsafe WorkPool.item(address)
        unsafe item.pointee.stage.pointee.store(WorkItem.Stage.running.rawValue, ordering: .relaxed)
        return unsafe item
    }

    /// Puts new jobs behind those that wait.
    private func collect(_ waiting: inout [UInt]) {
        let end = waiting.count
        var address = queue.takeAll()
        while address != 0 {
            waiting.insert(address, at: end)
            address = unsafe WorkPool.item(address).pointee.next
        }
    }

    private static func item(_ address: UInt) -> UnsafeMutablePointer<WorkItem> {
        unsafe UnsafeMutablePointer(bitPattern: address)!
    }

    private enum Mode {
        case ordinary, realtime, refused
        /// The guard has taken the priority: it comes back when there was nothing to do for a moment.
        case lost
    }

    /// Sets the priority of a thread. Jobs for live rendering get real-time priority, on machines where that leaves a
    /// processor to other threads. Once it was refused it is not asked for again.
    private func setMode(_ mode: inout Mode, isLive: Bool) {
        switch (mode, isLive) {
        case (.ordinary, true) where crender_processor_count() > 1:
            mode = RealtimeThread.raiseHelper(to: Self.priority) ? .realtime : .refused
        case (.realtime, true) where !crender_thread_policy().is_realtime:
            mode = .lost
        case (.realtime, false):
            _ = crender_make_ordinary()
            mode = .ordinary
        default: break
        }
    }
}
