internal import CRender
internal import Synchronization

/// Changes that appear together: parameters, managed values and messages that are set while it is open.
///
/// It is open on one thread, from the beginning to the end of ``Renderer/transaction(at:_:)``'s closure. Until it is
/// committed its changes are its own: only control code on that thread sees them, and throwing them away changes nothing.
@safe @usableFromInline final class Transaction {
    private(set) var changes: [Change] = []
    /// Where its messages go.
    let inbox: Inbox
    /// Whether a place in that inbox is promised.
    private(set) var hasPlace: Bool
    /// Whether it is for a time: then its values are newer than all that were set before that time.
    private let isScheduled: Bool
    /// The newest change of each cell.
    private var positions: [UInt: Int] = [:]
    /// What calls off what has been scheduled inside.
    private var undos: [() -> Void] = []

    init(for inbox: Inbox, isScheduled: Bool, hasPlace: Bool) {
        self.inbox = inbox
        self.isScheduled = isScheduled
        self.hasPlace = hasPlace
    }

    /// One change. Applying it allocates nothing; releasing it is the control side's.
    @safe struct Change: @unchecked Sendable {
        // Unchecked because a change is the control side's until it is handed over, and again when it is handed back.
        @safe enum Kind {
            case parameter(ParameterReference, UInt64)
            case managed(ManagedReference, UnsafeMutableRawPointer)
            case message(Unmanaged<Message>)
            case completion
        }
        var kind: Kind
        /// Gives a managed value its version, when the transaction is committed.
        var stamp: (@Sendable () -> Void)?
        /// Lets go of what the change holds, and of the node with the given address.
        let release: @Sendable (UInt) -> Void
        /// Called when the value that was shown before has been let go of, or all changes have been applied.
        var completion: (@Sendable () -> Void)?
        /// Takes back what control code sees already, when the change is not made.
        var undo: (@Sendable () -> Void)?
        /// Whether it gets its version only when it is shown.
        var isStampedLast = false
        /// What ``show()`` found in the place of a managed value.
        var old: UInt = 0

        /// Which cell it writes to; 0 for a message. A later change of the same cell takes this one's place.
        var cell: UInt {
            switch kind {
            case .parameter(let reference, _): unsafe UInt(bitPattern: reference.cell)
            case .managed(let reference, _): unsafe UInt(bitPattern: reference.cell)
            case .message, .completion: 0
            }
        }

        /// Frees a change that was never applied.
        func drop() {
            undo?()
            free()
        }

        /// Lets go of what it holds.
        private func free() {
            switch kind {
            case .completion, .parameter: release(0)
            case .managed(_, let node): release(UInt(bitPattern: node))
            case .message(let message): unsafe message.release()
            }
        }

        /// This change instead of an earlier one of the same cell, and what is to be called to let go of that one.
        func overtaking(_ earlier: Change) -> (change: Change, free: () -> Void) {
            var change = self
            // What is shown now goes when this change is shown: then, and not before, the earlier one is complete.
            change.completion = Change.both(earlier.completion, completion)
            change.undo = Change.both(undo, earlier.undo)
            return (change, { earlier.free() })
        }

        private static func both(
            _ first: (@Sendable () -> Void)?, _ second: (@Sendable () -> Void)?
        ) -> (@Sendable () -> Void)? {
            guard let first, let second else { return first ?? second }
            return {
                first()
                second()
            }
        }

        /// Shows a value to the render threads. On a render thread, or inside a counted cycle.
        mutating func show() {
            switch kind {
            case .parameter(let reference, let value):
                if isStampedLast {
                    let value = Float(bitPattern: UInt32(truncatingIfNeeded: value))
                    unsafe reference.cell.pointee.publish(reference.details.pointee.request(value))
                } else {
                    unsafe reference.cell.pointee.publish(value)
                }
            case .managed(let reference, let node):
                if isStampedLast { unsafe reference.cell.pointee.stamp(node) }
                unsafe old = UInt(bitPattern: reference.cell.pointee.publish(node))
            case .message, .completion: break
            }
        }
    }

    /// The transaction that is open on this thread.
    static var current: Transaction? {
        guard let open = unsafe crender_transaction_get() else { return nil }
        return unsafe Unmanaged<Transaction>.fromOpaque(open).takeUnretainedValue()
    }

    /// Whether one is open on this thread.
    @usableFromInline static var isOpen: Bool { unsafe crender_transaction_get() != nil }

    /// Has the open transaction do something when it is applied, in the cycle. `false`: its renderer's queue is full.
    @usableFromInline static func stageInCurrent(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard let current else { return false }
        do throws(MessageQueueFull) {
            try current.stage(Message({ _ in work() }, completion: nil), for: current.inbox)
            return true
        } catch {
            return false
        }
    }

    /// Runs a closure with this transaction open on this thread. If it throws, what it changed is taken back: all of it,
    /// and nothing that was changed before.
    func fill<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        let outer = unsafe crender_transaction_get()
        let (changeCount, undoCount, hadPlace) = (changes.count, undos.count, hasPlace)
        unsafe crender_transaction_set(Unmanaged.passUnretained(self).toOpaque())
        defer { unsafe crender_transaction_set(outer) }
        do {
            try body()
        } catch {
            for undo in undos[undoCount...].reversed() { undo() }
            undos.removeSubrange(undoCount...)
            let dropped = changes[changeCount...]
            changes.removeSubrange(changeCount...)
            positions = [:]
            for (index, change) in changes.enumerated() where change.cell != 0 { positions[change.cell] = index }
            if hasPlace && !hadPlace {
                inbox.cancelReservation()
                hasPlace = false
            }
            // What is freed here may do anything, also change something.
            unsafe crender_transaction_set(outer)
            for change in dropped.reversed() { change.drop() }
            throw error
        }
    }

    /// Hands the changes over, in one order with all other transactions.
    func commit() {
        guard !changes.isEmpty else { return }
        let overtaken = Self.commits.withLock { _ in
            for index in changes.indices {
                if case .parameter(let reference, let value) = changes[index].kind {
                    let value = Float(bitPattern: UInt32(truncatingIfNeeded: value))
                    unsafe changes[index].kind = .parameter(reference, reference.details.pointee.request(value))
                }
                changes[index].stamp?()
            }
            if !hasPlace { return inbox.submit(changes) }
            inbox.send(Job(changes))
            return []
        }
        for free in overtaken { free() }
    }

    /// Held while versions are given and handed over: transactions of several threads are seen one after the other.
    private static let commits = Lock(0)

    func stage(_ parameter: ParameterReference, _ value: Float) {
        parameter.retain()
        unsafe add(
            Change(
                kind: .parameter(parameter, UInt64(value.bitPattern)), release: { _ in parameter.release() },
                isStampedLast: isScheduled))
    }

    /// Takes a node to be shown. Without `stamp` it has its version already.
    func stage(
        _ managed: ManagedReference, _ node: UnsafeMutableRawPointer, stamp: (@Sendable () -> Void)?,
        release: @escaping @Sendable (UInt) -> Void, last: @escaping @Sendable (UInt) -> Void,
        completion: (@Sendable () -> Void)?, undo: (@Sendable () -> Void)?
    ) {
        managed.retain()
        unsafe add(
            Change(
                kind: .managed(managed, node), stamp: isScheduled ? nil : stamp,
                release: { old in
                    if old != 0 { release(old) }
                    managed.release(last)
                }, completion: completion, undo: undo, isStampedLast: isScheduled && stamp != nil))
    }

    /// Takes a message to be run with the other changes. The first one asks for a place in the queue of the renderer.
    func stage(_ message: Message, for inbox: Inbox) throws(MessageQueueFull) {
        guard self.inbox === inbox else {
            preconditionFailure("A transaction's messages go to its own renderer: send those for another after it.")
        }
        if !hasPlace {
            try inbox.reserve()
            hasPlace = true
        }
        unsafe add(Change(kind: .message(Unmanaged.passRetained(message)), release: { _ in }))
    }

    /// Has something called when the changes have been applied.
    func stage(completion: @escaping @Sendable () -> Void) {
        add(Change(kind: .completion, release: { _ in }, completion: completion))
    }

    /// Says how to call off what was scheduled inside, should the body throw.
    func ifThrown(_ undo: @escaping () -> Void) { undos.append(undo) }

    /// What this transaction will set a parameter to.
    func value(of parameter: ParameterReference) -> Float? {
        guard let position = unsafe positions[UInt(bitPattern: parameter.cell)],
            case .parameter(_, let value) = changes[position].kind
        else { return nil }
        return Float(bitPattern: UInt32(truncatingIfNeeded: value))
    }

    /// What this transaction will put in the place of a managed value.
    func node(of managed: ManagedReference) -> UnsafeMutableRawPointer? {
        guard let position = unsafe positions[UInt(bitPattern: managed.cell)],
            case .managed(_, let node) = changes[position].kind
        else { return nil }
        return unsafe node
    }

    private func add(_ change: Change) {
        if change.cell != 0 { positions[change.cell] = changes.count }
        changes.append(change)
    }
}
