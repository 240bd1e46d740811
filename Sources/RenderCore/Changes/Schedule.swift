internal import Synchronization

/// Jobs that wait for their time on the render thread: a heap of a fixed size, the earliest first, equal ones in the
/// order in which they came.
@safe struct Schedule: ~Copyable {
    @safe private struct Item {
        var time: Int64
        var order: Int64
        var job: Unmanaged<Job>
    }
    private let items: UnsafeMutablePointer<Item>
    private(set) var count = 0
    private var order: Int64 = 0
    private var probe = 0

    /// Jobs that were called off give their places in the inbox back at once, and stay here: so there are twice as many places as in
    /// the inbox, and half of a full schedule at least has been called off.
    private let capacity = 2 * Inbox.capacity

    /// Creates an empty schedule.
    init() { unsafe items = .allocate(capacity: capacity) }

    deinit {
        let jobs = (0..<count).map { unsafe items[$0].job.takeRetainedValue() }
        for job in jobs { _ = job.take() }
        if !jobs.isEmpty {
            Reclaimer.shared.runErrand { for job in jobs { job.finish(wasDone: false, end: .rendererIsGone) } }
        }
        unsafe items.deallocate()
    }

    /// The time at which the earliest job is due.
    var firstTime: Int64? { @_noLocks @_noAllocation get { count > 0 ? unsafe items[0].time : nil } }

    /// Adds a job. Those that were called off go back to the inbox where there is no place for it.
    mutating func insert(_ job: Unmanaged<Job>, at time: Int64, _ inbox: Inbox) {
        if count == capacity { handBackCancelled(inbox) }
        order &+= 1
        count &+= 1
        unsafe place(Item(time: time, order: order, job: job), at: count &- 1)
    }

    @_noLocks @_noAllocation
    mutating func takeFirst() -> Unmanaged<Job> { unsafe remove(at: 0) }

    /// Looks at one of them, another one each time, and takes it out if it was called off. So jobs that are called off
    /// long before their time are freed soon.
    mutating func takeCancelled() -> Unmanaged<Job>? {
        guard count > 0 else { return nil }
        probe = probe &+ 1 < count ? probe &+ 1 : 0
        return unsafe isCancelled(items[probe].job) ? remove(at: probe) : nil
    }

    private func isCancelled(_ job: Unmanaged<Job>) -> Bool {
        unsafe job._withUnsafeGuaranteedRef { $0.isCancelled }
    }

    private mutating func handBackCancelled(_ inbox: Inbox) {
        let all = count
        var index = 0
        count = 0
        // Each that stays enters the heap anew, which is never longer than the part that has been looked at.
        while index < all {
            let item = unsafe items[index]
            if unsafe isCancelled(item.job) {
                unsafe inbox.handBack(item.job)
            } else {
                count &+= 1
                place(item, at: count &- 1)
            }
            index &+= 1
        }
    }

    @_noLocks @_noAllocation
    private mutating func remove(at position: Int) -> Unmanaged<Job> {
        let job = unsafe items[position].job
        count &-= 1
        if position < count { unsafe place(items[count], at: position) }
        return unsafe job
    }

    /// Puts an item where its position is free: there, further up or further down.
    @_noLocks @_noAllocation
    private mutating func place(_ item: Item, at free: Int) {
        var position = free
        while position > 0, unsafe isEarlier(item, items[(position &- 1) / 2]) {
            unsafe items[position] = items[(position &- 1) / 2]
            position = (position &- 1) / 2
        }
        while true {
            var child = 2 &* position &+ 1
            if child >= count { break }
            if child &+ 1 < count, unsafe isEarlier(items[child &+ 1], items[child]) { child &+= 1 }
            if unsafe !isEarlier(items[child], item) { break }
            unsafe items[position] = items[child]
            position = child
        }
        unsafe items[position] = item
    }

    @_noLocks @_noAllocation
    private func isEarlier(_ a: Item, _ b: Item) -> Bool {
        a.time < b.time || (a.time == b.time && a.order < b.order)
    }
}

/// An event that was scheduled: it can be called off as long as it has not happened.
///
/// Threads: control.
public struct ScheduledEvent: Sendable, CustomStringConvertible {
    let job: Job
    let inbox: Inbox

    /// The time of the event, and whether it has happened.
    public var description: String {
        let state = job.state.load(ordering: .acquiring)
        let word =
            state == Job.State.waiting ? "scheduled for" : state == Job.State.taken ? "done at" : "called off from"
        return "\(word) \(job.time)"
    }

    /// Calls the event off. Returns `false` if it has happened or is happening, or was called off before.
    ///
    /// The closure and the values that it captures are released soon, on a thread of RenderStack's own, also if the
    /// renderer stands still. Its place in the queue is free at once.
    @discardableResult
    public func cancel() -> Bool { inbox.cancel(job) }
}
