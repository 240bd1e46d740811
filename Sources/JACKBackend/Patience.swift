internal import Dispatch
internal import RenderCore

/// Has something done by another thread, and waits for it, but not for ever: a server that stands still keeps whoever asks
/// it waiting, and whoever asks holds the gate of ``JACKLibrary``.
///
/// - Parameters:
///   - seconds: how long to wait.
///   - queue: where it is done.
///   - tooLate: what is done with the result when nobody waits for it any more.
///   - body: what is to be done.
/// - Returns: what `body` returns; `nil` where it takes longer.
func withPatience<Result: Sendable>(
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
