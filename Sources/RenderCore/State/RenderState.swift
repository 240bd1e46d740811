public import SignalBlocks
public import Synchronization

/// A value that only the render thread may touch: a phase, a filter's memory, a delay line.
///
/// A state can be reached only with a ``RenderContext`` in hand, and a context exists only inside a cycle. Its first
/// user owns it (a module, or the render loop of a renderer); any other gets nothing and raises a ``/Exchange/Fault``, so that
/// not even a module in two renderers is a data race.
///
///     private let phase = RenderState<Float>(0)                       // small: by copy
///     private let line = RenderState(DelayLine(frames: 48_000))       // large: in place
///
///     var angle = phase.read(context)
///     …
///     phase.write(angle, context)
///     line.with(&context) { line, context in … }
///
/// In a dry run a state shows its initial value, and drops values that are written to it.
///
/// Threads: control.
@safe public struct RenderState<Value: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the memory is touched by the owner's thread only, inside a cycle.
    /// Loaded sequentially consistent: after the cycle counter's store, see ``Reclaimer``.
    @usableFromInline let memory: Atomic<UnsafeMutableRawPointer>
    @usableFromInline let owner = Atomic<UInt>(0)
    @usableFromInline let details: UnsafeMutablePointer<Details>

    /// The parts of a state that are rarely needed.
    @safe @usableFromInline struct Details: ~Copyable {
        /// The value for those who do not own the state. Never written; only states that were made from a value that
        /// can be copied have it.
        @usableFromInline let initial: UnsafeMutablePointer<Value>?
        @usableFromInline let factory: Unmanaged<StateFactory>
        /// Values for loops that are not rendered yet.
        @usableFromInline let staged = StagedValues()

        init(initial: UnsafeMutablePointer<Value>?, _ factory: StateFactory) {
            unsafe self.initial = initial
            unsafe self.factory = .passRetained(factory)
        }

        deinit {
            if let initial = unsafe initial {
                unsafe initial.deinitialize(count: 1)
                unsafe initial.deallocate()
            }
            unsafe factory.release()
        }
    }

    /// Creates a state to be used in place.
    ///
    /// - Parameter make: The initial value. It is evaluated now, and again for a dry run that uses the state.
    public init(_ make: @autoclosure @escaping @Sendable () -> Value) {
        let first = unsafe StateFactory.allocate(Value.self)
        unsafe first.initialize(to: make())
        unsafe memory = Atomic(UnsafeMutableRawPointer(first))
        unsafe details = .allocate(capacity: 1)
        unsafe details.initialize(to: Details(initial: nil, StateFactory(make)))
    }

    deinit {
        unsafe StateFactory.free(memory.load(ordering: .acquiring).assumingMemoryBound(to: Value.self))
        unsafe details.deinitialize(count: 1)
        unsafe details.deallocate()
    }

    /// Calls `body` with the value in place.
    ///
    /// Inside `body` the same state cannot be used again: that is a fault, and the inner body does not run.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func with(
        _ context: inout RenderContext, _ body: (inout Value, inout RenderContext) -> Void
    ) {
        if let value = unsafe enter(context) {
            unsafe body(&value.pointee, &context)
            leave(context)
        }
    }

    /// Fetches the first bytes of the value into the cache, which the render thread uses soon.
    @inlinable @_transparent
    package func fetch(bytes: Int) {
        Kernel.fetch(unsafe UInt(bitPattern: memory.load(ordering: .relaxed)), bytes: bytes)
    }

    /// Calls `body` with the value in place and the buffer on top: most effects need both.
    ///
    ///     phase.withTop(&context) { phase, top in
    ///         var samples = top[0]
    ///         for i in samples.indices { … }
    ///     }
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func withTop(_ context: inout RenderContext, _ body: (inout Value, inout AudioBuffer) -> Void) {
        if let value = unsafe enter(context) {
            var top = context.top
            unsafe body(&value.pointee, &top)
            leave(context)
        }
    }

    /// Calls `body` with the value in place and the two buffers on top, the top first: for a side-chain. It does
    /// nothing if there are fewer than two.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func withTop2(
        _ context: inout RenderContext, _ body: (inout Value, inout AudioBuffer, inout AudioBuffer) -> Void
    ) {
        if let value = unsafe enter(context) {
            // This does not use `context.withTop2`: a closure inside of this one would be generic, which may lock.
            if context.require(2, for: .withBuffers) {
                let (first, second) = unsafe (context.entry(0, sink: 0), context.entry(1, sink: 1))
                var top = unsafe AudioBuffer(first, of: context)
                var below = unsafe AudioBuffer(second, of: context)
                unsafe body(&value.pointee, &top, &below)
            }
            leave(context)
        }
    }

    /// Replaces the value from the control side: the way to make memory of another size while the state may be in use.
    ///
    /// In ``Module/prepare(_:)`` the value comes with the loop that is being prepared: the loop that is still rendered
    /// keeps the value that it has, and each slice sees one value only. Elsewhere the render thread sees it at its next
    /// access. The old value is freed when it no longer can be in use.
    public func replace(with value: consuming Value) {
        let new = unsafe StateFactory.allocate(Value.self)
        unsafe new.initialize(to: value)
        let preparing = Preparing.current
        let holder = owner.load(ordering: .acquiring) & ~RenderContext.busy
        let isModules =
            holder == 0 || holder.withoutEpoch == preparing.token.withoutEpoch
            || !Tokens.shared.forRendering.isAlive(holder)
        if Checks.areOn && preparing.isAgain && isModules {
            let staged = unsafe StagedValue.make(UnsafeMutableRawPointer(new), details.pointee.factory)
            return unsafe details.pointee.staged.add(staged, for: preparing.token, oldest: preparing.oldest)
        }
        if preparing.isFirst {
            // Values for loops of another renderer, which were never rendered.
            unsafe details.pointee.staged.forget()
        }
        let old = unsafe UInt(
            bitPattern: memory.exchange(UnsafeMutableRawPointer(new), ordering: .sequentiallyConsistent))
        Reclaimer.shared.retire {
            if let old = unsafe UnsafeMutablePointer<Value>(bitPattern: old) { unsafe StateFactory.free(old) }
        }
    }

    /// Returns whether the module may go on: it owns this state, or takes it now. `false` in a dry run, and with one
    /// ``/Exchange/Fault`` where the state belongs to another renderer: the module then pushes silence and touches nothing else.
    ///
    ///     guard state.belongs(to: context) else { return }         // first of all in `process`
    @inlinable @inline(__always)
    package func belongs(to context: borrowing RenderContext) -> Bool {
        !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || adopt(context)
    }

    @inlinable @inline(__always)
    func adopt(_ context: borrowing RenderContext) -> Bool {
        unsafe RenderContext.adopt(
            owner, by: context.owner, isDryRun: context.isDryRun, memory, details.pointee.staged, context.core,
            context.sampleTime)
    }

    @inlinable @inline(__always)
    package func enter(_ context: borrowing RenderContext) -> UnsafeMutablePointer<Value>? {
        if belongs(to: context) {
            owner.store(context.owner | RenderContext.busy, ordering: .relaxed)
            return unsafe memory.load(ordering: .sequentiallyConsistent).assumingMemoryBound(to: Value.self)
        }
        if !context.isDryRun { return nil }
        return unsafe context.scratch(details.pointee.factory).assumingMemoryBound(to: Value.self)
    }

    @inlinable @inline(__always)
    package func leave(_ context: borrowing RenderContext) {
        if !context.isDryRun { owner.store(context.owner, ordering: .relaxed) }
    }
}

extension RenderState where Value: Copyable {
    /// Creates a state to be read and written by copy, or used in place.
    public init(_ value: Value) {
        let first = unsafe StateFactory.allocate(Value.self)
        let initial = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe first.initialize(to: value)
        unsafe initial.initialize(to: value)
        unsafe memory = Atomic(UnsafeMutableRawPointer(first))
        unsafe details = .allocate(capacity: 1)
        unsafe details.initialize(to: Details(initial: initial, StateFactory { value }))
    }

    /// Returns a copy of the value. A caller that does not own the state gets the initial value, and raises a fault.
    ///
    /// Threads: render.
    @inlinable @inline(__always)
    public func read(_ context: borrowing RenderContext) -> Value {
        if belongs(to: context) {
            return unsafe memory.load(ordering: .sequentiallyConsistent).assumingMemoryBound(to: Value.self).pointee
        }
        // Never the memory, which its owner may be writing to.
        if let initial = unsafe details.pointee.initial { return unsafe initial.pointee }
        return unsafe context.scratch(details.pointee.factory).assumingMemoryBound(to: Value.self).pointee
    }

    /// Replaces the value. A caller that does not own the state changes nothing, and raises a fault.
    ///
    /// Threads: render.
    @inlinable @inline(__always)
    public func write(_ value: Value, _ context: borrowing RenderContext) {
        if belongs(to: context) {
            unsafe memory.load(ordering: .sequentiallyConsistent).assumingMemoryBound(to: Value.self).pointee = value
        }
    }
}

extension RenderContext {
    /// Marks an owner that is using its state.
    @usableFromInline package static var busy: UInt { @_noLocks @_noAllocation get { 1 << 63 } }

    /// Takes a state that has no owner, or whose owner is gone. Returns `false`, with a fault, if another owner has it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package func adopt(_ state: borrowing Atomic<UInt>) -> Bool {
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
        // The holder may be the same module, prepared for the loop before this one.
        if unsafe holder == 0 || holder.withoutEpoch == owner.withoutEpoch
            || !core.pointee.tokens.isAlive(holder & ~RenderContext.busy)
        {
            if state.compareExchange(expected: holder, desired: owner, ordering: .acquiringAndReleasing).exchanged {
                return true
            }
        }
        unsafe core.pointee.report(
            holder == owner | RenderContext.busy ? .nestedState : .foreignState, .state, wanted: 0, found: 0,
            at: sampleTime)
        return false
    }

    /// Does the same for a state that has staged values: it gets the value that was made for the loop that takes it.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func adopt(
        _ state: borrowing Atomic<UInt>, by owner: UInt, isDryRun: Bool,
        _ memory: borrowing Atomic<UnsafeMutableRawPointer>, _ staged: borrowing StagedValues,
        _ core: UnsafeMutablePointer<CycleMemory>, _ sampleTime: Int64
    ) -> Bool {
        guard unsafe adopt(state, by: owner, isDryRun: isDryRun, core, sampleTime) else { return false }
        var stale: UInt = 0
        if let new = unsafe StagedValue.at(staged.take(for: owner, stale: &stale)) {
            let value = unsafe new.pointee.value
            unsafe new.pointee.value = memory.exchange(value, ordering: .sequentiallyConsistent)
            unsafe core.pointee.graveyard.push(new)
        }
        while let old = unsafe StagedValue.at(stale) {
            unsafe stale = old.pointee.next
            unsafe core.pointee.graveyard.push(old)
        }
        return true
    }

    /// Returns an initial value: for the time of a dry run, or until the end of the cycle for a caller that may not see
    /// the state's own. Both may allocate: a dry run is on the control side, and the other is a fault.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    func scratch(_ factory: Unmanaged<StateFactory>) -> UnsafeMutableRawPointer {
        unsafe RenderContext.scratch(factory, core)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func scratch(
        _ factory: Unmanaged<StateFactory>, _ core: UnsafeMutablePointer<CycleMemory>
    ) -> UnsafeMutableRawPointer {
        let (dryRun, graveyard) = unsafe (core.pointee.dryRun, core.pointee.graveyard)
        return unsafe _unsafePerformance { unsafe makeScratch(factory, for: dryRun, graveyard) }
    }
}

private func makeScratch(
    _ factory: Unmanaged<StateFactory>, for dryRun: Unmanaged<DryRun>?, _ graveyard: Graveyard
) -> UnsafeMutableRawPointer {
    let maker = unsafe factory.takeUnretainedValue()
    let value = unsafe maker.make()
    if let dryRun = unsafe dryRun?.takeUnretainedValue() {
        dryRun.keep { unsafe maker.free(value) }
    } else {
        let grave = unsafe StagedValue.make(value, factory)
        unsafe graveyard.push(grave)
    }
    return unsafe value
}
