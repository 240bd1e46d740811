package import Dispatch
internal import RenderCore

/// Has another thread run a closure, and waits for it, but not forever: a server that stands still keeps a caller
/// waiting, and the caller holds a lock.
///
/// - Parameters:
///   - seconds: The number of seconds to wait.
///   - queue: The queue on which the closure runs.
///   - tooLate: The closure that gets a result for which no caller waits any more.
///   - body: The closure to run.
/// - Returns: The result of `body`; `nil` if it takes longer.
package func withPatience<Result: Sendable>(
    _ seconds: Double, on queue: DispatchQueue = .global(), tooLate: @escaping @Sendable (Result) -> Void = { _ in },
    _ body: @escaping @Sendable () -> Result
) -> Result? {
    let outcome = Lock<(result: Result?, isAwaited: Bool)>((nil, true))
    let isDone = DispatchSemaphore(value: 0)
    queue.async {
        let result = body()
        let isAwaited = outcome.withLock { outcome in
            outcome.result = result
            return outcome.isAwaited
        }
        if isAwaited { isDone.signal() } else { tooLate(result) }
    }
    _ = isDone.wait(timeout: .now() + seconds)
    return outcome.withLock { outcome in
        outcome.isAwaited = false
        return outcome.result
    }
}
