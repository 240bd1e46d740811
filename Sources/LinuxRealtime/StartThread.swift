package import Glibc

/// Starts a thread that runs a closure, once.
///
/// - Parameters:
///   - thread: Gets the thread, to join or to detach.
///   - body: The closure. It is freed when the thread has taken it, or where none can be had.
/// - Returns: The number of the error; 0 if the thread runs.
package func startThread(_ thread: inout pthread_t, _ body: @escaping @Sendable () -> Void) -> Int32 {
    let work = unsafe Unmanaged.passRetained(Work(body: body))
    let error = unsafe pthread_create(
        &thread, nil,
        { work in
            guard let work = unsafe work else { return nil }
            unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
            return nil
        }, work.toOpaque())
    if error != 0 { unsafe work.release() }
    return error
}

private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(body: @escaping @Sendable () -> Void) { self.body = body }
}
