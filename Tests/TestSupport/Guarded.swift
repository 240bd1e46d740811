internal import Foundation

/// A value behind a lock that ThreadSanitizer sees: it does not see a `Mutex`, which is a bare futex. RenderStack's own lock has
/// a place in the order of locks, and a test may come from a thread that holds one.
public final class Guarded<Value>: @unchecked Sendable {
    // Unchecked because `value` is reached only with the lock held.
    private let lock = NSLock()
    private var value: Value

    /// Guards a value.
    public init(_ value: Value) { self.value = value }

    /// Runs a closure that has the value to itself.
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }

    /// The present value.
    public var now: Value { withLock { $0 } }
}
