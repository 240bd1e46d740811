public import RenderStack
internal import Synchronization

/// The events that an output has reported, in order: a reader gets all events that were reported before.
public final class Events: Sendable {
    private let events = Guarded<[OutputEvent]>([])
    private let executor = CatchingUp()
    private let subscription = Mutex<Subscription?>(nil)

    /// Listens from now on.
    public init(_ output: some RenderOutput) {
        let subscription = output.on(executor) { [weak self] event in self?.events.withLock { $0.append(event) } }
        self.subscription.withLock { $0 = subscription }
    }

    /// Everything so far.
    public var all: [OutputEvent] {
        executor.catchUp()
        return events.withLock { $0 }
    }

    /// Returns the number of events of a kind.
    public func count(_ isCounted: (OutputEvent) -> Bool) -> Int { all.count(where: isCounted) }

    /// The interruptions that were reported so far.
    public var interruptions: Int {
        all.reduce(0) { if case .xruns(let count, _) = $1 { $0 + count } else { $0 } }
    }
}

/// Runs what waits in the background, and at once for who cannot wait until the machine comes round to it.
private final class CatchingUp: TaskExecutor {
    private let waiting = Guarded<[UnownedJob]>([])
    private let turn = Mutex(())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        waiting.withLock { $0.append(job) }
        Task.detached { self.catchUp() }
    }

    /// Returns when nothing waits, and nothing that waited before is still under way.
    func catchUp() {
        turn.withLock { _ in
            while let job = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }
}
