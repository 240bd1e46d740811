internal import Synchronization

/// A source of events: a renderer, an output, a port from the render thread.
///
///     for await event in renderer.events { print(event) }          // wherever you are
///     let subscription = renderer.onMain { event in … }            // on the main actor
///     let subscription = renderer.on(executor) { event in … }      // on a task executor of your own
///     let subscription = renderer.by(queue.async) { event in … }   // on whatever runs closures
///
/// No main run loop is needed for any but `onMain`. Each subscriber gets every event from the moment it subscribes, in
/// order; one that does not keep up loses the oldest beyond 4096.
///
/// Threads: control.
public protocol EventSource<Event>: Sendable, ~Copyable {
    /// The type of the events.
    associatedtype Event: Sendable
    /// The events from now on. Ask again for a second listener.
    var events: AsyncStream<Event> { get }
}

extension EventSource where Self: ~Copyable {
    /// Calls a handler on the main actor, until the subscription is cancelled or gone.
    public func onMain(_ handler: @escaping @MainActor (Event) -> Void) -> Subscription {
        let (events, mandate) = (self.events, Subscription.Mandate())
        return Subscription(
            mandate,
            Task { @MainActor in
                for await event in events {
                    if mandate.isOver { return }
                    handler(event)
                }
            })
    }

    /// Calls a handler on an executor, until the subscription is cancelled or gone.
    public func on(
        _ executor: any TaskExecutor, _ handler: @escaping @Sendable (Event) async -> Void
    ) -> Subscription {
        let (events, mandate) = (self.events, Subscription.Mandate())
        return Subscription(
            mandate,
            Task(executorPreference: executor) {
                for await event in events {
                    if mandate.isOver { return }
                    await handler(event)
                }
            })
    }

    /// Calls a handler through a function that runs closures in order, such as a serial dispatch queue's `async`.
    public func by(
        _ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ handler: @escaping @Sendable (Event) -> Void
    ) -> Subscription {
        let (events, mandate) = (self.events, Subscription.Mandate())
        return Subscription(
            mandate,
            Task {
                for await event in events {
                    if mandate.isOver { return }
                    run { handler(event) }
                }
            })
    }
}

/// A handler's right to be called. It ends with ``cancel()``, with ``finish()``, or with the last reference to the
/// subscription.
///
/// Threads: control.
public final class Subscription: Sendable {
    private let task: Task<Void, Never>
    private let mandate: Mandate

    /// Says whether the handler may still be called. A task that is cancelled still gets the events that were waiting.
    final class Mandate: Sendable {
        private let ended = Atomic<Bool>(false)
        var isOver: Bool { ended.load(ordering: .acquiring) }
        func end() { ended.store(true, ordering: .releasing) }
    }

    init(_ mandate: Mandate, _ task: Task<Void, Never>) { (self.mandate, self.task) = (mandate, task) }

    deinit { cancel() }

    /// Ends the subscription: the handler is not called any more.
    public func cancel() {
        mandate.end()
        task.cancel()
    }

    /// Ends the subscription when the handler has had the events that were sent before: at the end of a program, say.
    ///
    ///     let mistakes = renderer.by({ $0() }) { event in print(event) }
    ///     let sound = renderer.renderOffline(frames: 480_000)
    ///     await mistakes.finish()                             // all of them are printed
    ///
    /// With ``EventSource/by(_:_:)`` the function has all closures then; it may yet have to run them.
    public func finish() async {
        task.cancel()
        await task.value
    }
}

/// Hands events to all subscribers.
package final class EventHub<Event: Sendable>: Sendable {
    private struct Listeners {
        var next = 0
        var continuations: [Int: AsyncStream<Event>.Continuation] = [:]
        var isFinished = false
    }
    private let listeners = Lock(Listeners())
    private let limit: Int

    /// - Parameter limit: The number of events that wait for a listener that does not keep up, before the oldest are
    ///   lost.
    package init(limit: Int = 4096) { self.limit = limit }

    /// - Parameter greeting: An event that this subscriber gets before all others.
    package func subscribe(greeting: Event? = nil) -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(limit))
        if let greeting { continuation.yield(greeting) }
        let number: Int? = listeners.withLock { listeners in
            guard !listeners.isFinished else { return nil }
            listeners.next += 1
            listeners.continuations[listeners.next] = continuation
            return listeners.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.listeners.withLock { $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }

    package var hasListeners: Bool { listeners.withLock { !$0.continuations.isEmpty } }

    /// Returns how many events were lost by listeners that do not keep up.
    @discardableResult
    package func send(_ event: Event) -> Int {
        var lost = 0
        for continuation in listeners.withLock({ Array($0.continuations.values) }) {
            if case .dropped = continuation.yield(event) { lost += 1 }
        }
        return lost
    }

    package func finish() {
        let continuations = listeners.withLock { listeners in
            listeners.isFinished = true
            return Array(listeners.continuations.values)
        }
        for continuation in continuations { continuation.finish() }
    }

    deinit { finish() }
}
