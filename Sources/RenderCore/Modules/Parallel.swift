/// Several renderers at the same time, on as many processors: pushes what each of them puts on its output.
///
///     let strings = try Renderer { context in … }
///     let winds = try Renderer { context in … }
///     let both = Parallel([strings, winds])
///     …
///     context.run(both)                   // pushes two buffers, that of `winds` on top
///     context.mix(2)
///
/// Each branch is a renderer inside this one, as with ``SubRenderer``, and sounds exactly as it does there: which thread
/// renders it makes no difference, bit for bit. The buffers are pushed in the order of the branches. Branches must not
/// share a module, nor the places of a `Splitter` or a `Bus`: at one moment only one of them can be in it, and the other
/// finds silence and a ``Fault``.
///
/// Worker threads take branches that nobody has begun; the render thread renders too, and never waits for a branch that
/// it could render itself. Nothing is locked or allocated. Workers that sleep are woken by one system call a slice (a
/// futex wake, which does not wait); that is done only where the branches take long enough for it to pay, some 40 µs
/// together, and not where the workers never come to help. On a machine with one processor there are no workers.
/// The figures are in <doc:Speed>.
///
/// While it plays live the workers have real-time priority where the system allows it; offline they are ordinary threads.
public final class Parallel: Module {
    /// Pushes as many buffers as there are branches.
    public let stackEffect: StackEffect
    private let branches: ManagedValue<Branches>
    private let newest: Lock<(renderers: [Renderer], preparation: Preparation?)>
    private let workers: Workers
    /// In use while the branches are rendered: a module in itself is a fault, and not a tangle.
    private let isRunning = RenderState<Bool>(false)

    /// A module that renders with other renderers.
    ///
    /// - Parameters:
    ///   - branches: the renderers, 1…256, each once.
    ///   - workers: how many threads help, 0…64; if nothing is said, as many as there are further branches and processors.
    ///   - priority: the real-time priority of the workers, 1…99, best that of the render thread; 0 for ordinary threads.
    ///     Where the render thread is an ordinary one, give 0: workers above it would keep the processor from it.
    /// - Precondition: the numbers are in range, and no renderer is there twice.
    public convenience init(_ branches: [Renderer], workers: Int? = nil, priority: Int = 70) {
        self.init(branches, workers: workers, priority: priority, worthwhile: 40_000)
    }

    /// - Parameter worthwhile: how long a slice of all branches takes, in nanoseconds, before workers are woken for it.
    package init(_ branches: [Renderer], workers: Int?, priority: Int, worthwhile: Int64) {
        precondition((1...256).contains(branches.count), "Parallel: \(branches.count) branches; it must be 1…256")
        precondition((0...64).contains(workers ?? 0), "Parallel: \(workers ?? 0) workers; it must be 0…64")
        precondition((0...99).contains(priority), "Parallel: a priority of \(priority); it must be 0…99")
        Self.checkDistinct(branches)
        stackEffect = StackEffect(pops: 0, pushes: branches.count)
        self.branches = ManagedValue(Branches(branches))
        newest = Lock((branches, nil))
        let helpful = min(branches.count, Workers.processorCount) - 1
        self.workers = Workers(
            count: min(64, workers ?? helpful), branches: branches.count, priority: priority, worthwhile: worthwhile)
    }

    deinit { workers.stop() }

    private static func checkDistinct(_ renderers: [Renderer]) {
        precondition(
            Set(renderers.map(ObjectIdentifier.init)).count == renderers.count,
            "Parallel: a renderer is in two branches; it can be in one")
    }

    // MARK: Control side

    /// How many branches there are.
    public var count: Int { stackEffect.pushes }

    /// How many worker threads help.
    public var workerCount: Int { workers.count }

    /// How many of them have real-time priority now: fewer where the system refuses it, and none offline.
    public var realtimeWorkerCount: Int { workers.realtimeCount }

    /// The renderer of a branch. A new one is heard from the next slice on.
    ///
    /// - Precondition: there is such a branch, and the new renderer is in no other.
    public subscript(_ index: Int) -> Renderer {
        get {
            precondition((0..<count).contains(index), "Parallel: branch \(index) of \(count)")
            return newest.withLock { $0.renderers[index] }
        }
        set {
            precondition((0..<count).contains(index), "Parallel: branch \(index) of \(count)")
            let preparation = newest.withLock { newest in
                newest.renderers[index] = newValue
                Self.checkDistinct(newest.renderers)
                return newest.preparation
            }
            // Not under the lock: the renderer may be the one that this module is in.
            if let preparation { newValue.configure(sampleRate: preparation.sampleRate) }
            let retire = newest.withLock { newest in
                branches.exchange(Branches(newest.renderers), isInOrder: true, whenOldIsFreed: nil, undo: nil)
            }
            retire()
        }
    }

    /// How many branches the workers have rendered so far, and not the render thread.
    package var helpCount: Int { workers.helpCount }

    /// Ends the workers, as when they cannot be had: for tests.
    package func stopWorkers() { workers.stop() }

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
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in
            branches.with(&context) { branches, context in workers.render(branches, &context) }
        }
    }
}

/// The branches as the render thread sees them.
@safe struct Branches: ~Copyable, @unchecked Sendable {
    // Unchecked because of the references: what they lead to is Sendable. They are not counted on the render thread.
    let states: UnsafeMutablePointer<Unmanaged<CycleState>>
    private let renderers: UnsafeMutablePointer<Unmanaged<Renderer>>
    let count: Int

    init(_ all: [Renderer]) {
        count = all.count
        unsafe states = .allocate(capacity: count)
        unsafe renderers = .allocate(capacity: count)
        for (index, renderer) in all.enumerated() {
            unsafe (renderers + index).initialize(to: .passRetained(renderer))
            unsafe (states + index).initialize(to: .passUnretained(renderer.state))
        }
    }

    deinit {
        for index in 0..<count { unsafe renderers[index].release() }
        unsafe renderers.deallocate()
        unsafe states.deallocate()
    }
}
