/// Closures for the render thread: made and freed on the control side, run in order, a bounded number per cycle.
///
///     try renderer.messages.send { context in context.reset(delay) }
///     try await renderer.messages.perform { context in context.reset(delay) }     // comes back when it has run
///
/// Any number of threads may send. Messages that are sent inside ``Renderer/transaction(whenApplied:_:)`` run in one cycle.
///
/// Threads: control.
public struct MessageQueue: Sendable {
    let inbox: Inbox

    init(_ inbox: Inbox) { self.inbox = inbox }

    /// The number of messages that may wait.
    public var capacity: Int { Inbox.capacity }

    /// Sends a closure to run on the render thread, at the start of the next cycle.
    ///
    /// A message that waits when its renderer ceases to be, or that is sent afterwards, never runs. A message that holds
    /// its own renderer keeps that renderer until it has run.
    ///
    /// - Parameters:
    ///   - message: The closure; its context has one frame and an empty stack. It is freed on the control side.
    ///   - completion: Called on a thread of RenderStack's own after the message has run, or the renderer has ceased to
    ///     be.
    /// - Throws: ``MessageQueueFull``; then the message was not taken.
    public func send(
        _ message: @escaping RenderLoop, completion: (@Sendable () -> Void)? = nil
    ) throws(MessageQueueFull) {
        try post(Message(message) { end in if end != .wasWithdrawn { completion?() } })
    }

    /// Has a message run. Returns its job; `nil` if it is part of a transaction.
    @discardableResult
    private func post(_ message: Message) throws(MessageQueueFull) -> Job? {
        if let transaction = Transaction.current {
            try transaction.stage(message, for: inbox)
            return nil
        }
        try inbox.reserve()
        let job = Job([message])
        inbox.send(job)
        return job
    }

    /// Sends a message and waits until it has run. If the renderer is not running, the message waits until it runs
    /// again.
    ///
    /// - Throws: ``MessageQueueFull``, ``RendererGone``, or `CancellationError` if the task is cancelled: then the message
    ///   does not run, unless it is running already.
    public func perform(_ message: @escaping RenderLoop) async throws {
        let wait = Wait(inbox)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                wait.begin(continuation)
                do throws(MessageQueueFull) {
                    let job = try post(
                        Message(message) { end in
                            switch end {
                            case .hasRun: wait.end(.success(()))
                            case .rendererIsGone: wait.end(.failure(RendererGone()))
                            case .wasWithdrawn: wait.end(.failure(CancellationError()))
                            }
                        })
                    wait.note(job)
                } catch {
                    wait.end(.failure(error))
                }
            }
        } onCancel: {
            wait.cancel()
        }
    }

    /// A task that waits for its message. The first event ends it.
    private final class Wait: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Void, any Error>?
            var job: Job?
            var isCancelled = false
        }
        private let state = Lock(State())
        private let inbox: Inbox

        init(_ inbox: Inbox) { self.inbox = inbox }

        func begin(_ continuation: CheckedContinuation<Void, any Error>) {
            state.withLock { $0.continuation = continuation }
        }

        func note(_ job: Job?) {
            let isCancelled = state.withLock { state in
                state.job = job
                return state.isCancelled
            }
            if isCancelled { cancel() }
        }

        func end(_ result: Result<Void, any Error>) {
            let continuation = state.withLock { state in
                defer { state.continuation = nil }
                return state.continuation
            }
            continuation?.resume(with: result)
        }

        func cancel() {
            let job = state.withLock { state in
                state.isCancelled = true
                return state.job
            }
            if let job {
                _ = inbox.cancel(job)
                end(.failure(CancellationError()))
            }
        }
    }
}

/// The renderer has ceased to be, and the message was not run.
///
/// Threads: control.
public struct RendererGone: Error, CustomStringConvertible {
    /// A sentence that says what happened and what to do.
    public let description =
        "The renderer was freed before it ran the message. Keep a reference to the renderer while a task waits for it."
}
