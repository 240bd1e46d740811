import Foundation
import Glibc
import RenderStack
import TestSupport
import Testing

/// A program of random public calls from four threads at once, on a world that they share.
///
/// RENDERSTACK_SEED makes the calls of a run again, RENDERSTACK_RANDOM_SECONDS says how long it takes.
@Suite struct RandomCallsTests {
    @Test("Random public calls from four threads: every one ends, nothing crashes, events still come, all is freed")
    func randomCalls() async throws {
        let seed = variable("RENDERSTACK_SEED").flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
        let seconds = variable("RENDERSTACK_RANDOM_SECONDS").flatMap { Double($0) } ?? 5
        // A crash leaves no time to say it.
        FileHandle.standardError.write(Data("Random calls: RENDERSTACK_SEED=\(seed)\n".utf8))

        let census: Census
        let lost: [String]
        do {
            var dice = Dice(seed: seed)
            let world = try await World(&dice)
            census = world.census
            lost = await run(world, seed: seed, seconds: seconds)
            guard lost.isEmpty else {
                Issue.record("RENDERSTACK_SEED=\(seed): threads did not end: \(lost)")
                return
            }
            await world.end()
        }
        #expect(try await eventsStillCome(), "RENDERSTACK_SEED=\(seed)")
        var isFreed = false
        for _ in 0..<60 where !isFreed {
            isFreed = await becomesTrue(0.5) { census.living.isEmpty }
            if !isFreed { census.loosen() }
        }
        #expect(isFreed, "RENDERSTACK_SEED=\(seed): still there: \(census.living)")
    }

    /// Lets four threads call until the time is up. Returns where those are that do not end.
    private func run(_ world: World, seed: UInt64, seconds: Double) async -> [String] {
        let places = (0..<4).map { _ in Guarded("before the first call") }
        let isOver = Guarded(false)
        let calls = Guarded(0)
        let attempts = (0..<4).map { thread in
            Attempt {
                var dice = Dice(seed: seed &* 4 &+ UInt64(thread) &+ 1)
                var count = 0
                while !isOver.now {
                    Calls.any(world, &dice) { name in places[thread].withLock { $0 = name } }
                    count += 1
                }
                let made = count
                calls.withLock { $0 += made }
            }
        }
        try? await Task.sleep(for: .seconds(seconds))
        isOver.withLock { $0 = true }
        var lost: [String] = []
        for (attempt, place) in zip(attempts, places) where await !attempt.ends() { lost.append(place.now) }
        print("Random calls: \(calls.now) in \(seconds) s.")
        return lost
    }

    private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
