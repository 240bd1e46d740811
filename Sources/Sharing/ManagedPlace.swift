public import RenderCore
public import Synchronization

/// The place of a ``ManagedValue`` without the right to keep it: a render thread reads many of them from one list.
///
/// A list of places keeps no value alive: its owner does, for as long as a render thread may read the list.
@usableFromInline
@safe package struct ManagedPlace<Value: ~Copyable & Sendable>: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the memory behind the pointer has atomics, or is never written while it can be read.
    @usableFromInline let cell: UnsafeMutablePointer<ManagedCell>

    /// Creates the place of a value.
    package init(of value: borrowing ManagedValue<Value>) { unsafe cell = value.cell }

    /// The version of the value that is shown now: it tells whether the value is another one than before. On the render thread.
    @inlinable package var version: UInt64 {
        @_noLocks @_noAllocation get {
            unsafe cell.pointee.published.load(ordering: .sequentiallyConsistent).load(as: UInt64.self)
        }
    }

    /// The value that is shown now, which stays what it is until the cycle is over. On the render thread.
    @inlinable @_transparent package var snapshot: ManagedSnapshot<Value> {
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        unsafe ManagedSnapshot(
            node: cell.pointee.published.load(ordering: .sequentiallyConsistent)
                .assumingMemoryBound(to: ManagedNode<Value>.self))
    }

    /// Calls `body` with the value in place. On the render thread.
    @inlinable @_transparent
    package func with(_ context: inout RenderContext, _ body: (borrowing Value, inout RenderContext) -> Void) {
        snapshot.with(&context, body)
    }
}

/// A value of a ``ManagedPlace`` as it was shown when it was asked for. It counts in one cycle: in the next one it may be gone.
@usableFromInline
@safe package struct ManagedSnapshot<Value: ~Copyable & Sendable>: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because what it leads to is never written while it can be read.
    @usableFromInline let node: UnsafeMutablePointer<ManagedNode<Value>>

    @inlinable @_transparent
    init(node: UnsafeMutablePointer<ManagedNode<Value>>) { unsafe self.node = node }

    /// Calls `body` with the value in place. On the render thread.
    @inlinable @_transparent
    package func with(_ context: inout RenderContext, _ body: (borrowing Value, inout RenderContext) -> Void) {
        unsafe body(node.pointee.value, &context)
    }

    /// The version of the value.
    @inlinable package var version: UInt64 {
        @_noLocks @_noAllocation get { unsafe UnsafeRawPointer(node).load(as: UInt64.self) }
    }
}
