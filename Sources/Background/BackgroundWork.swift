public import RenderCore
internal import Synchronization

/// Work that is too long for a cycle, on a thread beside the audio: the long partitions of a convolution, a phase
/// vocoder's transform, an analysis.
///
///     private let work = BackgroundWork(Piece(frames: 4_096)) { piece in piece.transform() }
///     …
///     let outcome = work.collect(&context) { piece, context in … }     // takes the result, puts the next input in
///     work.submit(context, deadline: 4_096)                            // has to be done 4,096 frames from now
///
/// The job computes on a state of its own, which travels: ``submit(_:at:deadline:)`` gives it away, and
/// ``collect(_:at:_:)`` takes it back. No copy is made, no lock is taken, and nothing is allocated.
///
/// **The deadline** is a frame. Before it `collect` says ``BackgroundOutcome/notDue``, even when the job is done
/// already: so a result is heard at its frame, whatever the machine is doing. A live render thread never waits. When
/// the job is not done at its deadline, `collect` says ``BackgroundOutcome/late``, counts it once, and says the same
/// until the job is done; the module decides what is heard meanwhile. Offline rendering waits for the job at its
/// deadline, and gives the same samples every time.
///
/// Jobs of all modules share a few threads, and the job with the next deadline comes first. If the system allows it,
/// the threads have the lowest real-time priority while they work for live rendering: any audio thread goes before
/// them. They are fewer than the processors, so that ordinary threads (the disk's among them) go on; on a machine with
/// one processor they are ordinary threads themselves. Jobs may allocate and lock, but should not wait for anything:
/// while one waits, others come late.
///
/// When the module ends, a job that has not begun is dropped. The module waits for one that runs, before the state is
/// freed.
///
/// Threads: control.
@safe public struct BackgroundWork<State: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked because the state is the render thread's or the job's, never both's: see `WorkItem`.
    @usableFromInline let item: UnsafeMutablePointer<WorkItem>
    @usableFromInline let state: UnsafeMutablePointer<State>
    /// A state that is in use while the render thread has the job's state.
    @usableFromInline let terms = RenderState<WorkTerms>(WorkTerms())

    /// Creates work that can be submitted, on a state of its own.
    ///
    /// - Parameters:
    ///   - state: The state on which the job computes.
    ///   - job: The computation. It runs on a thread beside the audio; offline also on the one that renders.
    public init(_ state: consuming State, _ job: @escaping @Sendable (inout State) -> Void) {
        let memory = UnsafeMutablePointer<State>.allocate(capacity: 1)
        unsafe memory.initialize(to: state)
        unsafe self.state = memory
        let address = UInt(bitPattern: memory)
        unsafe item = WorkPool.shared.makeItem(
            run: {
                if let memory = unsafe UnsafeMutablePointer<State>(bitPattern: address) { unsafe job(&memory.pointee) }
            },
            free: {
                guard let memory = unsafe UnsafeMutablePointer<State>(bitPattern: address) else { return }
                unsafe memory.deinitialize(count: 1)
                unsafe memory.deallocate()
            })
    }

    deinit { unsafe WorkPool.shared.end(item) }

    /// Takes the state back, once the job is done and due.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - frame: The frame of this slice at which it is asked for.
    ///   - body: The closure that takes the results of the job, and puts in the input of the next one. It is called if
    ///     the outcome is ``BackgroundOutcome/ready``: when the job is done and due, or none was submitted since.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func collect(
        _ context: inout RenderContext, at frame: Int = 0, _ body: (inout State, inout RenderContext) -> Void
    ) -> BackgroundOutcome {
        var outcome = BackgroundOutcome.notDue
        if !context.isDryRun, let terms = unsafe terms.enter(context) {
            outcome = unsafe WorkItem.look(item, terms, at: context.sampleTime &+ Int64(frame), context.isOffline)
            if outcome.isReady { unsafe body(&state.pointee, &context) }
            self.terms.leave(context)
        }
        return outcome
    }

    /// Takes the state back, together with a state of the module, to move values from one to the other.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - frame: The frame of this slice at which it is asked for.
    ///   - other: The state of the module. (One closure inside of another would count references.)
    ///   - body: A closure as in ``collect(_:at:_:)``.
    ///
    /// Threads: render.
    @inlinable @_transparent
    public func collect<Other: ~Copyable & Sendable>(
        _ context: inout RenderContext, at frame: Int = 0, with other: borrowing RenderState<Other>,
        _ body: (inout State, inout Other, inout RenderContext) -> Void
    ) -> BackgroundOutcome {
        var outcome = BackgroundOutcome.notDue
        if !context.isDryRun, let value = unsafe other.enter(context) {
            if let terms = unsafe terms.enter(context) {
                outcome = unsafe WorkItem.look(item, terms, at: context.sampleTime &+ Int64(frame), context.isOffline)
                if outcome.isReady { unsafe body(&state.pointee, &value.pointee, &context) }
                self.terms.leave(context)
            }
            other.leave(context)
        }
        return outcome
    }

    /// Gives the state away, for the job to compute on.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - frame: The frame of this slice at which it is submitted.
    ///   - deadline: The number of frames after that until the result is needed, 0 or more.
    /// - Returns: `false`, and nothing happens, if the last job has not been collected yet. Inside of the body of
    ///   ``collect(_:at:_:)`` that is a ``/Exchange/Fault``.
    ///
    /// Threads: render.
    @inlinable @inline(__always) @discardableResult
    public func submit(_ context: borrowing RenderContext, at frame: Int = 0, deadline: Int) -> Bool {
        if context.isDryRun { return false }
        guard let terms = unsafe terms.enter(context) else { return false }
        let now = context.sampleTime &+ Int64(frame)
        let isSubmitted = unsafe WorkItem.submit(
            item, terms, at: now, deadline, context.hostTime, frame, context.sampleRate, context.isOffline)
        self.terms.leave(context)
        return isSubmitted
    }

    /// Indicates whether a job is done that has not been collected.
    var isDone: Bool { unsafe item.pointee.stage.pointee.load(ordering: .acquiring) == WorkItem.Stage.done.rawValue }

    /// The statistics of the jobs since the start.
    public var statistics: BackgroundStatistics { unsafe item.pointee.statistics }
}
