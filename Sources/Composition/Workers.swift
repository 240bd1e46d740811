internal import CRender
internal import Glibc
internal import LinuxRealtime
internal import RenderCore
internal import Synchronization

/// Threads that help a render thread with branches that do not depend on each other.
///
/// A slice is a *batch*: the render thread writes the jobs down and publishes a ticket with the batch's number. Then
/// every thread, the render thread too, takes the next job by adding one to the ticket. A thread that comes late finds
/// another number or no job left, and has touched nothing. When no job is left, the render thread waits for those that
/// were begun. It waits in a loop at first, since they take about as long as its own did. After that it sleeps, since
/// then the worker has lost its processor and may be waiting for this one.
@safe final class Workers: @unchecked Sendable {
    // Unchecked because the render thread writes jobs and batch while no job is left, a thread reads them after it has
    // taken one, and the threads are the control side's.
    private let ticket = Atomic<UInt64>(0)
    private let jobs: UnsafeMutablePointer<Job>
    private let batch: UnsafeMutablePointer<Batch>
    /// The words that threads sleep on, at addresses that do not change: bumped for each batch; jobs that are done.
    private let bell: UnsafeMutablePointer<Atomic<UInt32>>
    private let done: UnsafeMutablePointer<Atomic<UInt32>>
    private let isAwaited = Atomic<Bool>(false)
    private let sleepers = Atomic<Int>(0)
    private let mustEnd = Atomic<Bool>(false)
    private let helped = Atomic<Int>(0)
    private let realtime = Atomic<Int>(0)
    private let running = Atomic<Int>(0)
    private let priority: Int
    private let worthwhile: Int64
    /// The render thread's own.
    private let habits: UnsafeMutablePointer<Habits>
    private let threads: Lock<[pthread_t]>

    @safe private struct Job {
        var state: Unmanaged<CycleState>?
        let channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
        var channelCount = 0
        /// The supply of the branch, with what it sends: the outputs' lists are for one thread.
        let supply: UnsafeMutablePointer<CycleSupply>
        let outbox: UnsafeMutablePointer<Outbox>
        /// The time that the job took.
        var nanoseconds: Int64 = 0
    }

    private struct Batch {
        var frames = 0
        var hostTime: Int64 = 0
        var isOffline = false
        var outerSlice = OuterSlice.none
        var beats = BeatSource.own
        /// Indicates whether the renderer around has a supply, and the frame of it at which the slice begins.
        var hasSupply = false
        var supplyStart = 0
        /// Indicates whether the modules are reset before.
        var resets = false
        /// The render thread's treatment of denormals, so that every thread computes the same.
        var denormals: UInt64 = 0
        var period: UInt64 = 0
    }

    private struct Habits {
        /// The time that a frame of all branches takes, in nanoseconds, of late.
        var perFrame = 0.0
        var number: UInt32 = 0
        /// The number of batches in a row in which no worker came to help.
        var alone = 0
    }

    /// The time that a thread looks out for work, or for work to end, before it sleeps: nanoseconds.
    private static var patience: Int64 { 50_000 }

    /// The messages that a branch sends in a slice.
    private static var messageLimit: Int { 1_024 }

    static var processorCount: Int { Int(crender_processor_count()) }

    init(count: Int, branches: Int, priority: Int, worthwhile: Int64) {
        self.priority = priority
        self.worthwhile = worthwhile
        unsafe jobs = .allocate(capacity: branches)
        for index in 0..<branches {
            let job = unsafe Job(
                state: nil, channels: .allocate(capacity: 64), supply: .allocate(capacity: 1),
                outbox: .allocate(capacity: 1))
            unsafe job.supply.initialize(to: CycleSupply())
            unsafe job.outbox.initialize(to: Outbox(capacity: Self.messageLimit))
            unsafe (jobs + index).initialize(to: job)
        }
        branchCount = branches
        unsafe batch = .allocate(capacity: 1)
        unsafe batch.initialize(to: Batch())
        unsafe bell = .allocate(capacity: 1)
        unsafe bell.initialize(to: Atomic(0))
        unsafe done = .allocate(capacity: 1)
        unsafe done.initialize(to: Atomic(0))
        unsafe habits = .allocate(capacity: 1)
        unsafe habits.initialize(to: Habits())
        threads = Lock([])
        for _ in 0..<count { startThread() }
    }
    private let branchCount: Int

    deinit {
        for index in 0..<branchCount {
            unsafe jobs[index].channels.deallocate()
            unsafe jobs[index].supply.deallocate()
            unsafe jobs[index].outbox.deinitialize(count: 1)
            unsafe jobs[index].outbox.deallocate()
        }
        unsafe jobs.deallocate()
        unsafe batch.deallocate()
        unsafe bell.deallocate()
        unsafe done.deallocate()
        unsafe habits.deallocate()
    }

    /// Starts a thread. If no thread can be had there is one fewer, and the others do the work.
    private func startThread() {
        var thread = pthread_t()
        guard LinuxRealtime.startThread(&thread, { self.work() }) == 0 else { return }
        running.wrappingAdd(1, ordering: .relaxed)
        threads.withLock { $0.append(thread) }
    }

    /// Ends the threads, after the jobs that they have begun. From now on the render thread renders all branches alone.
    func stop() {
        let all = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        guard !all.isEmpty else { return }
        mustEnd.store(true, ordering: .sequentiallyConsistent)
        unsafe bell.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        unsafe crender_wake(bell, .max)
        for thread in all { pthread_join(thread, nil) }
    }

    var count: Int { running.load(ordering: .relaxed) }
    var realtimeCount: Int { realtime.load(ordering: .relaxed) }
    var helpCount: Int { helped.load(ordering: .relaxed) }

    // MARK: Render thread

    /// Pushes a buffer for every branch, and has each rendered.
    ///
    /// - Parameter resets: `true` if their modules are reset before.
    func render(_ branches: borrowing Branches, _ context: inout RenderContext, resets: Bool = false) {
        var count = 0
        let passed = context.supply()
        for index in 0..<branches.count {
            let state = unsafe branches.states[index]
            let channels = unsafe state._withUnsafeGuaranteedRef { $0.channelCount }
            guard context.claim(channels: min(channels, context.channelLimit), for: .push) else { continue }
            let entry = unsafe context.entries + (context.depth &- 1)
            let job = unsafe jobs + count
            unsafe job.pointee.state = state
            unsafe job.pointee.channelCount = entry.pointee.channelCount
            for channel in unsafe 0..<entry.pointee.channelCount {
                unsafe job.pointee.channels[channel] = entry.pointee.channels[channel] + context.offset
            }
            if let supply = unsafe passed.supply {
                unsafe job.pointee.supply.pointee = supply.pointee
                unsafe job.pointee.supply.pointee.outbox = job.pointee.outbox
            }
            count &+= 1
        }
        let frames = context.frameCount
        unsafe batch.pointee.frames = frames
        unsafe batch.pointee.hostTime = context.hostTime
        unsafe batch.pointee.isOffline = context.isOffline
        unsafe batch.pointee.outerSlice = context.outerSlice
        unsafe batch.pointee.beats = context.beatSource()
        unsafe batch.pointee.resets = resets
        unsafe (batch.pointee.hasSupply, batch.pointee.supplyStart) = (passed.supply != nil, passed.start)
        render(count, frames, context)
        if let supply = unsafe passed.supply { for index in 0..<count { unsafe deliver(jobs[index].outbox, supply) } }
    }

    /// Sends the messages of a branch on.
    private func deliver(_ outbox: UnsafeMutablePointer<Outbox>, _ supply: UnsafeMutablePointer<CycleSupply>) {
        for number in unsafe 0..<outbox.pointee.count {
            let entry = unsafe outbox.pointee[number]
            _ = unsafe supply.pointee.send(entry.event, to: entry.port)
        }
        unsafe outbox.pointee.forget(dueBefore: .max)
    }

    private func render(_ count: Int, _ frames: Int, _ context: borrowing RenderContext) {
        if count < 2 || running.load(ordering: .relaxed) == 0 { return renderAlone(count) }
        if callsForHelp(frames) {
            unsafe batch.pointee.period = context.isOffline ? 0 : UInt64(Double(frames) * 1e9 / context.sampleRate)
            renderTogether(count, frames)
        } else {
            let start = HostClock.now
            renderAlone(count)
            learn(HostClock.now &- start, frames)
        }
    }

    /// Returns whether waking a worker pays. If workers never come (one processor, busy ones), it is tried now and
    /// then.
    private func callsForHelp(_ frames: Int) -> Bool {
        unsafe habits.pointee.number &+= 1
        if unsafe habits.pointee.perFrame * Double(frames) < Double(worthwhile) { return false }
        return unsafe habits.pointee.alone < 16 || habits.pointee.number & 31 == 0
    }

    private func learn(_ nanoseconds: Int64, _ frames: Int) {
        let now = Double(nanoseconds) / Double(frames)
        unsafe habits.pointee.perFrame += (now - habits.pointee.perFrame) * 0.125
    }

    private func renderAlone(_ count: Int) {
        for index in 0..<count { perform(index) }
    }

    private func renderTogether(_ count: Int, _ frames: Int) {
        unsafe batch.pointee.denormals = crender_denormals_word()
        unsafe done.pointee.store(0, ordering: .relaxed)
        let before = helped.load(ordering: .relaxed)
        let number = unsafe UInt64(habits.pointee.number) &<< 32
        ticket.store(number | UInt64(count) &<< 16, ordering: .sequentiallyConsistent)
        unsafe bell.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        let asleep = sleepers.load(ordering: .sequentiallyConsistent)
        if asleep > 0 {
            // The one system call here, and the reason for having workers at all: it does not wait.
            crender_permitted_begins()
            unsafe crender_wake(bell, Int32(truncatingIfNeeded: min(asleep, count &- 1)))
            crender_permitted_ends()
        }
        while let index = takeJob() {
            time(index)
            unsafe done.pointee.wrappingAdd(1, ordering: .releasing)
        }
        awaitOthers(UInt32(truncatingIfNeeded: count))
        var sum: Int64 = 0
        for index in 0..<count { unsafe sum &+= jobs[index].nanoseconds }
        learn(sum, frames)
        let cameAlong = helped.load(ordering: .relaxed) != before
        unsafe habits.pointee.alone = cameAlong ? 0 : habits.pointee.alone &+ 1
    }

    /// Waits for jobs that workers have begun.
    private func awaitOthers(_ count: UInt32) {
        let start = HostClock.now
        var turns = 0
        while unsafe done.pointee.load(ordering: .acquiring) < count {
            crender_pause()
            turns &+= 1
            guard turns & 127 == 0, HostClock.now &- start > Self.patience else { continue }
            // A worker may need this processor to go on, and with real-time priority it would never get it.
            isAwaited.store(true, ordering: .sequentiallyConsistent)
            let now = unsafe done.pointee.load(ordering: .sequentiallyConsistent)
            if now < count {
                crender_permitted_begins()
                unsafe crender_wait(done, now)
                crender_permitted_ends()
            }
            isAwaited.store(false, ordering: .relaxed)
        }
    }

    // MARK: Any thread

    /// Takes the next job that no thread has begun, and returns its number.
    private func takeJob() -> Int? {
        var now = ticket.load(ordering: .acquiring)
        while now & 0xffff < now &>> 16 & 0xffff {
            let (exchanged, found) = ticket.weakCompareExchange(
                expected: now, desired: now &+ 1, ordering: .acquiringAndReleasing)
            if exchanged { return Int(truncatingIfNeeded: now & 0xffff) }
            now = found
        }
        return nil
    }

    private func perform(_ index: Int) {
        let job = unsafe jobs + index
        let (batch, state) = unsafe (self.batch, job.pointee.state)
        let channels = unsafe UnsafeBufferPointer(start: job.pointee.channels, count: job.pointee.channelCount)
        guard let state = unsafe state else { return }
        let passed = unsafe PassedSupply(
            supply: batch.pointee.hasSupply ? job.pointee.supply : nil, start: batch.pointee.supplyStart)
        unsafe state._withUnsafeGuaranteedRef { state in
            unsafe state.render(
                frames: batch.pointee.frames, into: channels, hostTime: batch.pointee.hostTime,
                isOffline: batch.pointee.isOffline, inside: batch.pointee.outerSlice, beats: batch.pointee.beats,
                supply: passed, resets: batch.pointee.resets)
        }
    }

    private func time(_ index: Int) {
        let start = HostClock.now
        perform(index)
        unsafe jobs[index].nanoseconds = HostClock.now &- start
    }

    // MARK: Workers

    private func work() {
        unsafe crender_name_thread("rs-worker")
        _ = crender_prefault_stack(256 * 1024)
        let denormals = crender_denormals_off()
        defer { crender_denormals_restore(denormals) }
        var mode = Mode.ordinary
        setMode(&mode, isOffline: false)
        while !mustEnd.load(ordering: .acquiring) {
            while let index = takeJob() { help(index, &mode) }
            awaitWork()
        }
        if mode == .realtime { realtime.wrappingSubtract(1, ordering: .relaxed) }
        running.wrappingSubtract(1, ordering: .relaxed)
    }

    private func help(_ index: Int, _ mode: inout Mode) {
        setMode(&mode, isOffline: unsafe batch.pointee.isOffline)
        crender_denormals_restore(unsafe batch.pointee.denormals)
        crender_cycle_begins(unsafe batch.pointee.period)
        time(index)
        crender_cycle_ends()
        helped.wrappingAdd(1, ordering: .relaxed)
        unsafe done.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        if isAwaited.load(ordering: .sequentiallyConsistent) { unsafe crender_wake(done, 1) }
    }

    /// Looks out for a batch for a while, then sleeps until there is one.
    private func awaitWork() {
        let seen = unsafe bell.pointee.load(ordering: .sequentiallyConsistent)
        // A batch may have come before that.
        let now = ticket.load(ordering: .acquiring)
        if now & 0xffff < now &>> 16 & 0xffff || mustEnd.load(ordering: .acquiring) { return }
        let start = HostClock.now
        var turns = 0
        while unsafe bell.pointee.load(ordering: .relaxed) == seen {
            crender_pause()
            turns &+= 1
            guard turns & 127 == 0, HostClock.now &- start > Self.patience else { continue }
            sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
            // The kernel looks at the word again: a batch that came in between is not missed.
            unsafe crender_wait(bell, seen)
            sleepers.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        }
    }

    private enum Mode { case ordinary, realtime, refused }

    /// Sets the priority of a thread. Live rendering gets real-time priority; once it was refused it is not asked for
    /// again.
    private func setMode(_ mode: inout Mode, isOffline: Bool) {
        switch (mode, isOffline) {
        case (.ordinary, false) where priority > 0:
            mode = RealtimeThread.raiseHelper(to: priority) ? .realtime : .refused
            if mode == .realtime { realtime.wrappingAdd(1, ordering: .relaxed) }
        case (.realtime, true):
            _ = crender_make_ordinary()
            realtime.wrappingSubtract(1, ordering: .relaxed)
            mode = .ordinary
        default: break
        }
    }
}
