/// A module that another one calls without knowing its type, and without a count: a source of a mixer.
///
/// A module that has a handle is a ``CompositeModule``: the renderer must know the module inside, or that stays silent.
@safe package struct ModuleHandle: ~Copyable, @unchecked Sendable {
    // Unchecked because the slot is called on render threads only, and its module is Sendable.
    private let slot: Unmanaged<ModuleSlot>

    /// Creates a module to be run inside of another.
    ///
    /// - Parameters:
    ///   - module: The module.
    ///   - kind: The stack effect that it must have there: one with another leaves silence, and is a fault. By default it
    ///     may have any.
    package init(_ module: some Module, as kind: StackEffect? = nil) {
        unsafe slot = .passRetained(module.makeSlot(as: kind))
    }

    deinit { unsafe slot.release() }

    /// The outcome of a run.
    package enum Outcome: Sendable {
        /// The module ran, and has done to the stack what it declares.
        case ran
        /// The module was not active, and was passed over.
        case inactive
        /// The renderer does not know the module yet: it was added in the middle of a cycle.
        case unknown
        /// Another renderer still has the module.
        case elsewhere
    }

    /// Runs it if it is active.
    ///
    /// - Parameter waits: `true` if another renderer may have it still, since it comes from there; else that is a
    ///   fault.
    @_noLocks @_noAllocation
    package borrowing func run(_ context: inout RenderContext, waits: Bool = false) -> Outcome {
        unsafe call(slot, &context, waits)
    }
}

// The compiler cannot follow this call, and does not check it: it calls a `process`, which carries the annotations
// itself. (`_unsafePerformance` cannot have the context inside.) A slot held by `Unmanaged` is called without a count.

@_semantics("no_performance_analysis") @inline(never)
private func call(
    _ slot: Unmanaged<ModuleSlot>, _ context: inout RenderContext, _ waits: Bool
) -> ModuleHandle.Outcome {
    unsafe slot._withUnsafeGuaranteedRef { slot in
        guard slot.isKnown(&context) else { return .unknown }
        if waits, !slot.isHere(context) { return .elsewhere }
        guard slot.isActive(context) else { return .inactive }
        slot.run(&context)
        return .ran
    }
}
