internal import Glibc
internal import RenderCore
internal import Synchronization

/// The threads that stretch: work that is too much for the one thread that reads for all players.
///
/// There is one for each processor, eight at most, at an ordinary priority. Each takes the stream that has the fewest
/// frames ahead of what is heard, and makes some more.
package final class StretchThreads: Sendable {
    package static let shared = StretchThreads()

    private let waiting = Lock<[DiskStream]>([])
    /// Work that comes before all filling.
    private let urgent = Lock<[@Sendable () -> Void]>([])
    private let threads: [ServiceThread]
    /// The threads' own time for the last minute of sound that was made, in nanoseconds, and the length of that sound.
    private let spent = Atomic<Int64>(0)
    private let made = Atomic<Int64>(0)
    /// Frames that are made at once.
    private static var chunk: Int { 4_096 }

    private init() {
        let count = max(1, min(8, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        threads = (0..<count).map { index in
            ServiceThread(name: "rs-stretch-\(index)") { StretchThreads.shared.run(index) }
        }
    }

    /// Has something done at once, such as the first frames of a stream for which a caller waits.
    package func run(_ work: @escaping @Sendable () -> Void) {
        urgent.withLock { $0.append(work) }
        for thread in threads { thread.wake() }
    }

    /// Has streams filled as far as they have room.
    package func fill(_ streams: [DiskStream]) {
        let isBusy = waiting.withLock { waiting in
            for stream in streams where stream.enqueue() { waiting.append(stream) }
            return !waiting.isEmpty
        }
        if isBusy { for thread in threads { thread.wake() } }
    }

    /// The number of streams, such as those up to now, that can be made in three quarters of the processors' time; `nil`
    /// before a second was made.
    package var capacity: Int? {
        let (spent, made) = (spent.load(ordering: .relaxed), made.load(ordering: .relaxed))
        if made < 1_000_000_000 || spent <= 0 { return nil }
        let streams: Double = Double(made) / Double(spent)
        return Int(0.75 * Double(threads.count) * streams)
    }

    private func run(_ index: Int) {
        while true {
            if !runNext() && !fillNext() { threads[index].sleep(milliseconds: 60_000) }
        }
    }

    private func runNext() -> Bool {
        guard let work = urgent.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        work()
        return true
    }

    /// Fills the stream that needs it most. Returns whether there was one. A function of its own, so that none is kept
    /// alive while the thread sleeps.
    private func fillNext() -> Bool {
        let next = waiting.withLock { waiting in
            waiting.indices.min { waiting[$0].ahead < waiting[$1].ahead }.map { waiting.remove(at: $0) }
        }
        guard let next else { return false }
        let begin = Self.threadTime
        let moved = next.fill(frames: Self.chunk)
        spent.wrappingAdd(Self.threadTime &- begin, ordering: .relaxed)
        let length = Int64(Double(moved) / next.sampleRate * 1e9)
        if made.wrappingAdd(length, ordering: .relaxed).newValue > 60_000_000_000 {
            // Streams that were made long ago count less and less. If two threads come by at once, both halve.
            made.store(made.load(ordering: .relaxed) / 2, ordering: .relaxed)
            spent.store(spent.load(ordering: .relaxed) / 2, ordering: .relaxed)
        }
        next.dequeue()
        if moved >= Self.chunk { fill([next]) }
        return true
    }

    private static var threadTime: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
