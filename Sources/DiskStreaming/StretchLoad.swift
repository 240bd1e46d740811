internal import Glibc
internal import RenderCore
internal import Synchronization

/// The time that stretching takes: how many streams the threads of `BackgroundWork` can stretch, and whether they have time
/// just now.
///
/// Stretching gets nine tenths of their time. More players than that allows lose frames, but no thread computes without a
/// pause, for which the system would take its priority, and with it that of a convolution's jobs.
enum StretchLoad {
    private static let share = 0.9
    /// The part of the time in which the players should do that are said to fit.
    private static let shareOfFitting = 0.75
    /// The most time that can be saved up, in nanoseconds.
    private static let most: Int64 = 50_000_000
    /// The threads' own time for the last minute of sound that was made, in nanoseconds, and the length of that sound.
    private static let spent = Atomic<Int64>(0)
    private static let made = Atomic<Int64>(0)
    /// The time that is left to stretching, and when it was last added to.
    private static let budget = Lock((left: most, since: Int64.min))

    /// The number of streams, such as those up to now, that can be made in three quarters of the threads' time; `nil`
    /// before a second was made.
    static var capacity: Int? {
        let (spent, made) = (spent.load(ordering: .relaxed), made.load(ordering: .relaxed))
        if made < 1_000_000_000 || spent <= 0 { return nil }
        return Int(shareOfFitting * Double(BackgroundJob.threadCount) * Double(made) / Double(spent))
    }

    /// Indicates whether the threads have time for stretching just now.
    static var hasTime: Bool {
        let now = HostClock.now
        return budget.withLock { budget in
            let passed = budget.since == .min ? most : min(most, max(0, now &- budget.since))
            let more = Int64(share * Double(BackgroundJob.threadCount) * Double(passed))
            budget = (min(most, budget.left &+ more), now)
            return budget.left > 0
        }
    }

    /// Does a part of the work, which makes frames of a stream, and counts what it takes.
    static func measure(sampleRate: Double, _ work: () -> Int) -> Int {
        let begin = threadTime
        let frames = work()
        let time = threadTime &- begin
        budget.withLock { $0.left -= time }
        spent.wrappingAdd(time, ordering: .relaxed)
        let length = Int64(Double(frames) / sampleRate * 1e9)
        if made.wrappingAdd(length, ordering: .relaxed).newValue > 60_000_000_000 {
            // Streams that were made long ago count less and less. If two threads come by at once, both halve.
            made.store(made.load(ordering: .relaxed) / 2, ordering: .relaxed)
            spent.store(spent.load(ordering: .relaxed) / 2, ordering: .relaxed)
        }
        return frames
    }

    private static var threadTime: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
