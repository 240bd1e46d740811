internal import Synchronization

/// A number that the render thread counts, and control code reads.
struct SharedCount: ~Copyable, Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    @_noLocks @_noAllocation
    func add(_ number: Int) { count.wrappingAdd(number, ordering: .relaxed) }

    @_noLocks @_noAllocation
    func set(_ number: Int) { count.store(number, ordering: .relaxed) }
}
