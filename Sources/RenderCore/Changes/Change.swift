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

    /// Called when the change has been applied.
    private let completion: (@Sendable () -> Void)?
    /// Takes back what control code sees already, if the change is withdrawn before it is committed.
    private var undo: (@Sendable () -> Void)?

    init(completion: (@Sendable () -> Void)? = nil, undo: (@Sendable () -> Void)? = nil) {
        self.completion = completion
        self.undo = undo
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

    /// Makes the change final, and drops the closure that would take it back, which keeps an old value alive.
    final func commit() {
        stamp()
        undo = nil
    }

    /// Indicates whether nothing is left to do: it was committed, and there was only something to take back.
    final var isOver: Bool { type(of: self) == Change.self && completion == nil }

    /// Ends a change that was never applied.
    final func withdraw(_ end: End = .wasWithdrawn) {
        undo?()
        letGo(end)
    }

    /// Ends a change that has been applied.
    final func finish(_ end: End) {
        letGo(end)
        if let completion { Reclaimer.shared.retire(completion) }
    }
}
