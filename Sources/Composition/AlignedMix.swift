public import RenderCore
internal import Synchronization

/// Mixes buffers that are late by different numbers of frames, so that they sound at the same time: early ones are held
/// back.
///
///     let mix = AlignedMix(2)
///     …
///     context.run(drums)                  // pushes a buffer
///     context.duplicate()
///     context.run(limiter)                // looks 64 frames ahead: its buffer is late by that many
///     context.run(mix)                    // in the place of context.mix(2): the other is held back by 64 frames
///
/// Without that, two branches of one sound that are not equally late make a comb filter. The renderer knows from the
/// dry run how late each buffer is (``/RenderCore/Module/latency(at:)``). It looks again whenever its closure or its settings
/// change, and some twenty times a second while it plays, since a module may change its latency at any time. A branch
/// whose delay changes fades over in 5 ms. ``/RenderCore/Renderer/latency`` counts the delays.
///
/// Branches are held back by 524,288 frames at most. Inside of a user's module the renderer does not see the ways:
/// there ``align(_:)`` sets how late the buffers are.
///
/// Threads: control.
public final class AlignedMix: Module {
    /// Takes that many buffers and leaves their sum.
    public let stackEffect: StackEffect
    /// The name of the module in faults and statistics.
    public let name: String
    private let branches: HeldBranches
    private let control = Lock((latencies: [Int](), preparation: Preparation?.none), .module)

    /// Creates a mix.
    ///
    /// - Parameters:
    ///   - count: The number of buffers, 1…64.
    ///   - name: The name in faults and statistics.
    /// - Precondition: `count` is in range.
    public init(_ count: Int = 2, name: String = "AlignedMix") {
        demand((1...64).contains(count), "AlignedMix: \(count) buffers; it must be 1…64")
        stackEffect = StackEffect(pops: count, pushes: 1)
        self.name = name
        branches = HeldBranches(count)
    }

    /// The number of frames by which each buffer is held back, in the order in which they are pushed: the last is the
    /// top.
    public var heldBack: [Int] { (0..<branches.count).map { branches.frames($0) } }

    /// Sets how late the buffers are, for a module of your own that mixes its members: in its ``/RenderCore/Module/prepare(_:)``.
    /// In a render loop the renderer does it.
    ///
    ///     func prepare(_ preparation: Preparation) { mix.module.align([0, limiter.module.latency(at:
    ///     preparation.sampleRate)]) }
    ///
    /// - Parameter latencies: In frames, in the order in which the buffers are pushed. Those that are missing count as
    ///   0.
    public func align(_ latencies: [Int]) {
        let preparation = control.withLock { control in
            control.latencies = latencies
            return control.preparation
        }
        if let preparation { hold(latencies, preparation) }
    }

    /// Makes memory for the frames that are held back.
    public func prepare(_ preparation: Preparation) {
        let latencies = control.withLock { control in
            control.preparation = preparation
            return control.latencies
        }
        hold(latencies, preparation)
    }

    private func hold(_ latencies: [Int], _ preparation: Preparation) {
        let latest = max(0, latencies.max() ?? 0)
        for branch in 0..<branches.count {
            let latency = branch < latencies.count ? max(0, latencies[branch]) : 0
            branches.hold(branch, latest - latency, for: preparation)
        }
    }

    /// Mixes the buffers.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        branches.process(&context)
        context.mix(branches.count)
    }

    /// Forgets the frames that are held back.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { branches.reset(context) }
}

/// The branches of a mix, in the order in which they are pushed.
@safe private struct HeldBranches: ~Copyable, @unchecked Sendable {
    // Unchecked because the table does not change, and a delay is Sendable.
    private let delays: UnsafeMutablePointer<LatencyDelay>
    let count: Int

    init(_ count: Int) {
        self.count = count
        unsafe delays = .allocate(capacity: count)
        for branch in 0..<count { unsafe (delays + branch).initialize(to: LatencyDelay()) }
    }

    deinit {
        unsafe delays.deinitialize(count: count)
        unsafe delays.deallocate()
    }

    func frames(_ branch: Int) -> Int { unsafe delays[branch].frames }

    func hold(_ branch: Int, _ frames: Int, for preparation: Preparation) {
        unsafe delays[branch].hold(frames, for: preparation)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var branch = 0
        while branch < count {
            unsafe delays[branch].process(&context, at: count &- 1 &- branch)
            branch &+= 1
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: borrowing RenderContext) {
        var branch = 0
        while branch < count {
            unsafe delays[branch].reset(context)
            branch &+= 1
        }
    }
}

extension AlignedMix: LatencyAligning {
    package var isAligning: Bool { true }
}
