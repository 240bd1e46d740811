public import Synchronization

/// The memory of a value that is swapped whole: a version, then the value.
@safe @usableFromInline package struct ManagedNode<Value: ~Copyable>: ~Copyable {
    /// The version comes first, so that it can be read without knowing the type.
    package let version: UInt64
    @usableFromInline package var value: Value

    package init(version: UInt64, value: consuming Value) {
        self.version = version
        self.value = value
    }
}

/// The pointer that the render thread follows, on the heap so that a transaction can hold on to it.
@safe @usableFromInline package struct ManagedCell: ~Copyable, @unchecked Sendable {
    // Unchecked because the pointer is atomic, and the value behind it is not written while it can be read.
    @usableFromInline package let published: Atomic<UnsafeMutableRawPointer>
    /// The version that was given last.
    package let versions = Atomic<UInt64>(1)
    /// The value and the transactions that will still write to it.
    let holders = Atomic<Int>(1)
    /// Nodes that were committed and may not be shown yet. A thread that looks at a node on the control side holds the
    /// lock, and so does for a moment a thread that frees one.
    package let promised = Lock<[PromisedNode]>([], .value)
    /// Frees a node, given its address.
    let free: @Sendable (UInt) -> Void

    package struct PromisedNode: Sendable {
        package let node: UInt
        package let version: UInt64
    }

    package init(_ node: UnsafeMutableRawPointer, free: @escaping @Sendable (UInt) -> Void) {
        unsafe published = Atomic(node)
        self.free = free
    }

    /// Returns a version that is newer than all before.
    @_noLocks @_noAllocation
    package func makeVersion() -> UInt64 { versions.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Makes a node that has not been shown the newest.
    @_noLocks @_noAllocation
    package func stamp(_ node: UnsafeMutableRawPointer) { unsafe node.storeBytes(of: makeVersion(), as: UInt64.self) }

    /// Shows a node to the render threads, unless a newer one is shown already. Returns the one to be freed.
    ///
    /// A node that is current cannot be freed while this runs on a render thread (it is inside a cycle) or under the
    /// control side's lock.
    @_noLocks @_noAllocation
    package func publish(_ node: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        let version = unsafe node.load(as: UInt64.self)
        var old = unsafe published.load(ordering: .sequentiallyConsistent)
        while unsafe old.load(as: UInt64.self) < version {
            let (exchanged, original) = unsafe published.weakCompareExchange(
                expected: old, desired: node, ordering: .sequentiallyConsistent)
            if exchanged { return unsafe old }
            unsafe old = original
        }
        return unsafe node
    }
}

/// A reference that keeps a cell alive.
@safe package struct ManagedReference: @unchecked Sendable {
    // Unchecked because the cell has atomics, and constants.
    package let cell: UnsafeMutablePointer<ManagedCell>

    package init(cell: UnsafeMutablePointer<ManagedCell>) { unsafe self.cell = cell }

    package func retain() { unsafe cell.pointee.holders.wrappingAdd(1, ordering: .relaxed) }

    package func release() {
        if unsafe cell.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe retire(cell.pointee.published.load(ordering: .acquiring))
            unsafe cell.deinitialize(count: 1)
            unsafe cell.deallocate()
        }
    }

    /// Gives a node that will be shown its version: from now on it is the newest for control code.
    package func promise(_ node: UnsafeMutableRawPointer) {
        let address = UInt(bitPattern: node)
        unsafe cell.pointee.promised.withLock { promised in
            guard let node = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
            unsafe cell.pointee.stamp(node)
            unsafe promised.append(.init(node: address, version: node.load(as: UInt64.self)))
        }
    }

    /// Forgets a node that has been shown, or will never be.
    package func forget(_ node: UnsafeMutableRawPointer) {
        let address = UInt(bitPattern: node)
        unsafe cell.pointee.promised.withLock { $0.removeAll { $0.node == address } }
    }

    /// Has a node freed that is not shown any more.
    package func retire(_ node: UnsafeMutableRawPointer) {
        let (address, free) = unsafe (UInt(bitPattern: node), cell.pointee.free)
        Reclaimer.shared.retire { free(address) }
    }
}
