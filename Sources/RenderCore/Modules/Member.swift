/// A module inside of another module, which calls it without knowing its type.
///
///     private let source: Member
///     …
///     source.run(&context)            // in an annotated `process`
///
/// Whoever has one is a ``CompositeModule``: the renderer must know the module, or it stays silent.
@safe package struct Member: ~Copyable, @unchecked Sendable {
    // Unchecked because the slot is called on render threads only, and its module is Sendable.
    private let slot: Unmanaged<ModuleSlot>

    /// A module to be run inside of another.
    package init(_ module: some Module) { unsafe slot = .passRetained(module.makeSlot()) }

    deinit { unsafe slot.release() }

    /// What became of a run.
    package enum Outcome: Sendable {
        /// It ran, and has done to the stack what it declares.
        case ran
        /// It had nothing to say, and was passed over.
        case inactive
        /// The renderer does not know it yet: it was added in the middle of a cycle.
        case unknown
    }

    /// Runs it if it is active.
    @_noLocks @_noAllocation
    package borrowing func run(_ context: inout RenderContext) -> Outcome { unsafe call(slot, &context) }

    /// Resets it.
    @_noLocks @_noAllocation
    package borrowing func reset(_ context: inout RenderContext) { unsafe callReset(slot, &context) }
}

// The calls that the compiler cannot follow, and is told not to: what is called is again a `process` or `reset`, which
// carries the annotations itself. (`_unsafePerformance` cannot have the context inside.) A slot held by `Unmanaged` is
// called without a count.

@_semantics("no_performance_analysis") @inline(never)
private func call(_ slot: Unmanaged<ModuleSlot>, _ context: inout RenderContext) -> Member.Outcome {
    unsafe slot._withUnsafeGuaranteedRef { slot in
        guard slot.isKnown(&context) else { return .unknown }
        guard slot.isActive(&context) else { return .inactive }
        slot.run(&context)
        return .ran
    }
}

@_semantics("no_performance_analysis") @inline(never)
private func callReset(_ slot: Unmanaged<ModuleSlot>, _ context: inout RenderContext) {
    unsafe slot._withUnsafeGuaranteedRef { slot in
        if slot.isKnown(&context) { slot.resetInItsName(&context) }
    }
}
