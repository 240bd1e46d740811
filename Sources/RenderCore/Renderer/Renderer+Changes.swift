// Changing what is heard: many things at once, things at a time.

extension Renderer {
    /// Makes many changes appear in one cycle: parameters, managed values and messages that are set in `body`.
    ///
    ///     renderer.transaction {
    ///         low.gain.value = 0
    ///         high.gain.value = 1
    ///     }
    ///
    /// They are staged while `body` runs and shown to the render thread together; control code sees the new values at
    /// once. From any thread, nested (the outermost counts), with or without the renderer running.
    ///
    /// - Parameters:
    ///   - applied: called on a thread of the control side when the render thread has seen the changes; not when
    ///     there were none, or when the transaction is part of another.
    ///   - body: what is to be changed. If it throws, nothing is.
    public func transaction<Failure: Error>(
        whenApplied applied: (@Sendable () -> Void)? = nil, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        if let outer = Transaction.current { return try outer.fill(body) }
        let transaction = Transaction(for: state.inbox, isScheduled: false, hasPlace: false)
        try transaction.fill(body)
        if let applied, !transaction.changes.isEmpty { transaction.stage(completion: applied) }
        transaction.commit()
    }

    /// Makes many changes appear at one frame: also in the middle of a cycle.
    ///
    ///     try renderer.transaction(at: .now + .seconds(2)) { filter.cutoff.value = 500 }
    ///
    /// If the time has passed the changes are made at once, and ``RenderEvent/late(count:frames:sampleTime:)`` says so.
    /// Control code too sees them when they have happened; what is set in the meantime holds until then. Inside another
    /// transaction it keeps its time; if that one throws it is called off.
    ///
    /// - Parameters:
    ///   - time: when.
    ///   - body: what is to be changed. If it throws, nothing is.
    /// - Returns: what the changes can be called off with.
    /// - Throws: ``MessageQueueFull`` when 1024 jobs are waiting.
    @discardableResult
    public func transaction(at time: RenderTime, _ body: () throws -> Void) throws -> ScheduledEvent {
        try state.inbox.reserve()
        let transaction = Transaction(for: state.inbox, isScheduled: true, hasPlace: true)
        do {
            try transaction.fill(body)
        } catch {
            state.inbox.cancelReservation()
            throw error
        }
        return send(Job(transaction.changes, at: time))
    }

    /// Runs a closure on the render thread at one frame: also in the middle of a cycle.
    ///
    /// If the time has passed it runs at once, and ``RenderEvent/late(count:frames:sampleTime:)`` says so.
    ///
    /// - Parameters:
    ///   - time: when.
    ///   - body: what is to be done; its context has one frame and an empty stack.
    /// - Returns: what it can be called off with.
    /// - Throws: ``MessageQueueFull`` when 1024 jobs are waiting.
    @discardableResult
    public func schedule(at time: RenderTime, _ body: @escaping RenderLoop) throws(MessageQueueFull) -> ScheduledEvent {
        try state.inbox.reserve()
        return send(Job(Message(body, completion: nil), at: time))
    }

    private func send(_ job: Job) -> ScheduledEvent {
        let event = ScheduledEvent(job: job)
        state.inbox.send(job)
        Transaction.current?.ifThrown { event.cancel() }
        return event
    }
}
