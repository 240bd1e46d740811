/// One thing that a transaction changes. Each kind of control has its own subclass, which says which cell it writes to,
/// how render threads come to see it, and which values it releases; transactions and jobs know no more than that.
///
/// The control side makes a change and frees it. In between it is the render thread's: ``show()`` and
/// ``apply(_:)`` allocate nothing, free nothing and wait for nothing.
class Change: @unchecked Sendable {
    // Unchecked because a change is the control side's until it is handed over, and again when it is handed back.

    /// The fate of a change.
    enum End {
        /// The render thread has applied it.
        case hasRun
        /// The renderer ceased to be before that.
        case rendererIsGone
        /// The change was taken back: its transaction threw or was called off, or a later change took its place.
        case wasWithdrawn
    }

    /// Called in order when the change has been applied and has released the old value.
    private var completions: [@Sendable () -> Void]
    /// Closures that take back, the last one first, the changes that control code sees already, if the change is
    /// withdrawn before it is committed.
    private var undos: [@Sendable () -> Void]

    init(completion: (@Sendable () -> Void)? = nil, undo: (@Sendable () -> Void)? = nil) {
        completions = completion.map { [$0] } ?? []
        undos = undo.map { [$0] } ?? []
    }

    // MARK: For each kind of change

    /// The address of the cell that the change writes to; 0 for none. A later change of the same cell takes this one's
    /// place.
    var cell: UInt { 0 }

    /// Makes it the newest of its cell, also for control code. On the control side, when the transaction is committed;
    /// a change for a time is not stamped, and becomes the newest when it is shown.
    func stamp() {}

    /// Shows a value to the render threads, unless they see a newer one. On a render thread, or inside a counted cycle.
    func show() {}

    /// Does it in a cycle of the renderer.
    func apply(_ context: inout RenderContext) { show() }

    /// Releases the value that it holds, and the one that it has replaced. On the control side, once; no lock of a
    /// module is held.
    func letGo(_ end: End) {}

    // MARK: For all changes

    /// Makes the change final, and drops the closures that would take it back, which keep the old value alive.
    final func commit() {
        stamp()
        undos = []
    }

    /// Takes the place of an earlier change of the same cell, which the caller then releases: that one is complete when
    /// this one is. They are lists and not closures around closures, because on a renderer that stands still any number
    /// may gather.
    final func overtake(_ earlier: Change) {
        swap(&completions, &earlier.completions)
        completions += earlier.completions
        earlier.completions = []
        swap(&undos, &earlier.undos)
        undos += earlier.undos
        earlier.undos = []
    }

    /// Ends a change that was never applied.
    final func withdraw(_ end: End = .wasWithdrawn) {
        for undo in undos.reversed() { undo() }
        letGo(end)
    }

    /// Ends a change that has been applied.
    final func finish(_ end: End) {
        letGo(end)
        for completion in completions { Reclaimer.shared.retire(completion) }
    }
}
