public import RenderCore
internal import Sharing

/// Several renderers at the same time, on as many processors: pushes the output of each of them.
///
///     let strings = try Renderer { context in … }
///     let winds = try Renderer { context in … }
///     let both = Parallel([strings, winds])
///     …
///     context.run(both)                   // pushes two buffers, that of `winds` on top
///     context.mix(2)
///
/// Each branch is a renderer inside this one, as with ``SubRenderer``, with the inputs, the MIDI and the transport of the output, and
/// sounds exactly as it does there: the thread that renders it makes no difference, bit for bit. The buffers are pushed, and the
/// messages that were sent to one MIDI output follow each other, in the order of the branches. A branch sends 1,024 messages in a
/// slice at most. Branches must not share a module, also not an `AudioInput` (one of its own for each gets a port of its own), nor the places of a `Splitter` or a `Bus`: only one of them can be in it at a time, and another
/// finds silence and a ``/Exchange/Fault``.
///
/// Worker threads take branches that no thread has begun. The render thread renders too, and never waits for a branch
/// that it could render itself. Nothing is locked or allocated. One system call a slice (a futex wake, which does not
/// wait) wakes workers that sleep. It is made only if the branches take long enough for it to pay, some 40 µs together,
/// and not if the workers never come to help. On a machine with one processor there are no workers. The figures are in
/// <doc:Speed>.
///
/// While it plays live the workers have real-time priority where the system allows it; offline they are ordinary threads.
///
/// Threads: control.
public final class Parallel: Module, SupplyPassing {
    /// Pushes as many buffers as there are branches.
    public let stackEffect: StackEffect
    private let branches: ManagedValue<Branches>
    private let newest: Lock<(renderers: [Renderer], preparation: Preparation?)>
    private let workers: Workers
    private let pendingReset = PendingReset()
    /// A state that is in use while the branches are rendered: a module in itself is a fault, and not a tangle.
    private let isRunning = RenderState<Bool>(false)

    /// Creates a module that renders with other renderers.
    ///
    /// - Parameters:
    ///   - branches: The renderers, 1…256, each once.
    ///   - workers: The number of threads that help, 0…64; by default one for each further branch, as far as there are
    ///     processors.
    ///   - priority: The real-time priority of the workers, 1…99, best that of the render thread; 0 for ordinary
    ///     threads. If the render thread is an ordinary one, give 0: workers above it would keep the processor from it.
    /// - Precondition: The numbers are in range, and no renderer is there twice.
    public convenience init(_ branches: [Renderer], workers: Int? = nil, priority: Int = 70) {
        self.init(branches, workers: workers, priority: priority, worthwhile: 40_000)
    }

    /// - Parameter worthwhile: The time that a slice of all branches must take, in nanoseconds, before workers are
    ///   woken for it.
    package init(_ branches: [Renderer], workers: Int?, priority: Int, worthwhile: Int64) {
        demand((1...256).contains(branches.count), "Parallel: \(branches.count) branches; it must be 1…256")
        demand((0...64).contains(workers ?? 0), "Parallel: \(workers ?? 0) workers; it must be 0…64")
        demand((0...99).contains(priority), "Parallel: a priority of \(priority); it must be 0…99")
        Self.checkDistinct(branches)
        stackEffect = StackEffect(pops: 0, pushes: branches.count)
        self.branches = ManagedValue(Branches(branches))
        newest = Lock((branches, nil), .module)
        let helpful = min(branches.count, Workers.processorCount) - 1
        self.workers = Workers(
            count: min(64, workers ?? helpful), branches: branches.count, priority: priority, worthwhile: worthwhile)
    }

    deinit { workers.stop() }

    private static func checkDistinct(_ renderers: [Renderer]) {
        demand(
            Set(renderers.map(ObjectIdentifier.init)).count == renderers.count,
            "Parallel: a renderer is in two branches; it can be in one")
    }

    // MARK: Control side

    /// The number of branches.
    public var count: Int { stackEffect.pushes }

    /// The number of worker threads that help.
    public var workerCount: Int { workers.count }

    /// The number of worker threads that have real-time priority now: fewer if the system refuses it, and none offline.
    public var realtimeWorkerCount: Int { workers.realtimeCount }

    /// The renderer of a branch. A new one is heard from the next slice on. One that is in another branch already is not
    /// put there, which a notice on standard error says.
    ///
    /// - Precondition: There is such a branch.
    public subscript(_ index: Int) -> Renderer {
        get {
            demand((0..<count).contains(index), "Parallel: branch \(index) of \(count)")
            return newest.withLock { $0.renderers[index] }
        }
        set {
            demand((0..<count).contains(index), "Parallel: branch \(index) of \(count)")
            let change: (old: Renderer, preparation: Preparation?)? = newest.withLock { newest in
                let isElsewhere = newest.renderers.indices.contains { $0 != index && newest.renderers[$0] === newValue }
                if isElsewhere { return nil }
                let old = newest.renderers[index]
                // As a whole, because others read copies.
                newest.renderers = newest.renderers.enumerated().map { $0 == index ? newValue : $1 }
                return (old, newest.preparation)
            }
            guard let (old, preparation) = change else {
                return StandardError.sayOnce(
                    "Parallel: branch \(index) keeps its renderer; the new one is in another branch, and can be in one")
            }
            // This runs without the lock: the renderer may be the one that this module is in.
            if let preparation { newValue.configure(sampleRate: preparation.sampleRate) }
            let (renderers, version) = newest.withLock { ($0.renderers, branches.makeVersion()) }
            branches.set(Branches(renderers), version: version)
            // Here it may end, with no lock held.
            withExtendedLifetime(old) {}
        }
    }

    /// The number of branches that the workers have rendered so far, and not the render thread.
    package var helpCount: Int { workers.helpCount }

    /// Ends the workers, as when they cannot be had: for tests.
    package func stopWorkers() { workers.stop() }

    package var innerRenderers: [Renderer] { newest.withLock { $0.renderers } }

    /// Returns the latency of the latest branch.
    public func latency(at sampleRate: Double) -> Int {
        newest.withLock { $0.renderers }.map { $0.latency(at: sampleRate) }.max() ?? 0
    }

    /// Gives the branches the sample rate of the outer renderer.
    public func prepare(_ preparation: Preparation) {
        let renderers = newest.withLock { newest in
            newest.preparation = preparation
            return newest.renderers
        }
        for renderer in renderers { renderer.configure(sampleRate: preparation.sampleRate) }
    }

    // MARK: Render thread

    /// Pushes a slice of every branch.
    ///
    /// Threads: render.
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in
            let resets = pendingReset.take()
            branches.with(&context) { branches, context in workers.render(branches, &context, resets: resets) }
        }
    }

    /// Resets the modules of all branches, before their next slice. Their clocks go on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { pendingReset.ask() }
}
