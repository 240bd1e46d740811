public import RenderCore
public import Synchronization

/// The place of a ``ManagedValue`` without the right to keep it: a render thread reads many of them from one list.
///
/// Who makes a list of places keeps the values alive for as long as a render thread may read the list.
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

    /// Calls `body` with the value in place. On the render thread.
    @inlinable @_transparent
    package func with(_ context: inout RenderContext, _ body: (borrowing Value, inout RenderContext) -> Void) {
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        let node = unsafe cell.pointee.published.load(ordering: .sequentiallyConsistent)
            .assumingMemoryBound(to: ManagedNode<Value>.self)
        unsafe body(node.pointee.value, &context)
    }
}
