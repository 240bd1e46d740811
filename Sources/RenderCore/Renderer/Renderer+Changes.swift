// Changing the sound: many changes at once, changes at a time.

extension Renderer {
    /// Makes many changes appear in one cycle: parameters, managed values, messages and loops that are set in `body`.
    ///
    ///     renderer.transaction {
    ///         low.gain.value = 0
    ///         high.gain.value = 1
    ///     }
    ///
    /// The changes are staged while `body` runs and shown to the render thread together; other control threads see the new
    /// values when it ends. The function may be called nested (the outermost call counts), and with or without the
    /// renderer running.
    ///
    /// - Parameters:
    ///   - applied: Called on a thread of RenderStack's own when the render thread has seen the changes; not when there
    ///     were none, or when the transaction is part of another. It may ask and change anything. While it runs, the
    ///     completions behind it wait.
    ///   - body: The closure that makes the changes. If it throws, none is made.
    public func transaction<Failure: Error>(
        whenApplied applied: (@Sendable () -> Void)? = nil, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        if let outer = Transaction.current { return try outer.fill(body) }
        let transaction = Transaction(for: state.inbox, hasPlace: false)
        try transaction.fill(body)
        if let applied, !transaction.changes.isEmpty { transaction.stage(Change(completion: applied)) }
        transaction.commit()
    }

    /// Makes many changes appear at one frame: also in the middle of a cycle.
    ///
    ///     try renderer.transaction(at: .now + .seconds(2)) { filter.cutoff.value = 500 }
    ///
    /// If the time has passed, the changes are made at once, and ``/Exchange/RenderEvent/late(count:frames:sampleTime:)`` reports
    /// it. Control code too sees them when they have happened; values that are set in the meantime hold until then.
    /// Inside another transaction this one keeps its time; if the other throws, this one is called off.
    ///
    /// - Parameters:
    ///   - time: The time of the changes.
    ///   - body: The closure that makes the changes. If it throws, none is made.
    /// - Returns: An event by which the changes can be called off.
    /// - Throws: ``MessageQueueFull`` when 1024 jobs are waiting.
    @discardableResult
    public func transaction(at time: RenderTime, _ body: () throws -> Void) throws -> ScheduledEvent {
        try state.inbox.reserve()
        let transaction = Transaction(for: state.inbox, hasPlace: true)
        do {
            try transaction.fill(body)
        } catch {
            state.inbox.cancelReservation()
            throw error
        }
        transaction.sendToOthers(at: time)
        return send(Job(transaction.changes, at: time))
    }

    /// Runs a closure on the render thread at one frame: also in the middle of a cycle.
    ///
    /// If the time has passed it runs at once, and ``/Exchange/RenderEvent/late(count:frames:sampleTime:)`` reports it.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - body: The closure; its context has one frame and an empty stack.
    /// - Returns: An event by which the closure can be called off.
    /// - Throws: ``MessageQueueFull`` when 1024 jobs are waiting.
    @discardableResult
    public func schedule(at time: RenderTime, _ body: @escaping RenderLoop) throws(MessageQueueFull) -> ScheduledEvent {
        try state.inbox.reserve()
        return send(Job([Message(body)], at: time))
    }

    private func send(_ job: Job) -> ScheduledEvent {
        let event = ScheduledEvent(job: job, inbox: state.inbox)
        state.inbox.send(job)
        Transaction.current?.ifThrown { event.cancel() }
        return event
    }
}
