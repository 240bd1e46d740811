internal import Glibc
internal import RenderStack
internal import Synchronization

/// Waits until the threads of `BackgroundWork` have done all jobs that they were given before, so that a test can turn
/// the clock by hand: whoever renders a live cycle only then never finds a job late, however busy the machine is.
public func awaitBackgroundJobs() {
    final class Arrivals: Sendable { let count = Atomic<Int>(0) }
    let arrivals = Arrivals()
    let threads = BackgroundJob.threadCount
    // The last of all jobs, one for each thread: none has another job when all have come here.
    for _ in 0..<threads {
        BackgroundJob.run(due: .max) {
            arrivals.count.wrappingAdd(1, ordering: .releasing)
            while arrivals.count.load(ordering: .acquiring) < threads { usleep(100) }
        }
    }
    while arrivals.count.load(ordering: .acquiring) < threads { usleep(100) }
}
