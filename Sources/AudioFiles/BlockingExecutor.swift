internal import Dispatch

/// Runs jobs that wait for a disk, or calculate for long, on a thread of its own.
///
/// Swift's own threads are as few as there are processors: a job that waits for a disk on them stops the others.
final class BlockingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "AudioFiles")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// One thing after the other, off the callers' threads and in their tasks: a cancelled task is seen as one.
actor BlockingWork {
    private let executor = BlockingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func run<Value: ~Copyable & Sendable>(_ body: @Sendable () throws -> Value) throws -> Value { try body() }
}
