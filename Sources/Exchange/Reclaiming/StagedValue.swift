internal import SignalBlocks
internal import Synchronization

/// A value on its way into a ``/RenderCore/RenderState``, and the one that it has replaced on the way out.
///
/// A module that is prepared while an older loop still renders it makes memory of another size. That loop must not see
/// it: so the value waits in a list of the state, and the first use of the state by the new loop puts it in place.
@safe @usableFromInline package struct StagedValue {
    /// The address of the next one in the ``Graveyard``.
    package var next: UInt = 0
    package var value: UnsafeMutableRawPointer
    private let factory: Unmanaged<StateFactory>

    /// Returns a value on the heap, to be freed by the factory of its state.
    package static func make(
        _ value: UnsafeMutableRawPointer, _ factory: Unmanaged<StateFactory>
    ) -> UnsafeMutablePointer<StagedValue> {
        let staged = UnsafeMutablePointer<StagedValue>.allocate(capacity: 1)
        unsafe staged.initialize(to: StagedValue(value: value, factory: factory.retain()))
        return unsafe staged
    }

    /// Frees a list and its values.
    static func freeAll(from address: UInt) {
        var address = address
        while let staged = unsafe at(address) {
            unsafe address = staged.pointee.next
            let factory = unsafe staged.pointee.factory
            unsafe factory.takeUnretainedValue().free(staged.pointee.value)
            unsafe factory.release()
            unsafe staged.deallocate()
        }
    }

    @_noLocks @_noAllocation
    package static func at(_ address: UInt) -> UnsafeMutablePointer<StagedValue>? {
        unsafe UnsafeMutablePointer(bitPattern: address)
    }
}

/// The values of one state that wait for their loops, the newest first.
///
/// The control side changes the list. A render thread only reads it, and takes the values out of its entries: so neither
/// waits for the other, nor finds the list half done. An entry that the control side has dropped is freed when no cycle
/// can be reading it.
@safe @usableFromInline package struct StagedValues: ~Copyable, Sendable {
    /// The address of the newest entry.
    private let newest = Atomic<UInt>(0)
    /// Held by a thread that changes a list: two modules that share a state may be prepared at once.
    private static let changing = Lock(0)

    private struct Entry: ~Copyable {
        /// The token of the module's preparation that the value belongs to.
        let token: UInt
        /// The address of the ``StagedValue``; 0 after it was taken.
        let value: Atomic<UInt>
        /// The address of the entry that was added before.
        let before: Atomic<UInt>

        @_noLocks @_noAllocation
        static func at(_ address: UInt) -> UnsafeMutablePointer<Entry>? {
            unsafe UnsafeMutablePointer(bitPattern: address)
        }
    }

    package init() {}

    deinit { Self.freeAll(from: newest.load(ordering: .acquiring)) }

    /// Adds the newest value, and drops those that no loop needs any more. On the control side.
    ///
    /// - Parameters:
    ///   - token: The token of the preparation that it is made in.
    ///   - oldest: The token of the oldest preparation whose loop may still be rendered.
    package func add(_ value: UnsafeMutablePointer<StagedValue>, for token: UInt, oldest: UInt) {
        let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
        let value = UInt(bitPattern: value)
        let address = UInt(bitPattern: entry)
        let dropped = Self.changing.withLock { _ -> UInt in
            let before = newest.load(ordering: .relaxed)
            unsafe Entry.at(address)?.initialize(to: Entry(token: token, value: Atomic(value), before: Atomic(before)))
            newest.store(address, ordering: .sequentiallyConsistent)
            return unsafe find(oldest)?.pointee.before.exchange(0, ordering: .sequentiallyConsistent) ?? 0
        }
        Self.retire(dropped)
    }

    /// Drops all: they are for loops of another renderer, which were never rendered. On the control side.
    package func forget() {
        Self.retire(Self.changing.withLock { _ in newest.exchange(0, ordering: .sequentiallyConsistent) })
    }

    /// Takes out the value that a loop with this token is to use. On the render thread that owns the state, in a cycle.
    ///
    /// - Parameter stale: A list of those that are for no loop any more. Values for later loops stay.
    /// - Returns: The address of the value; 0 if the one in place is the right one.
    @_noLocks @_noAllocation
    package func take(for token: UInt, stale: inout UInt) -> UInt {
        guard let entry = unsafe find(token) else { return 0 }
        let found = unsafe entry.pointee.value.exchange(0, ordering: .acquiringAndReleasing)
        var next = unsafe entry.pointee.before.load(ordering: .acquiring)
        while let old = unsafe Entry.at(next) {
            let value = unsafe old.pointee.value.exchange(0, ordering: .acquiringAndReleasing)
            if let value = unsafe StagedValue.at(value) {
                unsafe value.pointee.next = stale
                stale = UInt(bitPattern: value)
            }
            next = unsafe old.pointee.before.load(ordering: .acquiring)
        }
        return found
    }

    /// Returns the entry for a loop: the newest that was made for its owner, but not for a later loop; if there is none
    /// for this owner, the newest.
    @_noLocks @_noAllocation
    private func find(_ token: UInt) -> UnsafeMutablePointer<Entry>? {
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        var next = newest.load(ordering: .sequentiallyConsistent)
        var others: UInt = 0
        while let entry = unsafe Entry.at(next) {
            let itsToken = unsafe entry.pointee.token
            if itsToken.withoutEpoch != token.withoutEpoch {
                if others == 0 { others = next }
            } else if !itsToken.isLater(than: token) {
                return unsafe entry
            }
            next = unsafe entry.pointee.before.load(ordering: .acquiring)
        }
        return unsafe Entry.at(others)
    }

    private static func retire(_ first: UInt) {
        if first != 0 { Reclaimer.shared.retire { freeAll(from: first) } }
    }

    /// Frees entries, and the values that they still hold.
    private static func freeAll(from first: UInt) {
        var next = first
        while let entry = unsafe Entry.at(next) {
            next = unsafe entry.pointee.before.load(ordering: .acquiring)
            StagedValue.freeAll(from: unsafe entry.pointee.value.exchange(0, ordering: .acquiringAndReleasing))
            unsafe entry.deinitialize(count: 1)
            unsafe entry.deallocate()
        }
    }
}
