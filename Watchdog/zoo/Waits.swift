import Glibc

// Sleeping, polling, and a cycle that does not end.

let waitCases = [
    blocks("sleep.usleep", "sleepMicroseconds", sleepMicroseconds),
    blocks("sleep.nanosleep", "sleepNanoseconds", sleepNanoseconds),
    blocks("sleep.clock", "sleepOnClock", sleepOnClock),
    blocks("yield", "yieldProcessor", yieldProcessor),
    blocks("poll", "pollNothing", pollNothing),
    blocks("select", "selectNothing", selectNothing),
    blocks("pselect", "selectPrecisely", selectPrecisely),
    blocks("hang", "spinForever", spinForever),
    notes("clock.continuous", "readClock", seen: .libc, readClock),
    notes("clock.gettime", "readClockOfC", seen: .libc, readClockOfC),
]

nonisolated(unsafe) var descriptor: Int32 = -1
nonisolated(unsafe) var instant = ContinuousClock.now
nonisolated(unsafe) var spins = 0

@inline(never) func sleepMicroseconds() -> Int {
    usleep(10)  // HERE
    return 1
}

@inline(never) func sleepNanoseconds() -> Int {
    var time = timespec(tv_sec: 0, tv_nsec: 1000)
    nanosleep(&time, nil)  // HERE
    return 1
}

@inline(never) func sleepOnClock() -> Int {
    var time = timespec(tv_sec: 0, tv_nsec: 1000)
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)  // HERE
    return 1
}

@inline(never) func yieldProcessor() -> Int {
    sched_yield()  // HERE
    return 1
}

@inline(never) func pollNothing() -> Int {
    poll(nil, 0, 1)  // HERE
    return 1
}

@inline(never) func selectNothing() -> Int {
    var time = timeval(tv_sec: 0, tv_usec: 100)
    select(0, nil, nil, nil, &time)  // HERE
    return 1
}

@inline(never) func selectPrecisely() -> Int {
    var time = timespec(tv_sec: 0, tv_nsec: 1000)
    pselect(0, nil, nil, nil, &time, nil)  // HERE
    return 1
}

/// A third of a second: hundreds of the cycle's periods, and more than enough for a hang to be noticed.
@inline(never) func spinForever() -> Int {
    var sum = opaque(1)
    for i in 0..<opaque(300_000_000) { sum = (sum &* 31) ^ i }  // HERE
    return sum & 1
}

@inline(never) func readClock() -> Int {
    instant = ContinuousClock.now  // HERE
    return 1
}

@inline(never) func readClockOfC() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)  // HERE
    return 1
}
