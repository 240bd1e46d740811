internal import CRender
internal import Glibc
internal import LinuxRealtime
public import RenderCore
internal import Synchronization

/// An output from its start to its stop, for the thread that renders: see ``OutputCore``.
///
/// Threads: control.
@safe public final class OutputRun: @unchecked Sendable {
    // Unchecked because of `thread`, which is written before the run is shared.
    private let hasOwnThread: Bool
    private let runsServers: Bool
    let renderer: Renderer
    private let driver: UInt
    private let priority: Int
    private let load: LoadHistogram
    private let hub: EventHub<OutputEvent>
    /// The output's.
    package let latency: OutputLatency
    /// Carries what the cycles have to tell about MIDI.
    let midi = MIDINews()
    private let shouldRun = Atomic<Bool>(true)
    /// The thread that is in a cycle, and the time at which the cycle began; 0 between cycles.
    private let cycleThread = Atomic<UInt>(0)
    private let began = Atomic<Int64>(0)
    /// The beginning of the cycle that was reported last because it does not end.
    private let told = Atomic<Int64>(0)
    private let isDone = Atomic<Bool>(false)
    private let priorityGuard = PriorityGuard()
    private var thread = pthread_t()
    /// The thread that was made ready last, and the one whose priority is known.
    private let readyThread = Atomic<UInt64>(0)
    private let knownThread = Atomic<UInt64>(0)
    /// See ``threadPriority``.
    private let ownPriority = Atomic<Int>(OutputRun.unknown)
    package static let unknown = -1
    /// Indicates whether late cycles are interruptions that a server or a device has noticed.
    let countsXruns = Atomic<Bool>(false)

    init(
        _ renderer: Renderer, driver: UInt, priority: Int, load: LoadHistogram, hub: EventHub<OutputEvent>,
        latency: OutputLatency, hasOwnThread: Bool, runsServers: Bool
    ) {
        self.renderer = renderer
        self.driver = driver
        self.priority = priority
        self.load = load
        self.hub = hub
        self.latency = latency
        self.hasOwnThread = hasOwnThread
        self.runsServers = runsServers
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
        let start = HostClock.now
        if begin(start) {
            renderer.render(
                into: &block, from: first, frames: frames, hostTime: hostTime, isOffline: false, driver: driver)
            note(since: start, frames: count)
        } else {
            block.silence(from: first, frames: count)
        }
        end()
    }

    /// Renders a cycle with all that an output brings into it, and measures the share of its time that passed since
    /// ``OutputCycle/begin(frames:hostTime:isFreewheeling:)``, unless it has no clock. It is silent if the output has been stopped.
    ///
    /// A thread of a server is made ready in its first cycle: it keeps its priority, and gets the guard against render loops that do not
    /// end.
    ///
    /// - Parameter cycle: A cycle of this run.
    ///
    /// Threads: any.
    public func render(_ cycle: inout OutputCycle) {
        if begin(cycle.began) {
            cycle.render(driver)
            if !cycle.isFreewheeling { note(since: cycle.began, frames: cycle.frameCount) }
        } else {
            cycle.silence()
            cycle.forgetReceived()
        }
        end()
    }

    /// Notes that a cycle begins. Returns `false` if the output has been stopped.
    private func begin(_ time: Int64) -> Bool {
        // Sequentially consistent, so that either this sees the stop or the stop sees this.
        cycleThread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        guard hasOwnThread || shouldRun.load(ordering: .sequentiallyConsistent) else { return false }
        if !hasOwnThread { adoptThread() }
        began.store(time, ordering: .relaxed)
        return true
    }

    private func note(since start: Int64, frames: Int) {
        let part = load.add(nanoseconds: HostClock.now - start, frames: frames, rate: renderer.state.sampleRate)
        priorityGuard.note(load: part, priority: ownPriority.load(ordering: .relaxed))
    }

    private func end() {
        began.store(0, ordering: .relaxed)
        cycleThread.store(0, ordering: .sequentiallyConsistent)
        if !hasOwnThread, !shouldRun.load(ordering: .sequentiallyConsistent) { finish() }
    }

    /// Has the notes end that are held down at a MIDI input, in one of the next cycles, because a source of it is gone.
    ///
    /// - Parameter port: The number of the input; `nil` for all.
    ///
    /// Threads: any.
    public func endNotes(on port: Int? = nil) { midi.endNotes(on: port) }

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

    /// Counts an interruption that a server or a device has noticed: listeners get ``OutputEvent/xruns(count:hostTime:)`` in the place of
    /// missed deadlines.
    ///
    /// - Parameter time: Nanoseconds of ``/Exchange/HostClock`` at which that was noticed; by default now.
    ///
    /// Threads: any.
    public func noteXrun(at time: Int64? = nil) {
        countsXruns.store(true, ordering: .relaxed)
        noteMissedDeadline(at: time)
    }

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

    /// The time that a cycle may take before it counts as one that does not end, in nanoseconds.
    package static let patience: Int64 = 1_000_000_000

    /// The real-time priority of the thread that renders, 0 for an ordinary thread; ``unknown`` before the first cycle.
    package var threadPriority: Int { ownPriority.load(ordering: .relaxed) }

    /// Nanoseconds since the cycle began that is being rendered; `nil` between cycles.
    package func cycleAge(_ now: Int64) -> Int64? {
        let began = began.load(ordering: .relaxed)
        return began == 0 ? nil : max(0, now - began)
    }

    /// Returns sentences about the thread's priority, lost messages, and a cycle that does not end, since the last call.
    ///
    /// - Parameter patience: The time that a cycle may take.
    package func news(patience: Int64 = OutputRun.patience) -> [String] {
        if let thread = priorityGuard.takePetitioner() { RealtimeThread.ask(for: thread, priority: priority) }
        return priorityGuard.news(of: renderer) + midi.sentences
            + [endlessCycle(HostClock.now, patience)].compactMap(\.self)
    }

    /// Returns the sentence about a cycle that does not end, once for each: a render loop that waits or loops forever cannot say
    /// so by itself.
    private func endlessCycle(_ now: Int64, _ patience: Int64) -> String? {
        let began = began.load(ordering: .relaxed)
        guard began != 0, now - began >= patience, told.load(ordering: .relaxed) != began else { return nil }
        // The renderer knows the module; it may have seen the cycle a little later, and is waited for.
        let sentence = renderer.endlessCycle() ?? (now - began >= patience + 900_000_000 ? Self.plainSentence : nil)
        if sentence != nil { told.store(began, ordering: .relaxed) }
        return sentence
    }

    private static let plainSentence =
        "The render loop has not ended for more than a second, and the output is silent until it does. Look in it for a "
        + "`while` without an end, or for a call that waits."

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

    /// Has it end, and waits for that. `false`: it has not ended; it will when its render loop does.
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
        while !hasEnded {
            if !hasOwnThread, cycleThread.load(ordering: .sequentiallyConsistent) == 0 { finish() }
            guard !hasEnded, HostClock.now < end || Double(looks) < seconds * 500 else { break }
            looks += 1
            usleep(500)
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

    // MARK: Threads

    /// Gets a thread of the output's own ready for cycles, with its name and priority. On that thread.
    ///
    /// - Parameter tell: Gets a sentence for what is not to be had; by default the listeners do.
    package func prepareThread(_ name: String, _ tell: ((String) -> Void)? = nil) {
        nameThread(name)
        var own = 0
        if priority > 0 {
            own = RealtimeThread.raise(
                to: priority, runsServers: runsServers, tell: tell ?? { [hub] in hub.send(.notice($0)) })
        }
        ownPriority.store(own, ordering: .relaxed)
        _ = crender_prefault_stack(256 * 1024)
        _ = crender_denormals_off()
        knownThread.store(crender_thread_number(), ordering: .relaxed)
    }

    /// Gets a thread of a server's ready for cycles, with files and memory. On that thread, best before its first cycle.
    package func prepareServersThread() {
        let thread = crender_thread_number()
        guard readyThread.exchange(thread, ordering: .relaxed) != thread else { return }
        crender_permitted_begins()
        defer { crender_permitted_ends() }
        _ = crender_denormals_off()
        _ = crender_prefault_stack(128 * 1024)
        // The first piece of memory of a thread makes an arena for it, which opens files.
        unsafe free(malloc(64))
    }

    /// Takes a server's thread as it is, in its first cycle, because only then the server has given it its priority.
    private func adoptThread() {
        let thread = crender_thread_number()
        guard knownThread.load(ordering: .relaxed) != thread else { return }
        knownThread.store(thread, ordering: .relaxed)
        prepareServersThread()
        crender_permitted_begins()
        defer { crender_permitted_ends() }
        let policy = crender_thread_policy()
        // The thread keeps its priority, and gets a guard against a render loop that never ends.
        if policy.is_realtime && policy.priority > 0 { _ = RealtimeThread.raiseHelper(to: Int(policy.priority)) }
        ownPriority.store(policy.is_realtime ? Int(policy.priority) : priority, ordering: .relaxed)
    }

    func startThread(_ name: String, _ body: @escaping @Sendable (OutputRun) -> Void) throws(OutputError) {
        let error = LinuxRealtime.startThread(&thread) {
            defer { self.finish() }
            self.prepareThread(name)
            body(self)
        }
        if error != 0 { throw OutputError("The render thread cannot be started: \(errorText(error)).") }
    }
}
