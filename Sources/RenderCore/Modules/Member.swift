/// A module inside of another module, which runs it in its `process`.
///
///     final class Strip: Effect {
///         let filter = Member(LowPass(cutoff: 800))
///         let echo = Member(Delay(time: 0.25))
///
///         var members: [any Module] { [filter.module, echo.module] }
///
///         @_noLocks @_noAllocation
///         func process(_ context: inout RenderContext) {
///             context.run(filter)                         // as in a render loop
///             context.run(echo)
///         }
///     }
///
///     strip.filter.module.cutoff.value = 3_000            // control code reaches it by ``module``
///
/// A field of a class counts references when `process` reads it; a member is called without a count. The module that
/// has members lists them in ``Module/members``: then the renderer prepares them, adds up their latencies, resets them,
/// and tells their faults by their names. One that is not listed is silent until the renderer has met and prepared it,
/// which is a ``/Exchange/Fault``. Modules may be in one another 64 deep.
///
/// Threads: control.
@safe public struct Member<M: Module>: ~Copyable, @unchecked Sendable {
    // Unchecked because the slot is called on render threads only, and its module is Sendable.
    /// The module, for control code.
    public let module: M
    @usableFromInline let slot: Unmanaged<ModuleSlot>

    /// Creates a module to be run inside of another.
    public init(_ module: M) {
        self.module = module
        unsafe slot = .passRetained(module.makeSlot())
    }

    deinit { unsafe slot.release() }

    /// Returns whether the module has sound to give: `false` while it would give silence anyway. A generator that is
    /// not active need not be run. On the render thread.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public borrowing func isActive(_ context: borrowing RenderContext) -> Bool {
        unsafe context.isMemberActive(slot)
    }
}

extension RenderContext {
    /// Runs a member of the module at work, as ``run(_:)`` runs a module.
    @inlinable @_transparent
    public mutating func run<M: Module>(_ member: borrowing Member<M>) { unsafe runMember(member.slot) }

    /// Resets a member of the module at work, and its own members: for a voice that begins anew, say. A reset of the
    /// module itself includes its members.
    @inlinable @_transparent
    public mutating func reset<M: Module>(_ member: borrowing Member<M>) { unsafe resetMember(member.slot) }

    /// The number of modules that may be inside of one another. The render thread's stack has an end.
    static var nestingLimit: Int { @_noLocks @_noAllocation get { 64 } }

    @_noLocks @_noAllocation
    @unsafe @usableFromInline mutating func runMember(_ slot: Unmanaged<ModuleSlot>) {
        let level = unsafe core.pointee.nesting
        unsafe core.pointee.nesting = level &+ 1
        unsafe call(slot, &self, isTooDeep: level >= RenderContext.nestingLimit)
        unsafe core.pointee.nesting = level
    }

    @_noLocks @_noAllocation
    @unsafe @usableFromInline mutating func resetMember(_ slot: Unmanaged<ModuleSlot>) {
        unsafe callReset(slot, &self)
    }

    @_noLocks @_noAllocation
    @unsafe @usableFromInline func isMemberActive(_ slot: Unmanaged<ModuleSlot>) -> Bool {
        unsafe callIsActive(slot, self)
    }

    /// Begins to run modules inside of the one at work, which has a number of them that changes. `false`, with a fault: it
    /// is itself too far inside of others.
    @_noLocks @_noAllocation
    package mutating func goInside() -> Bool {
        let level = unsafe core.pointee.nesting
        if level >= RenderContext.nestingLimit {
            fault(.nestedModule, .run, wanted: RenderContext.nestingLimit, found: 0)
            return false
        }
        unsafe core.pointee.nesting = level &+ 1
        return true
    }

    /// Ends what ``goInside()`` has begun.
    @_noLocks @_noAllocation
    package mutating func comeOut() {
        let level = unsafe core.pointee.nesting
        unsafe core.pointee.nesting = level &- 1
    }

    /// Leaves silence in the place of a module that is too far inside of others.
    mutating func refuseNesting(_ effect: StackEffect) {
        // The module around it has not failed.
        let failed = unsafe core.pointee.failed
        fault(.nestedModule, .run, wanted: RenderContext.nestingLimit, found: 0)
        unsafe CycleMemory.setFailed(failed, in: core)
        skip(effect)
    }
}

// These are calls that the compiler cannot follow, and does not check: each calls a `process`, `reset` or `isActive`,
// which carries the annotations itself.

@_semantics("no_performance_analysis") @inline(never)
private func call(_ slot: Unmanaged<ModuleSlot>, _ context: inout RenderContext, isTooDeep: Bool) {
    unsafe slot._withUnsafeGuaranteedRef { isTooDeep ? $0.refuseNesting(&context) : $0.run(&context) }
}

@_semantics("no_performance_analysis") @inline(never)
private func callReset(_ slot: Unmanaged<ModuleSlot>, _ context: inout RenderContext) {
    unsafe slot._withUnsafeGuaranteedRef { $0.resetInItsName(&context) }
}

@_semantics("no_performance_analysis") @inline(never)
private func callIsActive(_ slot: Unmanaged<ModuleSlot>, _ context: borrowing RenderContext) -> Bool {
    unsafe slot._withUnsafeGuaranteedRef { $0.isActive(context) }
}
