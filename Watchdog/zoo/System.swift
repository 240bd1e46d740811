import Glibc
import RealtimeWatch

// Memory from C, the kernel, the loader, other processes.

let systemCases = [
    blocks("malloc", "allocateInC", allocateInC),
    blocks("free", "freeInC", prepare: { block = malloc(1000) }, freeInC),
    blocks("realloc", "reallocateInC", prepare: { block = malloc(1000) }, reallocateInC),
    blocks("pointer.allocate", "allocateTyped", allocateTyped),
    blocks("pointer.deallocate", "deallocateTyped", prepare: { typed = .allocate(capacity: 100) }, deallocateTyped),
    blocks("mmap", "mapMemory", mapMemory),
    blocks("munmap", "unmapMemory", prepare: { _ = mapMemory() }, unmapMemory),
    blocks("mlock", "lockMemory", lockMemory),
    blocks("mprotect", "protectMemory", prepare: { _ = mapMemory() }, protectMemory),
    notes(
        "page-fault", "touchFreshMemory", warm: false,
        prepare: {
            settle()
            _ = mapMemory()
        }, seen: .libc, touchFreshMemory),
    blocks("random.system", "drawRandomNumber", drawRandomNumber),
    blocks("random.getentropy", "drawFromKernel", drawFromKernel),
    blocks("random.shuffle", "shuffleArray", prepare: { full = Array(0..<8) }, shuffleArray),
    blocks("dlopen", "openLibrary", openLibrary),
    blocks("setenv", "setVariable", setVariable),
    notes("getenv", "readVariable", seen: .libc, readVariable),
    blocks("system", "runShell", runShell),
    blocks("kill", "signalItself", signalItself),
    blocks("priority", "askPriority", askPriority),
    blocks("ioctl", "controlDevice", prepare: { descriptor = open("/dev/null", O_RDONLY) }, controlDevice),
    clean("errno", "readErrno", readErrno),
]

nonisolated(unsafe) var block: UnsafeMutableRawPointer?
nonisolated(unsafe) var typed = UnsafeMutablePointer<Float>.allocate(capacity: 1)
nonisolated(unsafe) var mapped: UnsafeMutableRawPointer?

@inline(never) func allocateInC() -> Int {
    block = malloc(opaque(1000))  // HERE
    return 1
}

@inline(never) func freeInC() -> Int {
    free(block)  // HERE
    return 1
}

@inline(never) func reallocateInC() -> Int {
    block = realloc(block, 100_000)  // HERE
    return 1
}

@inline(never) func allocateTyped() -> Int {
    typed = .allocate(capacity: opaque(100))  // HERE
    return 1
}

@inline(never) func deallocateTyped() -> Int {
    typed.deallocate()  // HERE
    return 1
}

@inline(never) func mapMemory() -> Int {
    mapped = mmap(nil, 65_536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)  // HERE
    return 1
}

@inline(never) func unmapMemory() -> Int {
    munmap(mapped, 65_536)  // HERE
    return 1
}

@inline(never) func lockMemory() -> Int {
    mlock(bytes, 4096)  // HERE
    return 1
}

@inline(never) func protectMemory() -> Int {
    mprotect(mapped, 4096, PROT_READ)  // HERE
    return 1
}

@inline(never) func touchFreshMemory() -> Int {
    mapped!.storeBytes(of: 1, as: Int.self)  // HERE
    return 1
}

@inline(never) func drawRandomNumber() -> Int {
    let number = Float.random(in: 0...1)  // HERE
    return number > 0.5 ? 1 : 2
}

@inline(never) func drawFromKernel() -> Int {
    getentropy(bytes, 16)  // HERE
    return 1
}

@inline(never) func shuffleArray() -> Int {
    full.shuffle()  // HERE
    return 1
}

@inline(never) func openLibrary() -> Int {
    let library = dlopen("libm.so.6", RTLD_NOW)  // HERE
    return library == nil ? 1 : 2
}

@inline(never) func setVariable() -> Int {
    setenv("ZOO", "1", 1)  // HERE
    return 1
}

@inline(never) func readVariable() -> Int {
    let value = getenv("ZOO")  // HERE
    return value == nil ? 1 : 2
}

@inline(never) func runShell() -> Int {
    let status = system("true")  // HERE
    return Int(status) &+ 1
}

@inline(never) func signalItself() -> Int {
    kill(getpid(), 0)  // HERE
    return 1
}

@inline(never) func askPriority() -> Int {
    var policy: Int32 = 0
    var parameters = sched_param()
    pthread_getschedparam(pthread_self(), &policy, &parameters)  // HERE
    return 1
}

@inline(never) func controlDevice() -> Int {
    var count: Int32 = 0
    _ = ioctl(descriptor, UInt(FIONREAD), &count)  // HERE
    return 1
}

@inline(never) func readErrno() -> Int {
    Int(errno & 1)
}

/// The watchdog opens a thread's perf events on a thread of its own, some milliseconds behind its first cycle.
private func settle() {
    for _ in 0..<20 {
        RealtimeWatch.enter("settle", period: .milliseconds(1))
        RealtimeWatch.exit()
        usleep(10_000)
    }
}
