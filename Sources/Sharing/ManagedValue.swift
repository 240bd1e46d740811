public import RenderCore
public import Synchronization

/// A `Sendable` value that control code swaps whole and render threads read: a wave table, a curve, a list.
///
///     public let shape = ManagedValue(Shape(a: 1, b: 2))
///
///     distortion.shape.set(Shape(a: 3, b: 0))                       // in control code
///     shape.with(&context) { shape, context in … }                  // in `process`
///
/// Reading is one load: no lock, no reference count. The old value is freed on a thread of RenderStack's own, as soon as
/// no renderer can be reading it. Any number of renderers may read the same value. Inside
/// ``/RenderCore/Renderer/transaction(whenApplied:_:)`` the new value is shown together with everything else that the transaction
/// changes.
///
/// A class instance cannot be read without counting references: put it into a `~Copyable` struct, as a `let`.
///
/// Threads: control.
@safe public struct ManagedValue<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the memory behind the pointers has atomics, or is never written while it can be read.
    @usableFromInline let cell: UnsafeMutablePointer<ManagedCell>

    /// Creates a managed value.
    public init(_ value: consuming Value) {
        let node = unsafe Self.makeNode(value, version: 1)
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: ManagedCell(UnsafeMutableRawPointer(node), free: Self.free))
    }

    deinit { unsafe ManagedReference(cell: cell).release() }

    /// Replaces the value.
    ///
    /// - Parameters:
    ///   - value: The new one.
    ///   - freed: Called on the control side after the old value has been freed.
    public func set(_ value: consuming Value, whenOldIsFreed freed: (@Sendable () -> Void)? = nil) {
        set(value, version: nil)
        if let freed { OpenTransaction.afterCycles(freed) }
    }

    /// Returns a version for a value that is to be set later, but counts from now on. Of values that build on one
    /// another, as lists do, the one with the newest version is shown, whichever is set last.
    package func makeVersion() -> UInt64 { unsafe cell.pointee.makeVersion() }

    /// Replaces the value. ``OpenTransaction`` has the calls for who has more to do then.
    ///
    /// - Parameter version: A version from ``makeVersion()``; without one, the value gets a new version when the transaction
    ///   is committed.
    package func set(_ value: consuming Value, version: UInt64?) {
        let node = unsafe UnsafeMutableRawPointer(Self.makeNode(value, version: version ?? 0))
        let reference = unsafe ManagedReference(cell: cell)
        if unsafe reference.stage(node, isStamped: version != nil) { return }
        let address = UInt(bitPattern: node)
        let old = unsafe cell.pointee.promised.withLock { _ in
            guard let node = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return address }
            if version == nil { unsafe reference.cell.pointee.stamp(node) }
            return unsafe UInt(bitPattern: reference.cell.pointee.publish(node))
        }
        if let old = unsafe UnsafeMutableRawPointer(bitPattern: old) { unsafe reference.retire(old) }
    }

    /// Calls `body` with the value in place. On the render thread.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func with(_ context: inout RenderContext, _ body: (borrowing Value, inout RenderContext) -> Void) {
        unsafe body(node.pointee.value, &context)
    }

    @inlinable var node: UnsafeMutablePointer<ManagedNode<Value>> {
        // Sequentially consistent: after the cycle counter's store, see `Reclaimer`.
        unsafe cell.pointee.published.load(ordering: .sequentiallyConsistent)
            .assumingMemoryBound(to: ManagedNode<Value>.self)
    }

    private static func makeNode(_ value: consuming Value, version: UInt64) -> UnsafeMutablePointer<ManagedNode<Value>>
    {
        let node = UnsafeMutablePointer<ManagedNode<Value>>.allocate(capacity: 1)
        unsafe node.initialize(to: ManagedNode(version: version, value: value))
        return unsafe node
    }

    private static func free(_ address: UInt) {
        guard let node = unsafe UnsafeMutablePointer<ManagedNode<Value>>(bitPattern: address) else { return }
        unsafe node.deinitialize(count: 1)
        unsafe node.deallocate()
    }
}

extension ManagedValue where Value: Copyable {
    /// A copy of the newest value, on the control side. It is right also after a transaction that the render thread has
    /// not seen yet, and inside of one.
    public var value: Value {
        if let staged = unsafe ManagedReference(cell: cell).staged {
            return unsafe staged.assumingMemoryBound(to: ManagedNode<Value>.self).pointee.value
        }
        return unsafe cell.pointee.promised.withLock { promised in
            let shown = unsafe cell.pointee.published.load(ordering: .acquiring)
                .assumingMemoryBound(to: ManagedNode<Value>.self)
            if let last = promised.last, unsafe last.version > shown.pointee.version,
                let node = unsafe UnsafeMutablePointer<ManagedNode<Value>>(bitPattern: last.node)
            {
                return unsafe node.pointee.value
            }
            return unsafe shown.pointee.value
        }
    }
}
