internal import CRender
internal import Synchronization

/// Gives a render thread back the priority that the guard has taken from it (see `crender_make_realtime`), when it has
/// shown for some seconds that it ends its cycles in time.
package final class PriorityGuard: Sendable {
    /// The number of times that the guard has acted, and that the priority was given back.
    private let losses = Atomic<Int>(0)
    private let returns = Atomic<Int>(0)
    /// The thread that wants its priority back and may not take it by itself; 0 for none.
    private let petitioner = Atomic<Int64>(0)
    private let toldLosses = Atomic<Int>(0)
    private let toldReturns = Atomic<Int>(0)
    // The render thread's own.
    private let seenCount: Atomic<UInt32>
    private let lostPriority = Atomic<Int>(0)
    private let goodCycles = Atomic<Int>(0)
    private let hasAsked = Atomic<Bool>(false)

    /// The time that a thread may compute without a pause, in microseconds.
    package static let time: UInt32 = 500_000
    /// Good cycles after which the priority is given back.
    package static let goodCycles = 500

    package init() { seenCount = Atomic(crender_guard_count()) }

    /// Notes a cycle, after its hand-over. On the render thread: one comparison, unless the guard has acted.
    ///
    /// - Parameters:
    ///   - load: The share of its time that the cycle took, where 1 is all of it.
    ///   - priority: The priority that the thread should have; 0 for an ordinary one.
    package func note(load: Double, priority: Int) {
        let count = crender_guard_count()
        if count != seenCount.load(ordering: .relaxed) { look(count, priority) }
        if lostPriority.load(ordering: .relaxed) != 0 { giveBack(load) }
    }

    /// Looks whether the guard put this thread back, because the count is the process's.
    private func look(_ count: UInt32, _ priority: Int) {
        seenCount.store(count, ordering: .relaxed)
        guard priority > 0, !crender_thread_policy().is_realtime else { return }
        lostPriority.store(priority, ordering: .relaxed)
        goodCycles.store(0, ordering: .relaxed)
        losses.wrappingAdd(1, ordering: .relaxed)
    }

    private func giveBack(_ load: Double) {
        let good = load < 0.5 ? goodCycles.load(ordering: .relaxed) + 1 : 0
        goodCycles.store(good, ordering: .relaxed)
        guard good >= Self.goodCycles else { return }
        goodCycles.store(0, ordering: .relaxed)
        let priority = lostPriority.load(ordering: .relaxed)
        if crender_thread_policy().is_realtime || RealtimeThread.raiseHelper(to: priority) {
            lostPriority.store(0, ordering: .relaxed)
            hasAsked.store(false, ordering: .relaxed)
            returns.wrappingAdd(1, ordering: .relaxed)
        } else if !hasAsked.exchange(true, ordering: .relaxed) {
            petitioner.store(crender_thread_id(), ordering: .relaxed)
        } else {
            // Neither by itself nor by a service.
            lostPriority.store(0, ordering: .relaxed)
            hasAsked.store(false, ordering: .relaxed)
        }
    }

    /// Returns the thread that has earned its priority back and must ask a service for it, once.
    package func takePetitioner() -> Int64? {
        let thread = petitioner.exchange(0, ordering: .relaxed)
        return thread == 0 ? nil : thread
    }

    /// Sentences about the guard's actions since the last call.
    ///
    /// - Parameter slowest: The module that took longest in a slice, and for how many nanoseconds.
    package func news(slowest: () -> (name: String, nanoseconds: Int64)?) -> [String] {
        var sentences: [String] = []
        let losses = losses.load(ordering: .relaxed)
        if toldLosses.exchange(losses, ordering: .relaxed) != losses {
            // Long enough for the guard to act: that one was it.
            let name = slowest().flatMap { $0.nanoseconds >= Int64(Self.time) * 500 ? $0.name : nil }
            sentences.append(
                "A cycle computed for more than \(Self.time / 1000) ms\(name.map { ", in the module \($0)" } ?? ""): "
                    + "its thread has lost its real-time priority, so that it cannot freeze the machine. It gets it back "
                    + "after \(Self.goodCycles) good cycles.")
        }
        let returns = returns.load(ordering: .relaxed)
        if toldReturns.exchange(returns, ordering: .relaxed) != returns {
            sentences.append("The render thread has its real-time priority back.")
        }
        return sentences
    }
}
