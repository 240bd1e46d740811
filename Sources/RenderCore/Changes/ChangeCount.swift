public import Synchronization

/// The number of times that any of some parameters was set: a module that reads many of them looks at this one first.
///
/// A parameter that was set is counted after it shows its new value. So a module that finds another number than before, and then
/// reads the parameters, misses nothing: a value that is not counted yet comes with the next slice at the latest.
@usableFromInline
@safe package struct ChangeCount: ~Copyable, @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics.
    @usableFromInline let memory: UnsafeMutablePointer<Memory>

    /// The memory of a count.
    @usableFromInline struct Memory: ~Copyable {
        @usableFromInline let count = Atomic<UInt64>(0)
        fileprivate let holders = Atomic<Int>(1)

        fileprivate init() {}
    }

    /// Creates a count of 0.
    package init() {
        unsafe memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: Memory())
    }

    /// Creates another reference to the same count.
    package init(sharing other: borrowing ChangeCount) {
        unsafe memory = ChangeCount.retain(other.memory)
    }

    deinit { unsafe ChangeCount.release(memory) }

    /// Counts the changes of parameters from now on: before the render thread reads them, and once.
    package func count(_ parameters: [ParameterReference]) {
        for parameter in parameters { parameter.join(self) }
    }

    /// Returns the count. On the render thread.
    @inlinable package var value: UInt64 {
        @_noLocks @_noAllocation get { unsafe memory.pointee.count.load(ordering: .acquiring) }
    }

    /// Returns another reference to the memory.
    var reference: UnsafeMutablePointer<Memory> { unsafe ChangeCount.retain(memory) }

    private static func retain(_ memory: UnsafeMutablePointer<Memory>) -> UnsafeMutablePointer<Memory> {
        unsafe memory.pointee.holders.wrappingAdd(1, ordering: .relaxed)
        return unsafe memory
    }

    static func release(_ memory: UnsafeMutablePointer<Memory>) {
        if unsafe memory.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe memory.deinitialize(count: 1)
            unsafe memory.deallocate()
        }
    }

    @_noLocks @_noAllocation
    static func add(to memory: UnsafeMutablePointer<Memory>) {
        unsafe memory.pointee.count.wrappingAdd(1, ordering: .releasing)
    }
}
