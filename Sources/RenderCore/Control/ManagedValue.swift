public import Synchronization

/// Any `Sendable` value that control code swaps whole and render threads read: a wave table, a curve, a list.
///
///     public let shape = ManagedValue(Shape(a: 1, b: 2))
///
///     distortion.shape.set(Shape(a: 3, b: 0))                       // from any thread
///     shape.with(&context) { shape, context in … }                  // in `process`
///
/// Reading is one load: no lock, no reference count. The old value is freed on the control side, as soon as no renderer
/// can be reading it: at once where none is running. Any number of renderers may read the same value. Inside
/// ``Renderer/transaction(whenApplied:_:)`` the new value is shown together with everything else that the transaction
/// changes.
///
/// A class instance cannot be read without counting references: put it into a `~Copyable` struct, as a `let`.
@safe public struct ManagedValue<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because what the pointers lead to is atomics, or never written while it can be read.
    @usableFromInline let cell: UnsafeMutablePointer<ManagedCell>
    /// Nodes that were committed and may not be shown yet. Whoever looks at a node on the control side holds the lock, and
    /// so does for a moment whoever frees one.
    private let waiting = Lock<[Waiting]>([])

    private struct Waiting: Sendable {
        let node: UInt
        let version: UInt64
    }

    /// A value.
    public init(_ value: consuming Value) {
        let node = unsafe Self.makeNode(value, version: 1)
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: ManagedCell(UnsafeMutableRawPointer(node)))
    }

    deinit { unsafe ManagedReference(cell: cell).release(Self.free) }

    /// Puts another value in the place of this one.
    ///
    /// - Parameters:
    ///   - value: the new one.
    ///   - freed: called on the control side after the old value has been freed.
    public func set(_ value: consuming Value, whenOldIsFreed freed: (@Sendable () -> Void)? = nil) {
        exchange(value, isInOrder: false, whenOldIsFreed: freed, undo: nil)()
    }

    /// The same, but leaves it to the caller to retire the old value: to be done with no lock held, because whatever the
    /// old value holds on to is let go of there.
    ///
    /// - Parameters:
    ///   - isInOrder: whether each value builds on the one before, as lists do: then the one that was set last is the
    ///     newest, whenever its transaction is committed.
    ///   - undo: called when the transaction is thrown out of, or called off.
    package func exchange(
        _ value: consuming Value, isInOrder: Bool, whenOldIsFreed freed: (@Sendable () -> Void)?,
        undo: (@Sendable () -> Void)?
    ) -> () -> Void {
        let node = unsafe UnsafeMutableRawPointer(Self.makeNode(value, version: 0))
        let address = UInt(bitPattern: node)
        let reference = unsafe ManagedReference(cell: cell)
        guard let transaction = Transaction.current else {
            let old = waiting.withLock { _ in
                unsafe reference.cell.pointee.stamp(node)
                return unsafe UInt(bitPattern: reference.cell.pointee.publish(node))
            }
            return { Self.retire(old, then: freed) }
        }
        if isInOrder { unsafe reference.cell.pointee.stamp(node) }
        let waiting = self.waiting
        let stamp: @Sendable () -> Void = {
            waiting.withLock { waiting in
                guard let node = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
                unsafe reference.cell.pointee.stamp(node)
                let version = unsafe node.load(as: UInt64.self)
                waiting.append(Waiting(node: address, version: version))
            }
        }
        unsafe transaction.stage(
            reference, node, stamp: isInOrder ? nil : stamp,
            release: { old in
                waiting.withLock { $0.removeAll { $0.node == address } }
                Self.retire(old, then: nil)
            }, last: Self.free, completion: freed, undo: undo)
        return {}
    }

    /// The value in place, for as long as `body` runs. On the render thread.
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

    private static func retire(_ address: UInt, then freed: (@Sendable () -> Void)?) {
        Reclaimer.shared.retire {
            Self.free(address)
            freed?()
        }
    }
}

extension ManagedValue where Value: Copyable {
    /// A copy of the newest value, on the control side: also right after a transaction that the render thread has not seen
    /// yet, and for whoever is inside of one.
    public var value: Value {
        if let staged = unsafe Transaction.current?.node(of: ManagedReference(cell: cell)) {
            return unsafe staged.assumingMemoryBound(to: ManagedNode<Value>.self).pointee.value
        }
        return waiting.withLock { waiting in
            let shown = unsafe cell.pointee.published.load(ordering: .acquiring)
                .assumingMemoryBound(to: ManagedNode<Value>.self)
            if let last = waiting.last, unsafe last.version > shown.pointee.version,
                let node = unsafe UnsafeMutablePointer<ManagedNode<Value>>(bitPattern: last.node)
            {
                return unsafe node.pointee.value
            }
            return unsafe shown.pointee.value
        }
    }
}
