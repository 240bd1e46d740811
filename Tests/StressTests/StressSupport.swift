import Glibc
import Synchronization

@testable import RenderCore

/// The duration of a stress test in seconds: RENDERSTACK_STRESS_SECONDS, by default 2.
var stressSeconds: Double { getenv("RENDERSTACK_STRESS_SECONDS").flatMap { Double(String(cString: $0)) } ?? 2 }

/// Counts what is made and what is freed.
final class Lives: Sendable {
    let made = Atomic<Int>(0)
    let freed = Atomic<Int>(0)
    var alive: Int { made.load(ordering: .acquiring) - freed.load(ordering: .acquiring) }
    func begin() { made.wrappingAdd(1, ordering: .relaxed) }
    func end() { freed.wrappingAdd(1, ordering: .releasing) }
}

/// A part of something else that is counted.
final class Life: Sendable {
    private let lives: Lives
    init(_ lives: Lives) {
        self.lives = lives
        lives.begin()
    }
    deinit { lives.end() }
}

/// Threads that repeat something until they are joined.
final class Crew: @unchecked Sendable {
    // Unchecked because the threads are added and joined by one thread.
    private let isOver = Atomic<Bool>(false)
    private var threads: [pthread_t] = []
    private let end: ContinuousClock.Instant

    init(seconds: Double) { end = .now + .seconds(seconds) }

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Adds a thread that calls `body` with numbers 0, 1, 2… and random numbers.
    func add(_ body: @escaping @Sendable (Int, inout SystemRandomNumberGenerator) -> Void) {
        let box = Unmanaged.passRetained(
            Body { [self] in
                var random = SystemRandomNumberGenerator()
                var number = 0
                while !isOver.load(ordering: .relaxed) {
                    body(number, &random)
                    number += 1
                }
            }
        ).toOpaque()
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, box)
        precondition(error == 0)
        threads.append(thread)
    }

    /// Waits for the end of the time and, if the machine has kept the threads waiting, until something is so. A minute
    /// at most.
    func join(until isSo: () -> Bool) {
        let limit = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end || !isSo() && ContinuousClock.now < limit { usleep(10_000) }
        isOver.store(true, ordering: .relaxed)
        for thread in threads { pthread_join(thread, nil) }
        threads = []
    }
}

/// Waits until something is so. `false` after a very long while.
func becomesTrue(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while !condition() {
        if ContinuousClock.now > end { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
