public import Synchronization

extension RenderState where Value: ~Copyable {
    /// Returns whether the module may go on: it owns this state, or takes it now. `false` in a dry run, and with one
    /// ``/Exchange/Fault`` where the state belongs to another renderer: the module then pushes silence and touches nothing else.
    ///
    ///     guard state.belongs(to: context) else { return }         // first of all in `process`
    @inlinable @inline(__always)
    package func belongs(to context: borrowing RenderContext) -> Bool { isOwned(context) }
}

extension ManagedArray where Element: ~Copyable {
    /// Returns whether the module may go on, as ``RenderState/belongs(to:)`` has it.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    package func belongs(to context: borrowing RenderContext) -> Bool {
        !Checks.areOn || owner.load(ordering: .relaxed) == context.owner || context.adopt(owner)
    }
}
