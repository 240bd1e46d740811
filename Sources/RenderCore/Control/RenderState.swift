public import Synchronization

/// What only the render thread may touch: a phase, a filter's memory, a delay line.
///
/// A state can be reached only with a ``RenderContext`` in hand, and a context exists only inside a cycle. Its first user
/// owns it (a module, or the closure of a renderer); anybody else gets nothing and raises a ``Fault``, so that not even a
/// module in two renderers is a data race.
///
///     private let phase = RenderState<Float>(0)                       // small: by copy
///     private let line = RenderState(DelayLine(frames: 48_000))       // large: in place
///
///     var angle = phase.read(context)
///     …
///     phase.write(angle, context)
///     line.with(&context) { line, context in … }
///
/// In a dry run it shows its initial value, and what is written is dropped.
@safe public struct RenderState<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the cell is touched by the owner's thread only, inside a cycle.
    /// Loaded sequentially consistent: after the cycle counter's store, see ``Reclaimer``.
    @usableFromInline let cell: Atomic<UnsafeMutablePointer<Value>>
    @usableFromInline let owner = Atomic<UInt>(0)
    /// What a stranger reads. Never written; only states that are read by copy have it.
    @usableFromInline let initial: UnsafeMutablePointer<Value>?
    @usableFromInline let factory: Unmanaged<StateFactory>

    /// A state to be used in place.
    ///
    /// - Parameter make: the initial value. It is evaluated now, and again for a dry run that uses the state.
    public init(_ make: @autoclosure @escaping @Sendable () -> Value) {
        let first = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe first.initialize(to: make())
        unsafe cell = Atomic(first)
        unsafe initial = nil
        unsafe factory = .passRetained(StateFactory(make))
    }

    deinit {
        let value = unsafe cell.load(ordering: .acquiring)
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        if let initial = unsafe initial {
            unsafe initial.deinitialize(count: 1)
            unsafe initial.deallocate()
        }
        unsafe factory.release()
    }

    /// The value in place, for as long as `body` runs.
    ///
    /// Inside `body` the same state cannot be used again: that is a fault, and the inner body does not run.
    @inlinable @_transparent
    public func with(
        _ context: inout RenderContext, _ body: (inout Value, inout RenderContext) -> Void
    ) {
        if let value = unsafe enter(context) {
            unsafe body(&value.pointee, &context)
            leave(context)
        }
    }

    /// Puts another value in the place of this one, from the control side: the way to make memory of another size while
    /// the state may be in use. The render thread sees it at its next access; the old value is freed when it no longer can
    /// be in use.
    public func replace(with value: consuming Value) {
        let new = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe new.initialize(to: value)
        let old = unsafe UInt(bitPattern: cell.exchange(new, ordering: .sequentiallyConsistent))
        Reclaimer.shared.retire {
            guard let old = unsafe UnsafeMutablePointer<Value>(bitPattern: old) else { return }
            unsafe old.deinitialize(count: 1)
            unsafe old.deallocate()
        }
    }

    @inlinable @inline(__always)
    func enter(_ context: borrowing RenderContext) -> UnsafeMutablePointer<Value>? {
        if !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || context.adopt(owner) {
            owner.store(context.owner | RenderContext.busy, ordering: .relaxed)
            return unsafe cell.load(ordering: .sequentiallyConsistent)
        }
        return unsafe context.scratch(factory)?.assumingMemoryBound(to: Value.self)
    }

    @inlinable @inline(__always)
    func leave(_ context: borrowing RenderContext) {
        if !context.isDryRun { owner.store(context.owner, ordering: .relaxed) }
    }
}

extension RenderState where Value: Copyable {
    /// A state to be read and written by copy, or used in place.
    public init(_ value: Value) {
        let first = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        let initial = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe first.initialize(to: value)
        unsafe initial.initialize(to: value)
        unsafe cell = Atomic(first)
        unsafe self.initial = initial
        unsafe factory = .passRetained(StateFactory { value })
    }

    /// A copy of the value. Whoever does not own the state gets the initial value, and raises a fault.
    @inlinable @inline(__always)
    public func read(_ context: borrowing RenderContext) -> Value {
        if !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || context.adopt(owner) {
            return unsafe cell.load(ordering: .sequentiallyConsistent).pointee
        }
        return unsafe (initial ?? cell.load(ordering: .sequentiallyConsistent)).pointee
    }

    /// Replaces the value. Whoever does not own the state changes nothing, and raises a fault.
    @inlinable @inline(__always)
    public func write(_ value: Value, _ context: borrowing RenderContext) {
        if !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || context.adopt(owner) {
            unsafe cell.load(ordering: .sequentiallyConsistent).pointee = value
        }
    }
}

extension RenderContext {
    /// Marks an owner that is using its state.
    @usableFromInline static var busy: UInt { @_noLocks @_noAllocation get { 1 << 63 } }

    /// Takes a state that nobody owns, or whose owner is gone. `false` with a fault: it is somebody's.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    func adopt(_ state: borrowing Atomic<UInt>) -> Bool {
        unsafe RenderContext.adopt(state, by: owner, isDryRun: isDryRun, core, sampleTime)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func adopt(
        _ state: borrowing Atomic<UInt>, by owner: UInt, isDryRun: Bool, _ core: UnsafeMutablePointer<CycleMemory>,
        _ sampleTime: Int64
    ) -> Bool {
        if isDryRun { return false }
        let holder = state.load(ordering: .relaxed)
        if unsafe holder == 0 || !core.pointee.tokens.isAlive(holder & ~RenderContext.busy) {
            if state.compareExchange(expected: holder, desired: owner, ordering: .acquiringAndReleasing).exchanged {
                return true
            }
        }
        unsafe core.pointee.report(
            holder == owner | RenderContext.busy ? .nestedState : .foreignState, .state, wanted: 0, found: 0,
            at: sampleTime)
        return false
    }

    /// A value for the time of a dry run, which is on the control side and may allocate; `nil` on a render thread.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    func scratch(_ factory: Unmanaged<StateFactory>) -> UnsafeMutableRawPointer? {
        unsafe RenderContext.scratch(factory, core)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func scratch(
        _ factory: Unmanaged<StateFactory>, _ core: UnsafeMutablePointer<CycleMemory>
    ) -> UnsafeMutableRawPointer? {
        let dryRun = unsafe core.pointee.dryRun
        return unsafe _unsafePerformance { unsafe makeScratch(factory, for: dryRun) }
    }
}

/// How a state makes its initial value, and how it is freed.
@safe @usableFromInline final class StateFactory: Sendable {
    let make: @Sendable () -> UnsafeMutableRawPointer
    let free: @Sendable (UnsafeMutableRawPointer) -> Void

    init<Value: ~Copyable>(_ make: @escaping @Sendable () -> Value) {
        unsafe self.make = {
            let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
            unsafe value.initialize(to: make())
            return UnsafeMutableRawPointer(value)
        }
        unsafe free = {
            let value = unsafe $0.assumingMemoryBound(to: Value.self)
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }
    }
}

private func makeScratch(
    _ factory: Unmanaged<StateFactory>, for dryRun: Unmanaged<DryRun>?
) -> UnsafeMutableRawPointer? {
    guard let dryRun = unsafe dryRun?.takeUnretainedValue() else { return nil }
    let factory = unsafe factory.takeUnretainedValue()
    let value = unsafe factory.make()
    dryRun.keep { unsafe factory.free(value) }
    return unsafe value
}
