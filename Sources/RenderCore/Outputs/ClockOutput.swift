internal import CRender
internal import Glibc
internal import Synchronization

/// Drives a renderer by the clock of the machine: for programs without sound hardware, for tests, for servers.
///
///     let output = ClockOutput(renderer, period: 256)
///     try output.start()
///
/// It renders a cycle of `period` frames at its deadline, a fixed time after the one before whatever happens in between,
/// and throws the samples away: what is to be kept is taken from the stack, by a tap. Its thread has real-time priority
/// where the system allows it; where not, ``OutputEvent/notice(_:)`` says so and it goes on without.
public final class ClockOutput: RenderOutput, @unchecked Sendable {
    // Unchecked because `memory` is the render thread's while it runs, and what else is stored does not change.
    private let renderer: Renderer
    private let period: Int
    private let sampleRate: Double
    private let priority: Int
    private let hub = EventHub<OutputEvent>()
    private let load = LoadHistogram()
    private let shouldRun = Flag()
    private let control: Lock<Control>

    private struct Control {
        var thread: pthread_t?
        var tellers: Task<Void, Never>?
        /// The renderer's faults before this start.
        var faultsBefore = 0
    }

    /// An output.
    ///
    /// - Parameters:
    ///   - renderer: what it drives.
    ///   - sampleRate: frames per second; the renderer's own if nothing is said.
    ///   - period: frames in a cycle, 1…65,536.
    ///   - priority: the real-time priority of its thread, 1…99; 0 for an ordinary thread.
    /// - Precondition: the numbers are in range.
    public init(_ renderer: Renderer, sampleRate: Double? = nil, period: Int = 256, priority: Int = 70) {
        precondition((1...65_536).contains(period), "ClockOutput: a period of \(period) frames; it must be 1…65,536")
        precondition((0...99).contains(priority), "ClockOutput: a priority of \(priority); it must be 0…99")
        self.renderer = renderer
        self.period = period
        self.priority = priority
        self.sampleRate = sampleRate ?? renderer.sampleRate
        control = Lock(Control())
    }

    deinit {
        stop()
        hub.finish()
    }

    /// Notices and missed deadlines, from now on.
    public var events: AsyncStream<OutputEvent> { hub.subscribe() }

    /// Whether it is rendering.
    public var state: OutputState { control.withLock { $0.thread == nil ? .stopped : .running } }

    /// How it has been doing since it was started last.
    public var statistics: OutputStatistics {
        var statistics = load.statistics
        statistics.faults = renderer.faultCount - control.withLock { $0.faultsBefore }
        statistics.slowestModule = renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }
        return statistics
    }

    /// Begins to render. The statistics begin anew.
    public func start() throws {
        try control.withLock { control throws(OutputError) in
            guard control.thread == nil else { return }
            renderer.configure(sampleRate: sampleRate)
            load.clear()
            control.faultsBefore = renderer.faultCount
            shouldRun.value.store(true, ordering: .releasing)
            let engine = Engine(
                renderer: renderer, period: period, sampleRate: sampleRate, priority: priority, load: load,
                shouldRun: shouldRun,
                notice: { [hub] sentence in hub.send(.notice(sentence)) })
            var thread = pthread_t()
            let argument = unsafe Unmanaged.passRetained(engine).toOpaque()
            let error = unsafe pthread_create(
                &thread, nil,
                { argument in
                    guard let argument = unsafe argument else { return nil }
                    unsafe Unmanaged<Engine>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                }, argument)
            guard error == 0 else {
                unsafe Unmanaged<Engine>.fromOpaque(argument).release()
                throw OutputError("The render thread cannot be started: \(errorText(error)).")
            }
            control.thread = thread
            control.tellers = Task { [hub, load] in
                // The render thread wakes nobody: somebody has to look.
                var told = 0
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(100))
                    let missed = load.statistics.missedDeadlines
                    if missed > told { hub.send(.missedDeadlines(count: missed - told)) }
                    told = missed
                }
            }
        }
    }

    /// Ends after the cycle that is being rendered, and waits for that. May be started again.
    public func stop() {
        control.withLock { control in
            guard let thread = control.thread else { return }
            shouldRun.value.store(false, ordering: .releasing)
            pthread_join(thread, nil)
            control.thread = nil
            control.tellers?.cancel()
        }
    }
}

/// Why an output cannot start.
public struct OutputError: Error, CustomStringConvertible {
    /// What is wrong and what to do.
    public let description: String
    package init(_ description: String) { self.description = description }
}

/// What an error number means.
func errorText(_ number: Int32) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
}

/// Whether the render thread goes on. Of its own, because the output may be on its way out when the thread asks.
private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
}

/// The render thread of a clock output.
@safe private final class Engine: @unchecked Sendable {
    // Unchecked because it is made on one thread, handed to another, and used there alone.
    private let renderer: Renderer
    private let period: Int
    private let sampleRate: Double
    private let priority: Int
    private let load: LoadHistogram
    private let shouldRun: Flag
    private let notice: (String) -> Void

    init(
        renderer: Renderer, period: Int, sampleRate: Double, priority: Int, load: LoadHistogram,
        shouldRun: Flag, notice: @escaping (String) -> Void
    ) {
        self.renderer = renderer
        self.period = period
        self.sampleRate = sampleRate
        self.priority = priority
        self.load = load
        self.shouldRun = shouldRun
        self.notice = notice
    }

    func run() {
        unsafe crender_name_thread("rs-clock")
        becomeRealtime()
        _ = crender_prefault_stack(256 * 1024)
        let denormals = crender_denormals_off()
        defer { crender_denormals_restore(denormals) }

        let counts = renderer.outputChannelCounts
        let block = AudioBlock(channels: min(64, counts.reduce(0, +)), frames: period)
        let channels = unsafe UnsafeBufferPointer(
            start: UnsafePointer(block.pointers), count: block.channelCount)
        let nanoseconds = Double(period) * 1e9 / sampleRate
        let first = HostClock.now + Int64(nanoseconds)
        var start = first
        var cycle: Int64 = 0
        while shouldRun.value.load(ordering: .acquiring) {
            // From the first deadline on, and not from the last: nothing adds up.
            var due = start + Int64(Double(cycle) * nanoseconds)
            sleep(until: due)
            let woken = HostClock.now
            if Double(woken - due) >= nanoseconds {
                // More than a cycle late: this one was missed, and others too if it is more. Begin anew from here.
                load.addMissed(at: woken)
                start = woken
                cycle = 0
                due = woken
            }
            unsafe renderer.render(frames: period, into: channels, hostTime: due)
            let took = Double(HostClock.now - woken)
            load.add(load: took / nanoseconds)
            cycle += 1
        }
    }

    private func sleep(until time: Int64) {
        var request = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &request, nil) == EINTR {}
    }

    private func becomeRealtime() {
        guard priority > 0 else { return }
        let error = crender_make_realtime(Int32(priority), 500_000)
        if error != 0 {
            notice(
                "No real-time priority (\(errorText(error))): the sound may be interrupted when the machine is busy. "
                    + "Allow it with an `rtprio` line in /etc/security/limits.d, or run `ulimit -r \(priority)` as root."
            )
        }
        let memory = crender_lock_memory()
        if memory != 0 {
            notice(
                "The memory is not locked (\(errorText(memory))): the sound may be interrupted when the machine swaps. "
                    + "Allow it with a `memlock` line in /etc/security/limits.d.")
        }
    }
}
