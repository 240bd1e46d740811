internal import Glibc
public import RenderCore
internal import Synchronization

/// The parts that every output has, whatever it plays through: the right to drive its renderer, events, statistics, a
/// notice about a render loop that does not end, and, for outputs that need one of their own, a thread with real-time
/// priority.
///
/// An output is a class that holds a core and passes on to it the requirements of ``RenderOutput``. An output with a
/// thread of its own:
///
///     public final class StreamOutput: RenderOutput {
///         private let core: OutputCore
///
///         public init(_ renderer: Renderer) { core = OutputCore(renderer, called: "a StreamOutput") }
///
///         public func start() throws {
///             try core.start(thread: "stream", priority: 70) { run in
///                 var block = AudioBlock(channels: run.channelCount, frames: 256)
///                 while run.goesOn {
///                     run.render(into: &block)
///                     …                                       // gives the block away, and waits until it is taken
///                 }
///             }
///         }
///         public func stop() { core.stop() }
///         public var state: OutputState { core.state }
///         public var statistics: OutputStatistics { core.statistics }
///         public var events: AsyncStream<OutputEvent> { core.events }
///     }
///
/// An output that a server calls, on a thread of the server's, begins with ``start(priority:sampleRate:)`` and calls
/// ``OutputRun/render(_:)`` in each callback, with an ``OutputCycle`` for what comes in.
///
/// The core ends with its output: it stops when its last reference is gone.
///
/// Threads: control.
public final class OutputCore: EventSource, Sendable {
    /// The renderer that the output drives.
    public let renderer: Renderer
    /// The name of the output in errors of other outputs.
    let name: String
    private let runsServers: Bool
    package let hub = EventHub<OutputEvent>()
    package let latency = OutputLatency()
    private let load = LoadHistogram()
    /// Reports what interrupts the sound, and how often it has been interrupted until now.
    private let missedDeadlines: MissedDeadlineTeller
    private let toldMissed = Atomic<Int>(0)
    private let faultsBefore = Atomic<Int>(0)
    private let shownState = Atomic<UInt8>(OutputState.stopped.number)
    private let control = Lock(Control(), .run)

    private struct Control {
        var isStarting = false
        var run: OutputRun?
        /// The last one that was stopped, which may not have ended.
        var stopped: OutputRun?
        var teller: Task<Void, Never>?
    }

    /// Creates a core for an output.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive.
    ///   - name: The name of the output in errors of another one, with its article: "a StreamOutput".
    public convenience init(_ renderer: Renderer, called name: String) {
        self.init(renderer, called: name, runsServers: true)
    }

    /// - Parameter runsServers: `false` if the render thread runs no code of a sound server or a card, which then is not
    ///   locked.
    init(_ renderer: Renderer, called name: String, runsServers: Bool) {
        self.renderer = renderer
        self.name = name
        self.runsServers = runsServers
        missedDeadlines = MissedDeadlineTeller(renderer, hub, load)
    }

    deinit {
        stop()
        hub.finish()
    }

    // MARK: Events

    /// The events from now on.
    public var events: AsyncStream<OutputEvent> { hub.subscribe() }

    /// Sends an event to all listeners.
    public func send(_ event: OutputEvent) { hub.send(event) }

    /// The output's state: running from the start to the stop, unless ``show(_:)`` has set another one.
    public var state: OutputState {
        let state = OutputState(number: shownState.load(ordering: .acquiring))
        // A thread that has returned by itself.
        return state == .running && control.withLock { $0.run?.hasEnded == true } ? .stopped : state
    }

    /// Shows another state: an output whose device is gone is waiting, or has stopped.
    public func show(_ state: OutputState) { shownState.store(state.number, ordering: .releasing) }

    /// The statistics since the output was started last.
    public var statistics: OutputStatistics {
        var statistics = load.statistics
        statistics.faults = renderer.faultCount - faultsBefore.load(ordering: .relaxed)
        statistics.slowestModule = renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }
        return statistics
    }

    // MARK: Start and stop

    /// Starts a thread that renders. Does nothing if the output is running.
    ///
    /// - Parameters:
    ///   - name: The name of the thread; the system shows 15 bytes.
    ///   - priority: The real-time priority for which the core asks the system, and then rtkit, 1…99; 0 for an ordinary
    ///     thread. If it does not get that, there is a notice.
    ///   - sampleRate: Frames per second; the renderer is configured for it. By default the renderer's own.
    ///   - body: The closure that runs on the thread, and renders as long as ``OutputRun/goesOn``. It may not hold the
    ///     output itself.
    /// - Throws: ``/RenderCore/OutputError`` if another output drives the renderer, if the render loop of the run before has not
    ///   ended, if the system has no thread left, or if the priority or the rate is out of range.
    public func start(
        thread name: String, priority: Int, sampleRate: Double? = nil, _ body: @escaping @Sendable (OutputRun) -> Void
    ) throws(OutputError) {
        guard let run = try makeRun(priority, sampleRate, hasOwnThread: true) else { return }
        do throws(OutputError) {
            // Under the lock, so that a stop in the first cycle waits until there is something to stop.
            try control.withLock { control throws(OutputError) in
                control.isStarting = false
                show(.running)
                try run.startThread(name, body)
                control.run = run
                control.teller = teller(run)
            }
        } catch {
            show(.stopped)
            run.giveRendererBack()
            throw error
        }
    }

    /// Starts an output that a foreign thread calls, such as a sound server's.
    ///
    /// - Parameters:
    ///   - priority: The real-time priority that the thread is to have back after the guard against endless render loops has
    ///     taken it, if it has none in its first cycle; else the one that it has then.
    ///   - sampleRate: Frames per second; the renderer is configured for it. By default the renderer's own.
    /// - Returns: The run, which renders; `nil` if the output is running.
    /// - Throws: ``/RenderCore/OutputError`` if another output drives the renderer, if the render loop of the run before has not
    ///   ended, or if the priority or the rate is out of range.
    public func start(priority: Int = 0, sampleRate: Double? = nil) throws(OutputError) -> OutputRun? {
        guard let run = try begin(priority, sampleRate) else { return nil }
        control.withLock { control in
            // It may have been stopped already.
            guard control.run === run else { return }
            show(.running)
            control.teller = teller(run)
        }
        return run
    }

    /// Begins a run that a thread of the caller's looks after: it shows the state, and calls ``tellNews(patience:isLate:gap:more:isLast:)``.
    package func begin(_ priority: Int = 0, _ sampleRate: Double? = nil) throws(OutputError) -> OutputRun? {
        guard let run = try makeRun(priority, sampleRate, hasOwnThread: false) else { return nil }
        control.withLock { control in
            control.isStarting = false
            control.run = run
        }
        return run
    }

    /// Ends after the cycle that is being rendered, and waits for that, two seconds at most: for a render loop that
    /// does not end it says so, and returns. Does nothing if the output is not running.
    public func stop() {
        guard let run = takeRun() else { return }
        tellEnd(run.end(within: 2) ? nil : run.whyNotEnded)
    }

    /// Ends a run whose cycles have been waited for; a cycle that does not end gives the renderer back when it has.
    package func endRun() {
        guard let run = takeRun() else { return }
        tellInterruptions(run, isLast: true)
        _ = run.end(within: 0)
    }

    /// Stops an output that has connections of its own, and tells what there is to tell at the end.
    package func stop(_ stop: () -> Void) {
        let isStopped = state == .stopped
        stop()
        if !isStopped { tellEnd(renderer.endlessCycle()) }
    }

    private func takeRun() -> OutputRun? {
        control.withLock { control in
            guard let run = control.run else { return nil }
            control.run = nil
            control.stopped = run
            control.teller?.cancel()
            show(.stopped)
            return run
        }
    }

    /// Tells the last faults, and a cycle that has not ended.
    private func tellEnd(_ endless: String?) {
        renderer.tellFaults()
        if let endless { hub.send(.abandoned(endless)) }
    }

    /// Returns a run that has the renderer; `nil` if there is one already.
    private func makeRun(
        _ priority: Int, _ sampleRate: Double?, hasOwnThread: Bool
    ) throws(OutputError) -> OutputRun? {
        guard (0...99).contains(priority) else {
            throw OutputError("A priority of \(priority) cannot be had; it must be 0…99.")
        }
        if let sampleRate, !(1...1_000_000).contains(sampleRate) {
            throw OutputError("A sample rate of \(sampleRate) Hz cannot be rendered; it must be 1…1,000,000.")
        }
        let mayStart = try control.withLock { control throws(OutputError) in
            if let run = control.run, run.hasEnded {
                // Its thread has returned by itself.
                _ = run.end(within: 0)
                control.run = nil
                control.teller?.cancel()
            }
            if let stopped = control.stopped, !stopped.hasEnded { throw OutputError(stopped.whyNotEnded) }
            guard control.run == nil && !control.isStarting else { return false }
            control.isStarting = true
            return true
        }
        guard mayStart else { return nil }
        do throws(OutputError) {
            let driver = try renderer.beginDriving(as: name)
            if let sampleRate { renderer.configure(sampleRate: sampleRate) }
            load.clear()
            faultsBefore.store(renderer.faultCount, ordering: .relaxed)
            missedDeadlines.begin()
            toldMissed.store(0, ordering: .relaxed)
            return OutputRun(
                renderer, driver: driver, priority: priority, load: load, hub: hub, latency: latency,
                hasOwnThread: hasOwnThread, runsServers: runsServers)
        } catch {
            control.withLock { $0.isStarting = false }
            throw error
        }
    }

    // MARK: Telling

    /// The render thread wakes no thread: this one looks.
    private func teller(_ run: OutputRun) -> Task<Void, Never> {
        Task { [weak self] in
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(100))
                guard let self else { return }
                // The last time is when the run has been stopped.
                self.tellInterruptions(run, isLast: Task.isCancelled)
                for sentence in run.news() { self.hub.send(.notice(sentence)) }
            }
        }
    }

    /// Tells what is new about the run under way: for outputs with a thread that looks after them.
    ///
    /// - Parameters:
    ///   - patience: The time that a cycle may take before it counts as one that does not end.
    ///   - isLate: `true` while a cycle takes so long that it is interrupted again and again: that is reported once, afterwards.
    ///   - gap: The frames of new gaps in the sound, and the end of the last.
    ///   - more: Interruptions that have not been counted.
    ///   - isLast: `true` if there is no later time.
    package func tellNews(
        patience: Int64 = OutputRun.patience, isLate: Bool = false, gap: (frames: Int64, hostTime: Int64)? = nil,
        more: Int = 0, isLast: Bool = false
    ) {
        guard let run = control.withLock({ $0.run }) else { return }
        for sentence in run.news(patience: patience) { hub.send(.notice(sentence)) }
        if !isLate { tellInterruptions(run, gap: gap, more: more, isLast: isLast) }
    }

    private func tellInterruptions(
        _ run: OutputRun, gap: (frames: Int64, hostTime: Int64)? = nil, more: Int = 0, isLast: Bool
    ) {
        let missed = load.missedCount
        let new = max(0, missed - toldMissed.exchange(missed, ordering: .relaxed))
        missedDeadlines.tell(new + more, gap: gap, isLast: isLast) { count in
            run.countsXruns.load(ordering: .relaxed) || more > 0
                ? .xruns(count: count, hostTime: load.statistics.lastMissedDeadline ?? HostClock.now)
                : .missedDeadlines(count: count)
        }
    }
}

extension OutputState {
    /// The state as a number, for an atomic.
    fileprivate var number: UInt8 {
        switch self {
        case .stopped: 0
        case .running: 1
        case .waiting: 2
        }
    }

    fileprivate init(number: UInt8) { self = number == 1 ? .running : number == 2 ? .waiting : .stopped }
}
