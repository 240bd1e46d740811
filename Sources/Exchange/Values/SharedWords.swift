public import Synchronization

/// Four numbers on one cache line that several modules (and control code) read and write, without an order to anything
/// else.
@usableFromInline
@safe package struct SharedWords: ~Copyable, @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics.
    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// Creates four words, which are 0.
    package init() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
        unsafe words = memory.assumingMemoryBound(to: Atomic<UInt64>.self)
        for word in 0..<4 { unsafe (words + word).initialize(to: Atomic(0)) }
        // The last word counts the references.
        unsafe (words + 4).initialize(to: Atomic(1))
    }

    /// Creates another reference to the same numbers.
    package init(sharing other: borrowing SharedWords) {
        unsafe words = other.words
        unsafe words[4].wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
        if unsafe words[4].wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe UnsafeMutableRawPointer(words).deallocate()
        }
    }

    /// One of them.
    @inlinable package subscript(_ word: Int) -> UInt64 {
        @_noLocks @_noAllocation get { unsafe words[word & 3].load(ordering: .relaxed) }
        @_noLocks @_noAllocation nonmutating set { unsafe words[word & 3].store(newValue, ordering: .relaxed) }
    }
}
