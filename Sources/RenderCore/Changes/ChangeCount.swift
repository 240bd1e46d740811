public import Synchronization

/// The number of times that any of some parameters was set: a module that reads many of them looks at this one first.
///
/// A parameter that was set is counted after it shows its new value. So a module that finds another number than before, and then
/// reads the parameters, misses nothing: a value that is not counted yet comes with the next slice at the latest.
@usableFromInline
@safe package struct ChangeCount: ~Copyable, @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics.
    @usableFromInline let cell: UnsafeMutablePointer<Cell>

    /// The memory of a count.
    @usableFromInline struct Cell: ~Copyable {
        @usableFromInline let count = Atomic<UInt64>(0)
        fileprivate let holders = Atomic<Int>(1)

        fileprivate init() {}
    }

    /// Creates a count of 0.
    package init() {
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: Cell())
    }

    /// Creates another reference to the same count.
    package init(sharing other: borrowing ChangeCount) {
        unsafe cell = ChangeCount.retain(other.cell)
    }

    deinit { unsafe ChangeCount.release(cell) }

    /// Counts the changes of parameters from now on: before the render thread reads them, and once.
    package func count(_ parameters: [ParameterReference]) {
        for parameter in parameters { parameter.join(self) }
    }

    /// Returns the count. On the render thread.
    @inlinable package var value: UInt64 {
        @_noLocks @_noAllocation get { unsafe cell.pointee.count.load(ordering: .acquiring) }
    }

    /// Returns another reference to the memory.
    var reference: UnsafeMutablePointer<Cell> { unsafe ChangeCount.retain(cell) }

    private static func retain(_ cell: UnsafeMutablePointer<Cell>) -> UnsafeMutablePointer<Cell> {
        unsafe cell.pointee.holders.wrappingAdd(1, ordering: .relaxed)
        return unsafe cell
    }

    static func release(_ cell: UnsafeMutablePointer<Cell>) {
        if unsafe cell.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe cell.deinitialize(count: 1)
            unsafe cell.deallocate()
        }
    }

    @_noLocks @_noAllocation
    static func add(to cell: UnsafeMutablePointer<Cell>) {
        unsafe cell.pointee.count.wrappingAdd(1, ordering: .releasing)
    }
}
