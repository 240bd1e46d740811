import Glibc
import RealtimeWatch

private final class Job {
    let entry: Case
    let number: Int
    var result = 0
    init(_ entry: Case, number: Int) { (self.entry, self.number) = (entry, number) }
}

/// Runs a case between enter and exit on a thread of its own, called `zoo-` and its number.
func run(_ entry: Case, number: Int) -> Int {
    let job = Job(entry, number: number)
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { argument in
            let job = Unmanaged<Job>.fromOpaque(argument!).takeUnretainedValue()
            let entry = job.entry
            nameThread("zoo-\(job.number)")
            entry.prepare()
            var sum = entry.isWarm ? entry.body() : 0
            if entry.isWarm { entry.prepare() }
            cycle(entry.name, entry.body, &sum)
            job.result = sum
            return nil
        }, Unmanaged.passUnretained(job).toOpaque())
    pthread_join(thread, nil)
    return job.result
}

/// Swift's Glibc has no pthread_setname_np.
private func nameThread(_ name: String) {
    guard let file = fopen("/proc/thread-self/comm", "w") else { return }
    fputs(name, file)
    fclose(file)
}

@inline(never)
private func cycle(_ name: StaticString, _ body: @convention(c) () -> Int, _ sum: inout Int) {
    RealtimeWatch.enter(name, period: .milliseconds(1))
    sum &+= body()
    RealtimeWatch.exit()
}
