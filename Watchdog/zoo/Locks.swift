import Glibc
import Synchronization

// Locks, and waiting for other threads.

let lockCases = [
    blocks("mutex.swift-contended", "lockContendedMutex", prepare: { holdMutex() }, lockContendedMutex),
    // Swift's Mutex asks the kernel for the thread's number when a thread first uses one.
    blocks("mutex.swift-first", "lockFirstMutex", lockFirstMutex),
    clean("mutex.swift-free", "lockFreeMutex", warm: true, lockFreeMutex),
    blocks("pthread.mutex", "lockMutex", lockMutex),
    mayBlock("pthread.try-unlock", "tryAndUnlock", seen: .libc, tryAndUnlock),
    blocks("pthread.rwlock-read", "lockToRead", lockToRead),
    blocks("pthread.rwlock-write", "lockToWrite", lockToWrite),
    mayBlock("pthread.cond-signal", "signalCondition", seen: .libc, signalCondition),
    blocks("pthread.cond-timedwait", "waitForCondition", waitForCondition),
    blocks("pthread.create", "createThread", createThread),
    blocks("pthread.join", "joinThread", prepare: { spawned = startThread() }, joinThread),
    blocks("pthread.barrier", "waitAtBarrier", prepare: { pthread_barrier_init(barrier, nil, 1) }, waitAtBarrier),
    mayBlock("sem.post", "postSemaphore", seen: .libc, postSemaphore),
    blocks("sem.wait", "waitForPosix", prepare: { sem_post(posix) }, waitForPosix),
    blocks("sem.timedwait", "waitForPosixInVain", waitForPosixInVain),
    blocks("pthread.once-cold", "initialiseOnce", initialiseOnce),
]

let swiftMutex = Mutex(0)
let freeMutex = Mutex(0)

/// Memory that stays where it is.
func cell<Value>(_ value: Value) -> UnsafeMutablePointer<Value> {
    let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    pointer.initialize(to: value)
    return pointer
}
/// Returns the pointer, made ready by a function of C.
func made<Value>(_ pointer: UnsafeMutablePointer<Value>, _ initialise: (UnsafeMutablePointer<Value>) -> Int32)
    -> UnsafeMutablePointer<Value>
{
    _ = initialise(pointer)
    return pointer
}
nonisolated(unsafe) let mutex = made(cell(pthread_mutex_t())) { pthread_mutex_init($0, nil) }
nonisolated(unsafe) let condition = made(cell(pthread_cond_t())) { pthread_cond_init($0, nil) }
nonisolated(unsafe) let rwlock = made(cell(pthread_rwlock_t())) { pthread_rwlock_init($0, nil) }
nonisolated(unsafe) let barrier = cell(pthread_barrier_t())
nonisolated(unsafe) let posix = made(cell(sem_t())) { sem_init($0, 0, 0) }
nonisolated(unsafe) let silent = made(cell(sem_t())) { sem_init($0, 0, 0) }
nonisolated(unsafe) let once = cell(pthread_once_t())
nonisolated(unsafe) var spawned = pthread_t()
nonisolated(unsafe) var initialised = 0

func startThread() -> pthread_t {
    var thread = pthread_t()
    pthread_create(&thread, nil, { _ in nil }, nil)
    return thread
}

/// Another thread takes the mutex and keeps it for 20 ms.
func holdMutex() {
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { _ in
            swiftMutex.withLock { value in
                value = 1
                heldFlag.store(true, ordering: .releasing)
                usleep(20_000)
            }
            return nil
        }, nil)
    pthread_detach(thread)
    while !heldFlag.load(ordering: .acquiring) { sched_yield() }
    heldFlag.store(false, ordering: .relaxed)
}
let heldFlag = Atomic(false)

@inline(never) func lockContendedMutex() -> Int {
    swiftMutex.withLock { $0 &+= 1 }  // HERE
    return 1
}

@inline(never) func lockFreeMutex() -> Int {
    freeMutex.withLock { $0 &+= 1 }
    return 1
}

@inline(never) func lockFirstMutex() -> Int {
    let value = freeMutex.withLock { value in  // HERE
        value ^= opaque(3)
        return value
    }
    return value &+ 1
}

@inline(never) func lockMutex() -> Int {
    pthread_mutex_lock(mutex)  // HERE
    pthread_mutex_unlock(mutex)  // HERE
    return 1
}

@inline(never) func tryAndUnlock() -> Int {
    let status = pthread_mutex_trylock(mutex)
    if status == 0 { pthread_mutex_unlock(mutex) }  // HERE
    return 1
}

@inline(never) func lockToRead() -> Int {
    pthread_rwlock_rdlock(rwlock)  // HERE
    pthread_rwlock_unlock(rwlock)  // HERE
    return 1
}

@inline(never) func lockToWrite() -> Int {
    let status = pthread_rwlock_wrlock(rwlock)  // HERE
    if status == 0 { pthread_rwlock_unlock(rwlock) }  // HERE
    return 2
}

@inline(never) func signalCondition() -> Int {
    pthread_cond_signal(condition)  // HERE
    return 1
}

@inline(never) func waitForCondition() -> Int {
    var until = timespec()
    pthread_mutex_lock(mutex)  // HERE
    pthread_cond_timedwait(condition, mutex, &until)  // HERE
    pthread_mutex_unlock(mutex)  // HERE
    return 1
}

@inline(never) func createThread() -> Int {
    var thread = pthread_t()
    pthread_create(&thread, nil, { _ in nil }, nil)  // HERE
    pthread_detach(thread)  // HERE
    return 1
}

@inline(never) func joinThread() -> Int {
    pthread_join(spawned, nil)  // HERE
    return 1
}

@inline(never) func waitAtBarrier() -> Int {
    pthread_barrier_wait(barrier)  // HERE
    return 1
}

@inline(never) func postSemaphore() -> Int {
    sem_post(posix)  // HERE
    return 1
}

@inline(never) func waitForPosix() -> Int {
    sem_wait(posix)  // HERE
    return 1
}

@inline(never) func waitForPosixInVain() -> Int {
    var until = timespec()
    sem_timedwait(silent, &until)  // HERE
    return 1
}

@inline(never) func initialiseOnce() -> Int {
    pthread_once(once) {  // HERE
        initialised = 1
        usleep(1)  // HERE
    }
    return 1
}
