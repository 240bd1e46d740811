internal import RenderStack

/// Does what may take long without a live output, and cancels it on Ctrl-C.
///
/// - Returns: `true` if it was done; `false` if it was cancelled.
public func untilInterrupted(_ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
    let work = Task { try await body() }
    let watch = Task { if await !Interruption.wait() { work.cancel() } }
    defer { watch.cancel() }
    do {
        try await work.value
        return true
    } catch is CancellationError {
        return false
    }
}
