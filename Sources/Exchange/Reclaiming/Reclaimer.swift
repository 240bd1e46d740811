package import Synchronization

/// Counts the cycles of one renderer: odd while it is inside one.
package final class CycleCounter: Sendable {
    package let count = Atomic<UInt>(0)

    package init() {}

    /// Claims the renderer for a cycle. `false`: another thread is rendering with it already.
    ///
    /// Sequentially consistent, so that a render thread that reads an old pointer afterwards is seen as inside by the
    /// thread that replaced it.
    @inlinable package func begin() -> Bool {
        let now = count.load(ordering: .relaxed)
        if now & 1 == 1 { return false }
        return count.compareExchange(expected: now, desired: now &+ 1, ordering: .sequentiallyConsistent).exchanged
    }

    @inlinable package func end() { count.store(count.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// Indicates whether no cycle is under way, also none that might still see a value that was replaced before.
    @inlinable package var isOutside: Bool { count.load(ordering: .sequentiallyConsistent) & 1 == 0 }
}

/// Frees values that render threads may still be reading, once they no longer can.
///
/// A thread that replaces a pointer that render threads read hands the old value in here. A thread of the reclaimer's
/// own frees it as soon as every renderer that was inside a cycle has left it. Only that thread frees, and it holds no
/// lock meanwhile: freeing may run code of a user (a `deinit`, a completion), and the thread that handed the value in
/// may hold any lock. The collector, which passes events on, runs no code of a user: so a completion that blocks holds
/// up other completions, and no event.
///
/// Values that came while others wait are a batch of their own, which waits when those are free: so the work is the same
/// for each value, however many there are.
package final class Reclaimer: Sendable {
    package static let shared: Reclaimer = Reclaimer()

    private struct Wait {
        let counter: CycleCounter
        let count: UInt
        var isOver: Bool { counter.count.load(ordering: .acquiring) != count }
    }
    private struct State {
        var counters: [ObjectIdentifier: CycleCounter] = [:]
        /// Closures that wait for no cycle.
        var errands: [@Sendable () -> Void] = []
        /// Closures that were handed in since the batch was made.
        var new: [@Sendable () -> Void] = []
        /// A batch, and the cycles that have to end before it is freed.
        var batch: [@Sendable () -> Void] = []
        var waits: [Wait] = []

        mutating func takeRipe() -> [@Sendable () -> Void] {
            guard waits.allSatisfy(\.isOver) else { return [] }
            var ripe = batch
            (batch, new) = (new, [])
            waits = counters.values.compactMap { counter -> Wait? in
                let count = counter.count.load(ordering: .sequentiallyConsistent)
                return count & 1 == 1 ? Wait(counter: counter, count: count) : nil
            }
            if waits.isEmpty {
                ripe += batch
                batch = []
            }
            return ripe
        }
    }
    private let state: Lock<State> = Lock(State())
    private let thread: ServiceThread = ServiceThread(name: "rs-reclaimer") { Reclaimer.shared.run() }
    private init() {}

    /// Values that render threads have replaced themselves. Any thread pushes, the reclaimer takes all.
    package let graveyard = Graveyard()

    package func add(_ counter: CycleCounter) { state.withLock { $0.counters[ObjectIdentifier(counter)] = counter } }

    package func remove(_ counter: CycleCounter) {
        state.withLock { $0.counters[ObjectIdentifier(counter)] = nil }
    }

    /// Has something freed when no renderer can be reading it any more. Call it after the pointer has been replaced.
    package func retire(_ free: @escaping @Sendable () -> Void) {
        state.withLock { $0.new.append(free) }
        thread.wake()
    }

    /// Has code of a user run where no lock is held, in order with other errands.
    package func runErrand(_ errand: @escaping @Sendable () -> Void) {
        state.withLock { $0.errands.append(errand) }
        thread.wake()
    }

    /// Indicates whether the caller is code that the reclaimer frees or runs.
    package var isCurrent: Bool { thread.isCurrent }

    private func run() {
        while true {
            // A round of its own, so that it holds on to nothing while the thread sleeps.
            // Render threads wake no thread: the graveyard is looked at once in a while.
            if collect() { thread.nap(milliseconds: 2) } else { thread.sleep(milliseconds: 200) }
        }
    }

    /// Runs errands, and frees values that have become free. Returns whether something is still waiting.
    @discardableResult
    package func collect() -> Bool {
        HeldLocks.expectNone(before: "values are freed")
        let replaced = graveyard.takeAll()
        let (errands, ripe) = state.withLock { state in
            if replaced != 0 { state.new.append { StagedValue.freeAll(from: replaced) } }
            let errands = state.errands
            state.errands = []
            return (errands, state.takeRipe())
        }
        for errand in errands { errand() }
        for free in ripe { free() }
        return state.withLock { !$0.errands.isEmpty || !$0.new.isEmpty || !$0.batch.isEmpty }
    }
}

/// Values that render threads have put others in the place of. It is there for as long as the process runs, and render threads
/// reach it by a copy, without `swift_once`.
@safe package struct Graveyard: @unchecked Sendable {
    // Unchecked because a list is made for many threads.
    private let values: UnsafeMutablePointer<HandOverList>

    init() {
        unsafe values = .allocate(capacity: 1)
        unsafe values.initialize(to: HandOverList())
    }

    /// Hands in a value. On any thread.
    @_noLocks @_noAllocation
    package func push(_ value: UnsafeMutablePointer<StagedValue>) {
        unsafe values.pointee.add(UInt(bitPattern: value), link: &value.pointee.next)
    }

    /// Takes all that is there: the address of the first.
    func takeAll() -> UInt { unsafe values.pointee.takeAll() }
}
