package import Synchronization

/// A value that one thread changes now and then and any thread reads, without a lock. A reader never gets half of one value
/// and half of another.
///
///     let place = Published(Place())
///     place.store(Place(frame: 7))                // one thread
///     place.load()                                // any thread
///
/// Annotated code, and code of another target on the render thread, uses ``PublishedWords``: the type's metadata would be
/// made when they first run.
package struct Published<Value: BitwiseCopyable & Sendable>: ~Copyable, Sendable {
    private let words: PublishedWords
    /// The value that ``load()`` reads into a copy of.
    private let first: Value

    package init(_ value: Value) {
        first = value
        words = PublishedWords(value)
    }

    /// Stores a value. One thread at a time may do so.
    package func store(_ value: Value) {
        var copy = value
        unsafe words.store(&copy)
    }

    /// Returns the value. It tries until no thread changes the value meanwhile.
    package func load() -> Value {
        var copy = first
        unsafe words.load(to: &copy, tries: .max)
        return copy
    }
}

/// The words of such a value. They are published by their number of changes, which is odd during one.
@safe package struct PublishedWords: ~Copyable, @unchecked Sendable {
    // Unchecked because behind the pointer is nothing but atomics.
    /// The number of changes, and behind it the value.
    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline let count: Int
    private let memory: Memory

    /// A class, because Swift 6.3 forgets the `deinit` of such a struct if a class holds it, and its memory is never freed.
    @safe private final class Memory: @unchecked Sendable {
        // Unchecked because behind the pointer is nothing but atomics.
        let words: UnsafeMutablePointer<Atomic<UInt64>>
        private let count: Int

        init(count: Int) {
            self.count = count
            unsafe words = .allocate(capacity: count)
            for word in 0..<count { unsafe (words + word).initialize(to: Atomic(0)) }
        }

        deinit {
            unsafe words.deinitialize(count: count)
            unsafe words.deallocate()
        }
    }

    /// - Precondition: the value fills whole words of eight bytes.
    package init<Value: BitwiseCopyable>(_ value: Value) {
        demand(
            MemoryLayout<Value>.size % 8 == 0 && MemoryLayout<Value>.alignment == 8,
            "Published: \(Value.self) does not fill whole words of eight bytes")
        count = MemoryLayout<Value>.size / 8
        memory = Memory(count: count + 1)
        unsafe words = memory.words
        var copy = value
        unsafe store(&copy)
    }

    /// Another value of the same type, or its first words, which leave the others as they are. One thread at a time.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func store(_ value: UnsafeRawPointer, words limit: Int = .max) {
        let count = limit < self.count ? limit : self.count
        let source = unsafe value.assumingMemoryBound(to: UInt64.self)
        let number = begin()
        var word = 0
        while word < count {
            unsafe words[word &+ 1].store(source[word], ordering: .relaxed)
            word &+= 1
        }
        end(number)
    }

    /// Stores the first three words, and leaves the others as they are. One thread at a time.
    ///
    /// - Precondition: The value has three words or more.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func store(_ first: UInt64, _ second: UInt64, _ third: UInt64) {
        let number = begin()
        unsafe words[1].store(first, ordering: .relaxed)
        unsafe words[2].store(second, ordering: .relaxed)
        unsafe words[3].store(third, ordering: .relaxed)
        end(number)
    }

    /// Begins a change: no word of the value is seen before the odd number. Returns the number before.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) func begin() -> UInt64 {
        let number = unsafe words[0].load(ordering: .relaxed)
        unsafe words[0].store(number &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        return number
    }

    /// Ends the change that began at a number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) func end(_ number: UInt64) {
        unsafe words[0].store(number &+ 2, ordering: .releasing)
    }

    /// Writes the value to memory of its type. After so many tries it may be of two values: a render thread does not try
    /// forever.
    @_noLocks @_noAllocation
    package func load(to value: UnsafeMutableRawPointer, tries: Int) {
        let target = unsafe value.assumingMemoryBound(to: UInt64.self)
        var left = tries
        while left > 0 {
            let number = unsafe words[0].load(ordering: .acquiring)
            var word = 0
            while word < count {
                unsafe target[word] = words[word &+ 1].load(ordering: .relaxed)
                word &+= 1
            }
            atomicMemoryFence(ordering: .acquiring)
            if unsafe number & 1 == 0 && words[0].load(ordering: .relaxed) == number { return }
            left &-= 1
        }
    }
}
