public import RenderStack
internal import Synchronization

/// What an output has told, in order.
public final class Events: Sendable {
    private let events = Mutex<[OutputEvent]>([])
    private let subscription = Mutex<Subscription?>(nil)

    /// Listens from now on.
    public init(_ output: some RenderOutput) {
        let subscription = output.by({ $0() }) { [weak self] event in self?.events.withLock { $0.append(event) } }
        self.subscription.withLock { $0 = subscription }
    }

    /// Everything so far.
    public var all: [OutputEvent] { events.withLock { $0 } }

    /// How many of a kind there were.
    public func count(_ isCounted: (OutputEvent) -> Bool) -> Int { all.count(where: isCounted) }
}
