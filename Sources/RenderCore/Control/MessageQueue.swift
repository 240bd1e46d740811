/// Closures for the render thread: made and freed on the control side, run in order, a bounded number per cycle.
///
///     try renderer.messages.send { context in context.reset(delay) }
///     try await renderer.messages.perform { context in context.reset(delay) }     // comes back when it has run
///
/// Any number of threads may send. Messages that are sent inside ``Renderer/transaction(whenApplied:_:)`` run in one cycle.
public struct MessageQueue: Sendable {
    let inbox: Inbox

    init(_ inbox: Inbox) { self.inbox = inbox }

    /// How many messages may wait.
    public var capacity: Int { Inbox.capacity }

    /// Has a closure run on the render thread, at the start of the next cycle.
    ///
    /// - Parameters:
    ///   - message: what is to be done; its context has one frame and an empty stack. It is freed on the control side.
    ///   - completion: called on a thread of the control side after the message has run.
    /// - Throws: ``MessageQueueFull``; then the message was not taken.
    public func send(
        _ message: @escaping RenderLoop, completion: (@Sendable () -> Void)? = nil
    ) throws(MessageQueueFull) {
        let message = Message(message, completion: completion)
        if let transaction = Transaction.current {
            try transaction.stage(message, for: inbox)
        } else {
            try inbox.reserve()
            inbox.send(Job(message))
        }
    }

    /// The same, and waits until it has run. If the renderer is not running that is when it runs again.
    ///
    /// - Throws: ``MessageQueueFull``; then the message was not taken.
    public func perform(_ message: @escaping RenderLoop) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do throws(MessageQueueFull) {
                try send(message) { continuation.resume() }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
