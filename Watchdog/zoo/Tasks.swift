import Dispatch
import Glibc

// Swift concurrency and Dispatch.

let taskCases = [
    blocks("task.create", "createTask", warm: true, createTask),
    blocks("task.create-cold", "createTaskCold", createTaskCold),
    blocks("task.detached", "createDetachedTask", createDetachedTask),
    blocks("task.main-actor", "createMainActorTask", createMainActorTask),
    blocks("task.cancel", "cancelTask", prepare: { startSleeper() }, cancelTask),
    blocks("stream.yield", "yieldToStream", prepare: { _ = stream.continuation }, seen: .libc, yieldToStream),
    blocks("dispatch.async", "dispatchAsync", warm: true, dispatchAsync),
    blocks("dispatch.sync", "dispatchSync", seen: .swift, dispatchSync),
    blocks("dispatch.after", "dispatchAfter", dispatchAfter),
    blocks("dispatch.queue", "makeQueue", makeQueue),
    blocks("dispatch.group-wait", "waitForGroup", seen: .swift, waitForGroup),
    mayBlock("dispatch.signal", "signalSemaphore", signalSemaphore),
    blocks("dispatch.wait", "waitForSemaphore", seen: .libc, waitForSemaphore),
    blocks("dispatch.work-item", "makeWorkItem", makeWorkItem),
    blocks("dispatch.concurrent", "performConcurrently", seen: .libc, performConcurrently),
]

nonisolated(unsafe) var task: Task<Int, Never>?
nonisolated(unsafe) var stream = AsyncStream.makeStream(of: Int.self)
nonisolated(unsafe) var queue = DispatchQueue(label: "zoo")
nonisolated(unsafe) var queueToo: DispatchQueue?
nonisolated(unsafe) var semaphore = DispatchSemaphore(value: 0)
nonisolated(unsafe) var silentSemaphore = DispatchSemaphore(value: 0)
nonisolated(unsafe) var group = DispatchGroup()
nonisolated(unsafe) var workItem: DispatchWorkItem?

@inline(never) func createTask() -> Int {
    task = Task { opaque(1) }  // HERE
    return 1
}

@inline(never) func createTaskCold() -> Int {
    task = Task(priority: .high) { opaque(2) }  // HERE
    return 1
}

@inline(never) func createDetachedTask() -> Int {
    task = Task.detached { opaque(3) }  // HERE
    return 1
}

@inline(never) func createMainActorTask() -> Int {
    task = Task { @MainActor in opaque(4) }  // HERE
    return 1
}

/// A task that sleeps: to cancel it takes the lock of its record.
func startSleeper() {
    task = Task {
        try? await Task.sleep(for: .seconds(10))
        return 1
    }
    usleep(5000)
}

@inline(never) func cancelTask() -> Int {
    task!.cancel()  // HERE
    return 1
}

@inline(never) func yieldToStream() -> Int {  // HERE
    stream.continuation.yield(opaque(1))  // HERE
    return 1
}

@inline(never) func dispatchAsync() -> Int {
    let value = opaque(1)
    queue.async { _ = opaque(value) }  // HERE
    return 1
}

@inline(never) func dispatchSync() -> Int {
    let value = queue.sync { opaque(1) }  // HERE
    return value &+ 1
}

@inline(never) func dispatchAfter() -> Int {
    queue.asyncAfter(deadline: .now() + 0.001) { _ = opaque(1) }  // HERE
    return 1
}

@inline(never) func makeQueue() -> Int {
    queueToo = DispatchQueue(label: "another")  // HERE
    return 1
}

@inline(never) func waitForGroup() -> Int {
    _ = group.wait(timeout: .now() + 0.001)  // HERE
    return 1
}

@inline(never) func signalSemaphore() -> Int {
    semaphore.signal()  // HERE
    return 1
}

@inline(never) func waitForSemaphore() -> Int {
    let result = silentSemaphore.wait(timeout: .now() + 0.001)  // HERE
    return result == .success ? 1 : 2
}

@inline(never) func makeWorkItem() -> Int {  // HERE
    workItem = DispatchWorkItem { _ = opaque(1) }  // HERE
    return 1
}

@inline(never) func performConcurrently() -> Int {
    DispatchQueue.concurrentPerform(iterations: 4) { _ = opaque($0) }  // HERE
    return 1
}
