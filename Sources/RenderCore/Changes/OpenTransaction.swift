/// The transaction that is open on this thread, for what control code and modules share.
@usableFromInline package enum OpenTransaction {
    /// Indicates whether there is one.
    @usableFromInline package static var exists: Bool { Transaction.isOpen }

    /// Runs a closure as if there were none: for changes that no caller has asked for, and that are not taken back with it.
    package static func suspended<Result>(_ body: () -> Result) -> Result { Transaction.suspended(body) }

    /// Has it do something when it is applied, in the cycle. `false`: none is open, or its renderer's queue is full.
    @usableFromInline package static func stage(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard let current = Transaction.current else { return false }
        do throws(MessageQueueFull) {
            try current.stage(Message { _ in work() }, for: current.inbox)
            return true
        } catch {
            return false
        }
    }
}

extension ManagedReference {
    /// Has the open transaction put a node in the place of the value. `false`: none is open.
    ///
    /// - Parameter isStamped: `true` if the node has its version already.
    package func stage(
        _ node: UnsafeMutableRawPointer, isStamped: Bool, completion: (@Sendable () -> Void)?,
        undo: (@Sendable () -> Void)?
    ) -> Bool {
        guard let transaction = Transaction.current else { return false }
        unsafe transaction.stage(
            ManagedChange(self, node, isStamped: isStamped, completion: completion, undo: undo))
        return true
    }

    /// The node that the open transaction will put in the place of the value.
    package var staged: UnsafeMutableRawPointer? { unsafe ManagedChange.staged(self) }
}
