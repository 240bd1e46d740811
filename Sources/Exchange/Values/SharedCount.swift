internal import Synchronization

/// A number that the render thread counts, and any thread reads.
package struct SharedCount: ~Copyable, Sendable {
    private let count = Atomic<Int>(0)

    /// Creates a count of 0.
    package init() {}

    package var value: Int { @_noLocks @_noAllocation get { count.load(ordering: .relaxed) } }

    @_noLocks @_noAllocation
    package func add(_ number: Int) { count.wrappingAdd(number, ordering: .relaxed) }

    @_noLocks @_noAllocation
    package func set(_ number: Int) { count.store(number, ordering: .relaxed) }
}
