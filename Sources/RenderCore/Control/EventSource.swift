/// A source of events: a renderer, an output, a port from the render thread.
///
///     for await event in renderer.events { print(event) }          // wherever you are
///     let subscription = renderer.onMain { event in … }            // on the main actor
///     let subscription = renderer.on(executor) { event in … }      // on a task executor of your own
///     let subscription = renderer.by(queue.async) { event in … }   // on whatever runs closures
///
/// No main run loop is needed for any but `onMain`. Each subscriber gets every event from the moment it subscribes, in
/// order; one that does not keep up loses the oldest beyond 4096.
public protocol EventSource<Event>: Sendable, ~Copyable {
    /// The type of the events.
    associatedtype Event: Sendable
    /// The events from now on. Ask again for a second listener.
    var events: AsyncStream<Event> { get }
}

extension EventSource where Self: ~Copyable {
    /// Calls a handler on the main actor, until the subscription is cancelled or gone.
    public func onMain(_ handler: @escaping @MainActor (Event) -> Void) -> Subscription {
        let events = self.events
        return Subscription(
            task: Task { @MainActor in
                // Events that were waiting when the task was cancelled still come.
                for await event in events {
                    if Task.isCancelled { return }
                    handler(event)
                }
            })
    }

    /// Calls a handler on an executor, until the subscription is cancelled or gone.
    public func on(
        _ executor: any TaskExecutor, _ handler: @escaping @Sendable (Event) async -> Void
    ) -> Subscription {
        let events = self.events
        return Subscription(
            task: Task(executorPreference: executor) {
                for await event in events {
                    if Task.isCancelled { return }
                    await handler(event)
                }
            })
    }

    /// Calls a handler through a function that runs closures in order, such as a serial dispatch queue's `async`.
    public func by(
        _ run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ handler: @escaping @Sendable (Event) -> Void
    ) -> Subscription {
        let events = self.events
        return Subscription(
            task: Task {
                for await event in events {
                    if Task.isCancelled { return }
                    run { handler(event) }
                }
            })
    }
}

/// A handler's right to be called. It ends with ``cancel()`` or with the last reference to the subscription.
public final class Subscription: Sendable {
    private let task: Task<Void, Never>

    init(task: Task<Void, Never>) { self.task = task }

    deinit { task.cancel() }

    /// Ends the subscription: the handler is not called any more.
    public func cancel() { task.cancel() }
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

    package func subscribe() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(limit))
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
