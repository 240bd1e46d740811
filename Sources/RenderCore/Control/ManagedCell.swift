public import Synchronization

/// What a value that is swapped whole looks like in memory: a version, then the value.
@safe @usableFromInline struct ManagedNode<Value: ~Copyable>: ~Copyable {
    /// First, so that it can be read without knowing the type.
    let version: UInt64
    @usableFromInline var value: Value

    init(version: UInt64, value: consuming Value) {
        self.version = version
        self.value = value
    }
}

/// The pointer that the render thread follows, on the heap so that a transaction can hold on to it.
@safe @usableFromInline struct ManagedCell: ~Copyable, @unchecked Sendable {
    // Unchecked because the pointer is atomic, and what it leads to is not written while it can be read.
    @usableFromInline let published: Atomic<UnsafeMutableRawPointer>
    /// The version that was given last.
    let versions = Atomic<UInt64>(1)
    /// The value and the transactions that will still write to it.
    let holders = Atomic<Int>(1)

    init(_ node: UnsafeMutableRawPointer) { unsafe published = Atomic(node) }

    /// Makes a node that nobody has seen the newest.
    @_noLocks @_noAllocation
    func stamp(_ node: UnsafeMutableRawPointer) {
        let version = versions.wrappingAdd(1, ordering: .relaxed).newValue
        unsafe node.storeBytes(of: version, as: UInt64.self)
    }

    /// Shows a node to the render threads, unless a newer one is shown already. Returns the one to be freed.
    ///
    /// A node that is current cannot be freed while this runs on a render thread (it is inside a cycle) or under the
    /// control side's lock.
    @_noLocks @_noAllocation
    func publish(_ node: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
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

/// A cell that somebody holds, and how to free its nodes.
@safe struct ManagedReference: @unchecked Sendable {
    // Unchecked because the cell is atomics only.
    let cell: UnsafeMutablePointer<ManagedCell>

    func retain() { unsafe cell.pointee.holders.wrappingAdd(1, ordering: .relaxed) }

    func release(_ free: @escaping @Sendable (UInt) -> Void) {
        if unsafe cell.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            let node = unsafe UInt(bitPattern: cell.pointee.published.load(ordering: .acquiring))
            Reclaimer.shared.retire { free(node) }
            unsafe cell.deinitialize(count: 1)
            unsafe cell.deallocate()
        }
    }
}
