internal import CRender
internal import Synchronization

/// Changes that appear together: parameters, managed values and messages that are set while it is open.
///
/// It is open on one thread, from the beginning to the end of ``Renderer/transaction(at:_:)``'s closure. Until it is
/// committed its changes are its own: only control code on that thread sees them, and throwing them away changes nothing.
@safe final class Transaction {
    private(set) var changes: [Change] = []
    /// The inbox that receives the transaction's changes.
    let inbox: Inbox
    /// Indicates whether a place in that inbox is promised.
    private(set) var hasPlace: Bool
    /// Indicates whether loops that are set while it is open belong to it: not while modules are prepared for a loop.
    let takesLoops: Bool
    /// The newest change of each cell.
    private var newest: [UInt: Change] = [:]
    /// Closures that call off jobs that have been scheduled inside.
    private var undos: [() -> Void] = []
    /// Changes for other renderers than this transaction's, which have a place there: sent when it is committed.
    private var changesForOthers: [(Change, Inbox)] = []

    init(for inbox: Inbox, hasPlace: Bool, takesLoops: Bool = true) {
        self.inbox = inbox
        self.hasPlace = hasPlace
        self.takesLoops = takesLoops
    }

    /// The transaction that is open on this thread.
    static var current: Transaction? {
        guard let open = unsafe crender_transaction_get() else { return nil }
        return unsafe Unmanaged<Transaction>.fromOpaque(open).takeUnretainedValue()
    }

    /// Indicates whether one is open on this thread.
    static var isOpen: Bool { unsafe crender_transaction_get() != nil }

    /// Runs a closure as if no transaction were open on this thread.
    static func suspended<Result>(_ body: () -> Result) -> Result {
        let outer = unsafe crender_transaction_get()
        crender_transaction_set(nil)
        defer { unsafe crender_transaction_set(outer) }
        return body()
    }

    /// Runs a closure with this transaction open on this thread. If it throws, its changes are taken back: all of them,
    /// and none that were made before.
    func fill<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        let outer = unsafe crender_transaction_get()
        let (changeCount, undoCount, hadPlace) = (changes.count, undos.count, hasPlace)
        let countForOthers = changesForOthers.count
        unsafe crender_transaction_set(Unmanaged.passUnretained(self).toOpaque())
        defer { unsafe crender_transaction_set(outer) }
        do {
            try body()
        } catch {
            for undo in undos[undoCount...].reversed() { undo() }
            undos.removeSubrange(undoCount...)
            let dropped = changes[changeCount...]
            changes.removeSubrange(changeCount...)
            newest = [:]
            for change in changes where change.cell != 0 { newest[change.cell] = change }
            if hasPlace && !hadPlace {
                inbox.cancelReservation()
                hasPlace = false
            }
            let unsent = changesForOthers[countForOthers...]
            changesForOthers.removeSubrange(countForOthers...)
            // The values that are freed here may do anything, also change something.
            unsafe crender_transaction_set(outer)
            for (change, inbox) in unsent {
                inbox.cancelReservation()
                change.withdraw()
            }
            for change in dropped.reversed() { change.withdraw() }
            throw error
        }
    }

    /// Hands the changes over, in one order with all other transactions.
    func commit() {
        if !changes.isEmpty {
            let overtaken = Self.commits.withLock { _ in
                for change in changes { change.commit() }
                // On a renderer that stands still any number may gather.
                changes.removeAll(where: \.isOver)
                if !hasPlace { return inbox.submit(changes) }
                inbox.send(Job(changes))
                return []
            }
            for change in overtaken { change.letGo(.wasWithdrawn) }
        }
        sendToOthers(at: .immediately)
    }

    /// Returns the changes as a job that is handed over in another way; `nil` if there are none. The transaction is
    /// empty afterwards.
    func makeJob() -> Job? {
        sendToOthers(at: .immediately)
        undos = []
        if changes.isEmpty { return nil }
        Self.commits.withLock { _ in for change in changes { change.commit() } }
        let job = Job(changes, takesPlace: hasPlace)
        (changes, newest) = ([], [:])
        return job
    }

    /// Sends the changes that are for other renderers.
    func sendToOthers(at time: RenderTime) {
        for (change, inbox) in changesForOthers { inbox.send(Job([change], at: time)) }
        changesForOthers = []
    }

    /// The lock that is held while versions are given and handed over: transactions of several threads are seen one
    /// after the other.
    private static let commits = Lock(0, .commits)

    /// Takes a change, to be shown with the others.
    func stage(_ change: Change) {
        if change.cell != 0 { newest[change.cell] = change }
        changes.append(change)
    }

    /// Takes a change that is to be applied in a cycle of one renderer, and needs a place in its queue: the first one asks
    /// for it. A change for another renderer than this transaction's cannot be applied in the same cycle: it is sent there
    /// when this transaction is committed.
    func stage(_ change: Change, for inbox: Inbox) throws(MessageQueueFull) {
        guard self.inbox === inbox else {
            try inbox.reserve()
            changesForOthers.append((change, inbox))
            return
        }
        if !hasPlace {
            try inbox.reserve()
            hasPlace = true
        }
        stage(change)
    }

    /// Sets how to call off a job that was scheduled inside, should the body throw.
    func ifThrown(_ undo: @escaping () -> Void) { undos.append(undo) }

    /// Returns the last change that this transaction will make in a cell.
    func newest(of cell: UInt) -> Change? { newest[cell] }
}
