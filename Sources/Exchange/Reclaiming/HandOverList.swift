internal import Synchronization

/// A list by which threads hand things over: any thread adds one, and one takes all that are there. No thread waits.
///
/// A thing is its address, and has a word for the address of the one that was added before it. It belongs to the thread that adds it,
/// and then to the one that takes it.
package struct HandOverList: ~Copyable, Sendable {
    private let first = Atomic<UInt>(0)

    /// Creates an empty list.
    package init() {}

    /// The address of the thing that was added last; 0 if there is none.
    package var newest: UInt { @_noLocks @_noAllocation get { first.load(ordering: .relaxed) } }

    /// Adds a thing.
    ///
    /// - Parameter link: The thing's word for the one before.
    @_noLocks @_noAllocation
    @unsafe package func add(_ thing: UInt, link: UnsafeMutablePointer<UInt>) {
        var before = newest
        repeat { unsafe link.pointee = before } while !add(thing, to: &before)
    }

    /// Adds a thing whose word has the address of the one before, unless that is not the newest any more: then `before` becomes it.
    @_noLocks @_noAllocation
    package func add(_ thing: UInt, to before: inout UInt) -> Bool {
        // Sequentially consistent: who adds may then look whether another thread sleeps.
        let (isAdded, found) = first.weakCompareExchange(
            expected: before, desired: thing, ordering: .sequentiallyConsistent)
        before = found
        return isAdded
    }

    /// Takes all: the address of the one that was added last; 0 if there is none.
    @_noLocks @_noAllocation
    package func takeAll() -> UInt { first.exchange(0, ordering: .sequentiallyConsistent) }
}
