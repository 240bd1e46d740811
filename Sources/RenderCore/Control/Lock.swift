internal import Glibc

/// A mutex for the control side. Never taken on a render thread.
///
/// Not `Synchronization.Mutex`: that one is a bare futex, which ThreadSanitizer does not see.
/// And not of `Void`: it takes what has no size for the head of the object.
@safe package final class Lock<State>: @unchecked Sendable {
    // Unchecked because `state` is reached only with the mutex held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    package init(_ state: State) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        self.state = state
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
