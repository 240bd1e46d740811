/// The transaction that is open on this thread, for what control code and modules share; and the cycles that are under way.
@usableFromInline package enum OpenTransaction {
    /// Indicates whether there is one.
    @usableFromInline package static var exists: Bool { Transaction.isOpen }

    /// Runs a closure as if there were none: for changes that no caller has asked for, and that are not taken back with it.
    package static func suspended<Result>(_ body: () -> Result) -> Result { Transaction.suspended(body) }

    /// Has it do something when it is applied, in the cycle. `false`: none is open, or its renderer's queue is full.
    ///
    /// - Parameter undo: The closure that is called instead if the transaction is never applied: it throws, is called off, or
    ///   its renderer goes.
    @usableFromInline package static func stage(
        _ work: @escaping @Sendable () -> Void, ifNever undo: (@Sendable () -> Void)? = nil
    ) -> Bool {
        guard let current = Transaction.current else { return false }
        let message = Message({ _ in work() }) { end in if end != .hasRun { undo?() } }
        do throws(MessageQueueFull) {
            try current.stage(message, for: current.inbox)
            return true
        } catch {
            return false
        }
    }

    /// Calls a closure when the cycles that are under way are over, so that no render thread uses any more what was replaced
    /// before. If a transaction is open, the closure is called when the cycle is over that has applied it.
    ///
    /// - Parameter undo: The closure that is called instead if the transaction throws or is called off.
    package static func afterCycles(
        _ done: @escaping @Sendable () -> Void, ifCalledOff undo: (@Sendable () -> Void)? = nil
    ) {
        guard let transaction = Transaction.current else { return Reclaimer.shared.retire(done) }
        transaction.stage(Change(completion: done, undo: undo))
    }

    /// Calls a closure if the transaction that is open throws or is called off: it takes back what only the control side
    /// has changed. If none is open, it is never called.
    package static func ifCalledOff(_ undo: @escaping @Sendable () -> Void) {
        Transaction.current?.stage(Change(undo: undo))
    }
}

extension ManagedReference {
    /// Has the open transaction put a node in the place of the value. `false`: none is open.
    ///
    /// - Parameter isStamped: `true` if the node has its version already.
    package func stage(_ node: UnsafeMutableRawPointer, isStamped: Bool) -> Bool {
        guard let transaction = Transaction.current else { return false }
        unsafe transaction.stage(ManagedChange(self, node, isStamped: isStamped))
        return true
    }

    /// The node that the open transaction will put in the place of the value.
    package var staged: UnsafeMutableRawPointer? { unsafe ManagedChange.staged(self) }
}
