internal import Synchronization

/// A render closure that is run once, and what is to be done when it has run.
final class Message: Sendable {
    let run: RenderLoop
    let completion: (@Sendable () -> Void)?

    init(_ run: @escaping RenderLoop, completion: (@Sendable () -> Void)?) {
        self.run = run
        self.completion = completion
    }
}

/// Something for a render thread to do once: changes that belong together, at a time or as soon as possible.
///
/// Made and freed on the control side. In between it is the render thread's, which hands it back when it is done.
@safe final class Job: @unchecked Sendable {
    // Unchecked because a job has one owner at a time: the control side, the inbox, the render thread.
    let time: RenderTime
    /// Whether it takes one of the inbox's places.
    let takesPlace: Bool
    private(set) var changes: UnsafeMutablePointer<Transaction.Change>
    private(set) var count: Int
    private var capacity: Int
    private var positions: [UInt: Int] = [:]
    /// The next in the list of those that are done.
    var next: UInt = 0
    /// Who decides about it: the first to change this from `waiting`.
    let state = Atomic<UInt8>(State.waiting)

    /// Whether it may be done: nobody has called it off. Once.
    func take() -> Bool {
        state.compareExchange(expected: State.waiting, desired: State.taken, ordering: .acquiringAndReleasing).exchanged
    }

    enum State {
        static var waiting: UInt8 { @_noLocks @_noAllocation get { 0 } }
        static var taken: UInt8 { @_noLocks @_noAllocation get { 1 } }
        static var cancelled: UInt8 { @_noLocks @_noAllocation get { 2 } }
    }

    init(_ changes: [Transaction.Change], at time: RenderTime = .immediately, takesPlace: Bool = true) {
        self.time = time
        self.takesPlace = takesPlace
        capacity = max(changes.count, 4)
        unsafe self.changes = .allocate(capacity: capacity)
        count = 0
        for change in changes { add(change)?() }
    }

    convenience init(_ message: Message, at time: RenderTime = .immediately) {
        let change = unsafe Transaction.Change(kind: .message(Unmanaged.passRetained(message)), release: { _ in })
        self.init([change], at: time)
    }

    /// Adds a change. Returns what lets go of an earlier one of the same cell, to be called with no lock held. Control
    /// side.
    func add(_ change: Transaction.Change) -> (() -> Void)? {
        let cell = change.cell
        if cell != 0, let position = positions[cell] {
            let (change, free) = unsafe change.overtaking(changes[position])
            unsafe changes[position] = change
            return free
        }
        if count == capacity {
            let larger = UnsafeMutablePointer<Transaction.Change>.allocate(capacity: capacity * 2)
            unsafe larger.moveInitialize(from: changes, count: count)
            unsafe changes.deallocate()
            unsafe changes = larger
            capacity *= 2
        }
        unsafe (changes + count).initialize(to: change)
        if cell != 0 { positions[cell] = count }
        count += 1
        return nil
    }

    /// Does it. On the render thread. What a message's closure does is the watchdog's to judge.
    func apply(_ context: inout RenderContext) {
        var index = 0
        while index < count {
            if case .message(let message) = unsafe changes[index].kind {
                unsafe message._withUnsafeGuaranteedRef { $0.run(&context) }
                context.cleanUp()
            } else {
                unsafe changes[index].show()
            }
            index &+= 1
        }
    }

    /// Makes the values visible although no render thread has asked: when there will be none. Inside a counted cycle.
    func applyValuesOnly() { for index in 0..<count { unsafe changes[index].show() } }

    /// Frees what it held, after it was done or given up. Control side.
    func finish(wasDone: Bool) {
        for index in 0..<count {
            let change = unsafe changes[index]
            guard wasDone else {
                change.drop()
                continue
            }
            switch change.kind {
            case .parameter, .managed: change.release(change.old)
            case .message(let message): unsafe message.takeRetainedValue().completion?()
            case .completion: break
            }
            if let completion = change.completion { Reclaimer.shared.retire(completion) }
        }
        unsafe changes.deinitialize(count: count)
        count = 0
    }

    deinit {
        finish(wasDone: false)
        unsafe changes.deallocate()
    }
}
