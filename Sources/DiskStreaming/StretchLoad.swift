internal import Background
internal import Glibc
internal import RenderCore
internal import Synchronization

/// The time that stretching takes: how many streams the threads of `BackgroundWork` can stretch.
enum StretchLoad {
    /// The threads' own time for the last minute of sound that was made, in nanoseconds, and the length of that sound.
    private static let spent = Atomic<Int64>(0)
    private static let made = Atomic<Int64>(0)

    /// The number of streams, such as those up to now, that can be made in three quarters of the threads' time; `nil`
    /// before a second was made.
    static var capacity: Int? {
        let (spent, made) = (spent.load(ordering: .relaxed), made.load(ordering: .relaxed))
        if made < 1_000_000_000 || spent <= 0 { return nil }
        return Int(0.75 * Double(BackgroundJob.threadCount) * Double(made) / Double(spent))
    }

    /// Does a part of the work, which makes frames of a stream, and counts what it takes.
    static func measure(sampleRate: Double, _ work: () -> Int) -> Int {
        let begin = threadTime
        let frames = work()
        spent.wrappingAdd(threadTime &- begin, ordering: .relaxed)
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
