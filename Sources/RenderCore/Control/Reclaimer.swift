internal import Synchronization

/// Counts the cycles of one renderer: odd while it is inside one.
final class CycleCounter: Sendable {
    let count = Atomic<UInt>(0)

    /// Claims the renderer for a cycle. `false`: somebody is rendering with it already.
    ///
    /// Sequentially consistent, so that a render thread that reads an old pointer afterwards is seen as inside by whoever
    /// replaced it.
    func begin() -> Bool {
        let now = count.load(ordering: .relaxed)
        if now & 1 == 1 { return false }
        return count.compareExchange(expected: now, desired: now &+ 1, ordering: .sequentiallyConsistent).exchanged
    }

    func end() { count.store(count.load(ordering: .relaxed) &+ 1, ordering: .releasing) }
}

/// Frees what render threads may still be reading, once they no longer can.
///
/// Whoever replaces a pointer that render threads read hands the old value in here. It is freed as soon as every renderer
/// that was inside a cycle at that moment has left it: at once when none was. Nothing is asked of the render thread but
/// to count its cycles.
final class Reclaimer: Sendable {
    static let shared = Reclaimer()

    private struct Retired {
        let free: @Sendable () -> Void
        let waits: [(counter: CycleCounter, count: UInt)]
        var isRipe: Bool { waits.allSatisfy { $0.counter.count.load(ordering: .acquiring) != $0.count } }
    }
    private struct State {
        var counters: [ObjectIdentifier: CycleCounter] = [:]
        var retired: [Retired] = []
    }
    private let state = Lock(State())

    func add(_ counter: CycleCounter) { state.withLock { $0.counters[ObjectIdentifier(counter)] = counter } }

    func remove(_ counter: CycleCounter) {
        state.withLock { $0.counters[ObjectIdentifier(counter)] = nil }
    }

    /// Frees something when no renderer can be reading it any more. Call it after the pointer has been replaced.
    func retire(_ free: @escaping @Sendable () -> Void) {
        let ripe = state.withLock { state in
            let waits = state.counters.values.compactMap { counter -> (CycleCounter, UInt)? in
                let count = counter.count.load(ordering: .sequentiallyConsistent)
                return count & 1 == 1 ? (counter, count) : nil
            }
            state.retired.append(Retired(free: free, waits: waits))
            return Self.takeRipe(&state)
        }
        for retired in ripe { retired.free() }
        if ripe.isEmpty { Collector.shared.wake() }
    }

    /// Frees what has become free. Returns whether something is still waiting.
    @discardableResult
    func collect() -> Bool {
        let (ripe, isWaiting) = state.withLock { state in
            let ripe = Self.takeRipe(&state)
            return (ripe, !state.retired.isEmpty)
        }
        for retired in ripe { retired.free() }
        return isWaiting
    }

    private static func takeRipe(_ state: inout State) -> [Retired] {
        let firstRipe = state.retired.partition(by: \.isRipe)
        let ripe = Array(state.retired[firstRipe...])
        state.retired.removeSubrange(firstRipe...)
        return ripe
    }
}
