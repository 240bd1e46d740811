internal import Glibc
internal import LinuxRealtime

/// A thread beside the audio: it looks after its clients, sleeps, and looks again, for as long as the process runs.
///
/// It starts when it is woken for the first time. No render thread wakes it: that takes a lock.
@safe package final class ServiceThread: @unchecked Sendable {
    // Unchecked because everything is under the mutex, which is a bare one for the sake of its condition variable.
    private let name: String
    private let body: @Sendable () -> Void
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var isRunning = false
    private var isAwake = false
    private var hasComplained = false
    private var thread = pthread_t()

    /// Creates a thread that does not run yet.
    ///
    /// - Parameters:
    ///   - name: 15 characters at most.
    ///   - body: Does not return.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe condition = .allocate(capacity: 1)
        unsafe condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe condition.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Has it look now, and starts it if it does not run. From the control side.
    package func wake() {
        unsafe pthread_mutex_lock(mutex)
        // If the system has no thread left, the next wake tries again; until then the work waits.
        if !isRunning { start() }
        if !isAwake {
            isAwake = true
            unsafe pthread_cond_signal(condition)
        }
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Sleeps until the time is over or another thread wakes this one, also if that was since the last sleep. On the
    /// thread itself.
    package func sleep(milliseconds: Int) {
        var end = ServiceThread.time(in: milliseconds)
        unsafe pthread_mutex_lock(mutex)
        while !isAwake, unsafe pthread_cond_timedwait(condition, mutex, &end) == 0 {}
        isAwake = false
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Sleeps until the time is over: a thread that looks again that soon need not be woken. On the thread itself.
    package func nap(milliseconds: Int) {
        var end = ServiceThread.time(in: milliseconds)
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nil) == EINTR {}
    }

    private static func time(in milliseconds: Int) -> timespec {
        let end = HostClock.now + Int64(milliseconds) * 1_000_000
        return timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
    }

    /// Indicates whether the caller runs on this thread.
    package var isCurrent: Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return isRunning && pthread_equal(thread, pthread_self()) != 0
    }

    private func start() {
        let error = startThread(&thread) {
            nameThread(self.name)
            self.body()
        }
        isRunning = error == 0
        if isRunning {
            pthread_detach(thread)
        } else {
            if !hasComplained {
                StandardError.say(
                    "the thread \(name) cannot be started now (\(errorText(error))); RenderStack tries again")
            }
            hasComplained = true
        }
    }
}
