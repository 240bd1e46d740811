internal import CRender
internal import Glibc
internal import Synchronization

/// Passes on the work that the render thread of a renderer leaves for the control side: events, finished jobs, modules
/// to be looked at. It does not hold the renderer, which so ends with its last reference outside.
package final class RendererReporter: Collectable, Sendable {
    let hub = EventHub<RenderEvent>()
    let names: ModuleNames
    private let state: CycleState
    private let told = Lock(FaultTeller(), .delivery)
    /// The number of threads that have taken faults out of the log and have not told them all. They hold no lock then: an
    /// executor of a user's may run.
    private let tellers = Atomic<Int>(0)
    private let renderer = Lock(Weak())
    private let mustLook = Atomic<Bool>(false)
    /// Indicates whether modules are to be notified when latencies have changed, and the host time of the last notice.
    let aligns = Atomic<Bool>(false)
    private let lastAligned = Atomic<Int64>(0)
    /// Indicates whether a look is on its way.
    private let isLooking = Atomic<Bool>(false)
    private let cycle = Lock(Cycle())

    private struct Weak {
        weak var renderer: Renderer?
    }

    /// A cycle that is under way.
    private struct Cycle {
        var count: UInt = 0
        var since: Int64 = 0
        var isTold = false
    }

    init(_ state: CycleState, _ names: ModuleNames) {
        self.state = state
        self.names = names
    }

    /// Begins to pass things on.
    func begin(for renderer: Renderer) {
        self.renderer.withLock { $0.renderer = renderer }
        Collector.shared.add(self)
    }

    /// Has the renderer look at its modules, soon.
    func lookSoon() {
        mustLook.store(true, ordering: .relaxed)
        Collector.shared.wake()
    }

    package func collect() -> Bool {
        var wasBusy = state.inbox.collect() > 0
        let isMissing = state.newcomers.takeMissing()
        if mustLook.exchange(false, ordering: .relaxed) || isMissing || state.newcomers.isWaiting {
            wasBusy = true
            // Modules are prepared then, which is code of a user. One look at a time, also while other code of a user
            // keeps it waiting.
            if !isLooking.exchange(true, ordering: .relaxed) {
                Collector.shared.runErrand { [weak self] in
                    self?.isLooking.store(false, ordering: .relaxed)
                    self?.renderer.withLock { $0.renderer }?.lookAtModules()
                }
            }
        }
        if aligns.load(ordering: .relaxed) { alignSoon() }
        if tellFaults() { wasBusy = true }
        watchCycle()
        return wasBusy || state.isRendering() || told.withLock { $0.isWaiting }
    }

    /// Tells the faults that the render thread has left, and the jobs that were late. Returns whether there were some.
    ///
    /// - Parameter isEnd: `true` to tell also what would wait for its like.
    @discardableResult
    private func tellFaults(isEnd: Bool = false) -> Bool {
        let (faults, late) = told.withLock { teller in
            tellers.wrappingAdd(1, ordering: .relaxed)
            let unused = names.takeUnused()
            let faults = state.log.take(at: state.clock.load(ordering: .relaxed), name: { names[$0] })
            names.forget(unused)
            return (teller.merge(faults, at: HostClock.now, isEnd: isEnd), state.late.take())
        }
        for fault in faults { tell(.fault(fault)) }
        if let late { tell(.late(count: late.count, frames: late.frames, sampleTime: late.sampleTime)) }
        tellers.wrappingSubtract(1, ordering: .releasing)
        return !faults.isEmpty || late != nil
    }

    /// Tells what the render thread has left, before it returns: who has rendered offline may cancel the subscription, or end
    /// the program, before the collector comes by.
    ///
    /// - Parameter isEnd: `true` to tell also faults that would wait for their like.
    func tellNow(isEnd: Bool = false) {
        tellFaults(isEnd: isEnd)
        // The collector may be telling others at this moment. It never takes long.
        for _ in 0..<100 where tellers.load(ordering: .acquiring) > 0 { usleep(1_000) }
    }

    /// Looks now and then whether latencies have changed, which is code of a user.
    private func alignSoon() {
        let now = HostClock.now
        guard now &- lastAligned.load(ordering: .relaxed) > 50_000_000,
            !isAligning.exchange(true, ordering: .relaxed)
        else { return }
        lastAligned.store(now, ordering: .relaxed)
        Collector.shared.runErrand { [weak self] in
            self?.renderer.withLock { $0.renderer }?.alignAgain()
            self?.isAligning.store(false, ordering: .relaxed)
        }
    }
    private let isAligning = Atomic<Bool>(false)

    // MARK: Telling

    /// Indicates whether something has been written to standard error because nothing listened.
    private let hasWritten = Atomic<Bool>(false)

    /// Tells an event. The first mistake that no listener hears goes to standard error.
    package func tell(_ event: RenderEvent) {
        if event.isMistake, !hub.hasListeners, !hasWritten.exchange(true, ordering: .relaxed) {
            StandardError.say(
                "\(event.description.trimmingFullStop). Nothing listens to this renderer's events, which have all of "
                    + "them: let mistakes = renderer.onMain { print($0) }")
        }
        hub.send(event)
    }

    // MARK: A cycle that does not end

    /// Returns the module in which a cycle is at this moment, and for how long it has been under way, if that is too long.
    func endlessCycle() -> (module: String?, nanoseconds: Int64)? {
        let patience = state.patience
        let now = HostClock.now
        let count = state.counter.count.load(ordering: .acquiring)
        let since: Int64? = cycle.withLock { cycle in
            if cycle.count != count { cycle = Cycle(count: count, since: now) }
            return count & 1 == 1 && now - cycle.since >= patience ? cycle.since : nil
        }
        return since.map { (state.moduleAtWork(in: count).flatMap { names[$0] }, now - $0) }
    }

    /// Tells a cycle that does not end, once.
    private func watchCycle() {
        guard let endless = endlessCycle() else { return }
        let isNew = cycle.withLock { cycle in
            defer { cycle.isTold = true }
            return !cycle.isTold
        }
        if isNew { tell(.endless(module: endless.module, nanoseconds: endless.nanoseconds)) }
    }
}

extension String {
    fileprivate var trimmingFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
