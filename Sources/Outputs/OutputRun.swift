internal import CRender
internal import Glibc
internal import LinuxRealtime
public import RenderCore
internal import Synchronization

/// An output from its start to its stop, for the thread that renders: see ``OutputCore``.
///
/// Threads: control.
@safe public final class OutputRun: @unchecked Sendable {
    // Unchecked because of `thread`, which is written before the run is shared, and `ownPriority`, which is the render
    // thread's.
    private let hasOwnThread: Bool
    private let runsServers: Bool
    private let renderer: Renderer
    private let driver: UInt
    private let priority: Int
    private let load: LoadHistogram
    private let hub: EventHub<OutputEvent>
    private let shouldRun = Atomic<Bool>(true)
    /// The thread that is in a cycle; 0 between cycles.
    private let cycleThread = Atomic<UInt>(0)
    private let isDone = Atomic<Bool>(false)
    private let priorityGuard = PriorityGuard()
    private var thread = pthread_t()
    private var ownPriority: Int

    init(
        _ renderer: Renderer, driver: UInt, priority: Int, load: LoadHistogram, hub: EventHub<OutputEvent>,
        hasOwnThread: Bool, runsServers: Bool
    ) {
        self.renderer = renderer
        self.driver = driver
        self.priority = priority
        self.load = load
        self.hub = hub
        self.hasOwnThread = hasOwnThread
        self.runsServers = runsServers
        ownPriority = priority
    }

    // MARK: On the render thread

    /// Indicates whether the output has not been stopped: a thread of its own ends when this is `false`.
    ///
    /// Threads: any.
    public var goesOn: Bool { shouldRun.load(ordering: .acquiring) }

    /// The number of channels of all outputs of the renderer, 64 at most, which the block of a cycle needs. It
    /// allocates: ask before the first cycle.
    public var channelCount: Int { min(64, renderer.outputChannelCounts.reduce(0, +)) }

    /// Frames per second of the renderer.
    ///
    /// Threads: any.
    public var sampleRate: Double { renderer.state.sampleRate }

    /// Renders a cycle, and measures the share of its time that the rendering took. Writes silence if the output has
    /// been stopped.
    ///
    /// - Parameters:
    ///   - block: The block to fill: the channels of the first output, then those of the others. Its samples are
    ///     overwritten.
    ///   - first: The first frame of the block to write.
    ///   - frames: The number of frames; by default up to the end of the block. Frames outside of the block are not
    ///     rendered, which is a ``/Exchange/Fault``.
    ///   - hostTime: The time at which the first frame is due, in nanoseconds of ``/Exchange/HostClock``; by default now.
    ///
    /// Threads: any.
    public func render(
        into block: inout AudioBlock, from first: Int = 0, frames: Int? = nil, hostTime: Int64? = nil
    ) {
        let count = frames ?? block.frameCount - max(0, min(first, block.frameCount))
        // Sequentially consistent, so that either this sees the stop or the stop sees this.
        cycleThread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        if hasOwnThread || shouldRun.load(ordering: .sequentiallyConsistent) {
            let start = HostClock.now
            renderer.render(
                into: &block, from: first, frames: frames, hostTime: hostTime, isOffline: false, driver: driver)
            let part = load.add(
                nanoseconds: HostClock.now - start, frames: count, rate: renderer.state.sampleRate)
            priorityGuard.note(load: part, priority: ownPriority)
        } else {
            block.silence(from: first, frames: count)
        }
        cycleThread.store(0, ordering: .sequentiallyConsistent)
        if !hasOwnThread, !shouldRun.load(ordering: .sequentiallyConsistent) { finish() }
    }

    /// Sends an event to all listeners of the output.
    ///
    /// A thread that cannot go on, because its device or server is gone, sends ``OutputEvent/lost(_:)`` and returns:
    /// the output has stopped then, and can be started again.
    public func send(_ event: OutputEvent) { hub.send(event) }

    /// Counts a cycle that came too late: an interruption of the sound, if there is a listener.
    ///
    /// - Parameter time: Nanoseconds of ``/Exchange/HostClock`` at which that was noticed; by default now.
    ///
    /// Threads: any.
    public func noteMissedDeadline(at time: Int64? = nil) { load.addMissed(at: time ?? HostClock.now) }

    /// Sleeps until a time, for outputs without a device that makes them wait.
    ///
    /// - Parameter time: Nanoseconds of ``/Exchange/HostClock``.
    /// - Returns: `false` if the output was stopped meanwhile, which ends a long sleep soon.
    public func sleep(until time: Int64) -> Bool {
        while true {
            let next = min(time, HostClock.now.addingSaturated(100_000_000))
            var request = timespec(tv_sec: Int(next / 1_000_000_000), tv_nsec: Int(next % 1_000_000_000))
            while next > 0, unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &request, nil) == EINTR {}
            if !goesOn { return false }
            if next == time { return true }
        }
    }

    // MARK: On the control side

    /// Sentences about its priority, since the last time.
    var news: [String] {
        if let thread = priorityGuard.takePetitioner() { RealtimeThread.ask(for: thread, priority: priority) }
        return priorityGuard.news(of: renderer)
    }

    var hasEnded: Bool { isDone.load(ordering: .acquiring) }

    /// A sentence for the user that says why the run has not ended.
    var whyNotEnded: String {
        renderer.endlessCycle()
            ?? "The render thread of the run before has not ended yet: stop an output from another thread than its own, "
            + "and start it again when the cycle is over."
    }

    func giveRendererBack() { renderer.endDriving(driver) }

    private func finish() {
        giveRendererBack()
        isDone.store(true, ordering: .releasing)
    }

    /// Has it end, and waits for that. `false`: it has not ended; it will when its closure does.
    func end(within seconds: Double) -> Bool {
        shouldRun.store(false, ordering: .sequentiallyConsistent)
        if isCurrent {
            if hasOwnThread { pthread_detach(thread) }
            return true
        }
        let end = HostClock.now + Int64(seconds * 1e9)
        // A look takes half a millisecond and more. While the machine has kept the whole process waiting, the cycle could
        // not end: time alone does not count.
        var looks = 0
        while !hasEnded && (HostClock.now < end || Double(looks) < seconds * 500) {
            looks += 1
            if !hasOwnThread, cycleThread.load(ordering: .sequentiallyConsistent) == 0 { finish() } else { usleep(500) }
        }
        if hasOwnThread { if hasEnded { pthread_join(thread, nil) } else { pthread_detach(thread) } }
        return hasEnded
    }

    /// Indicates whether the caller is the render loop that the output renders.
    private var isCurrent: Bool {
        hasOwnThread
            ? pthread_equal(thread, pthread_self()) != 0
            : cycleThread.load(ordering: .sequentiallyConsistent) == UInt(pthread_self())
    }

    // MARK: A thread of its own

    private struct Body: Sendable {
        let run: OutputRun
        let name: String
        let body: @Sendable (OutputRun) -> Void
    }
    private final class Box<Value>: Sendable where Value: Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    func startThread(_ name: String, _ body: @escaping @Sendable (OutputRun) -> Void) throws(OutputError) {
        let argument = unsafe Unmanaged.passRetained(Box(Body(run: self, name: name, body: body))).toOpaque()
        let error = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Box<Body>>.fromOpaque(argument).takeRetainedValue().value
                body.run.live(body.name, body.body)
                return nil
            }, argument)
        guard error == 0 else {
            unsafe Unmanaged<Box<Body>>.fromOpaque(argument).release()
            throw OutputError("The render thread cannot be started: \(errorText(error)).")
        }
    }

    private func live(_ name: String, _ body: @Sendable (OutputRun) -> Void) {
        defer { finish() }
        nameThread(name)
        if priority > 0 {
            ownPriority = RealtimeThread.raise(to: priority, runsServers: runsServers) { hub.send(.notice($0)) }
        }
        _ = crender_prefault_stack(256 * 1024)
        let denormals = crender_denormals_off()
        defer { crender_denormals_restore(denormals) }
        body(self)
    }
}
