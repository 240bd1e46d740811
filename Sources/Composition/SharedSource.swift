package import RenderCore
internal import Sharing
internal import Synchronization

/// A generator that is heard in several places and rendered once: the inside of a `Splitter`.
///
/// The generator runs in a renderer of its own. The first place that asks in a slice of the outermost renderer calls that one, which follows
/// the clock of the outermost renderer. So it does not matter in which renderer the places are.
@safe package struct SharedSource: ~Copyable, @unchecked Sendable {
    // Unchecked because the memory behind the core's pointers is reached only with its gate held.
    private let core: Unmanaged<SharedSourceCore>

    /// Creates a generator to be shared.
    ///
    /// - Throws: An error if the generator cannot be run.
    package init(_ source: some Generator, slots: Int) throws(RenderLoopError) {
        unsafe core = .passRetained(try SharedSourceCore(source, slots: slots))
    }

    /// Creates another reference to the same generator.
    package init(sharing other: borrowing SharedSource) {
        unsafe core = other.core.retain()
    }

    deinit { unsafe core.release() }

    /// The renderer that the generator runs in.
    package var renderer: Renderer { unsafe core.takeUnretainedValue().renderer }

    /// Makes room for one more place's slices.
    package func prepare(_ preparation: Preparation) { unsafe core.takeUnretainedValue().prepare(preparation) }

    /// Pushes the generator's buffer of this moment.
    @_noLocks @_noAllocation
    package func push(_ context: inout RenderContext) { unsafe pushShared(core, &context) }

    /// Resets the generator before it is rendered next.
    @_noLocks @_noAllocation
    package func reset(_ context: inout RenderContext) { unsafe resetShared(core, &context) }
}

// Rendering is a call that the compiler cannot follow, and does not check: the functions that the renderer calls carry
// the annotations themselves. An object held by `Unmanaged` is called without a count.

@_semantics("no_performance_analysis") @inline(never)
private func pushShared(_ core: Unmanaged<SharedSourceCore>, _ context: inout RenderContext) {
    unsafe core._withUnsafeGuaranteedRef { $0.push(&context) }
}

@_semantics("no_performance_analysis") @inline(never)
private func resetShared(_ core: Unmanaged<SharedSourceCore>, _ context: inout RenderContext) {
    unsafe core._withUnsafeGuaranteedRef { $0.resetSoon() }
}

/// A generator, the renderer that it runs in, and its buffers of this outer slice.
@safe final class SharedSourceCore: @unchecked Sendable {
    // Unchecked because only the thread that holds the gate touches the object behind `keeper`.
    let renderer: Renderer
    private let gate: SharedState<KeptHandle>
    private let keeper: Keeper
    private let largest = Lock(Preparation(sampleRate: 0, maximumFrameCount: 0, maximumChannelCount: 0))

    /// The memory that the renderer's loop uses while the renderer is called, and whether to reset first.
    @safe private final class Keeper: @unchecked Sendable {
        // Unchecked because only the thread that holds the gate touches it.
        let kept: UnsafeMutablePointer<UnsafeMutablePointer<Kept>?>
        let needsReset = Atomic<Bool>(false)
        init() {
            unsafe kept = .allocate(capacity: 1)
            unsafe kept.initialize(to: nil)
        }
        deinit { unsafe kept.deallocate() }
    }

    /// Memory that is reached through a pointer, because the renderer writes to it while it is held.
    @safe private struct KeptHandle: ~Copyable, @unchecked Sendable {
        // Unchecked because the gate lets one thread at a time.
        let kept: UnsafeMutablePointer<Kept>
        init(channels: Int, frames: Int) {
            unsafe kept = .allocate(capacity: 1)
            unsafe kept.initialize(to: Kept(channels: channels, frames: frames))
        }
        deinit {
            unsafe kept.deinitialize(count: 1)
            unsafe kept.deallocate()
        }
    }

    init(_ source: some Generator, slots: Int) throws(RenderLoopError) {
        renderer = Renderer(channels: 1, layout: StackLayout(slots: slots))
        gate = SharedState(KeptHandle(channels: 1, frames: 1))
        keeper = Keeper()
        let keeper = keeper
        try renderer.replaceLoop { context in
            if keeper.needsReset.exchange(false, ordering: .relaxed) { context.reset(source) }
            context.run(source)
            context.isHeardElsewhere()
            if let kept = unsafe keeper.kept.pointee { unsafe kept.pointee.take(context) }
        }
    }

    func prepare(_ preparation: Preparation) {
        let (wanted, hasGrown) = largest.withLock { largest in
            // The outermost renderer's slices may be longer than a place further in knows.
            let frames = max(largest.maximumFrameCount, preparation.maximumFrameCount, 4096)
            let channels = max(largest.maximumChannelCount, preparation.maximumChannelCount)
            let hasGrown = frames > largest.maximumFrameCount || channels > largest.maximumChannelCount
            largest = Preparation(
                sampleRate: preparation.sampleRate, maximumFrameCount: frames, maximumChannelCount: channels)
            return (largest, hasGrown)
        }
        var layout = renderer.layout
        layout.frames = max(layout.frames, preparation.maximumFrameCount)
        layout.channels = wanted.maximumChannelCount
        renderer.configure(sampleRate: wanted.sampleRate, layout: layout)
        if hasGrown {
            gate.replace(with: KeptHandle(channels: wanted.maximumChannelCount, frames: wanted.maximumFrameCount))
        }
    }

    func resetSoon() { keeper.needsReset.store(true, ordering: .relaxed) }

    func push(_ context: inout RenderContext) {
        gate.with(&context) { handle, context in
            let kept = unsafe handle.kept
            unsafe fill(kept, &context)
            unsafe kept.pointee.push(&context)
        }
        // Turned away: silence.
        if context.bufferCount == 0 { context.push(channels: 1) }
    }

    /// Renders the frames that no user of the source has asked for yet in this outer slice.
    private func fill(_ kept: UnsafeMutablePointer<Kept>, _ context: inout RenderContext) {
        let outerSlice = context.outerSlice
        unsafe kept.pointee.begin(outerSlice)
        let missing = unsafe outerSlice.offset &+ context.frameCount &- kept.pointee.end
        guard missing > 0, unsafe outerSlice.offset &+ context.frameCount <= kept.pointee.frameCount else { return }
        let first = unsafe kept.pointee.end &- outerSlice.offset
        let due = context.hostTime &+ RenderTime.nearest(Double(first) * 1e9 / context.sampleRate)
        unsafe keeper.kept.pointee = kept
        unsafe renderer.state.render(
            frames: missing, into: UnsafeBufferPointer(start: nil, count: 0), hostTime: due,
            isOffline: context.isOffline, inside: outerSlice.moved(by: first), followsClock: true,
            beats: context.beatSource(after: first), supply: context.supply(after: first))
        unsafe keeper.kept.pointee = nil
        // If the renderer was busy elsewhere there are fewer frames: silence fills up the rest.
        unsafe kept.pointee.fillUp(to: outerSlice.offset &+ context.frameCount)
    }
}

/// The sound that a shared generator has made in one outer slice.
struct Kept: ~Copyable {
    private var memory: AudioBlock
    private var outerSlice: UInt64 = 0
    private var begin = 0
    /// The number of frames that are kept, counted from the start of the outer slice.
    private(set) var end = 0
    private var channelCount = 1
    /// A frame of the generator's own time, and the frame of the outer slice to which it belongs.
    private var time = RenderTime(sampleTime: 0, hostTime: 0)
    private var timeOffset = 0

    init(channels: Int, frames: Int) { memory = AudioBlock(channels: channels, frames: frames) }

    var frameCount: Int { memory.frameCount }

    /// Forgets another outer slice, and goes to the frame that is asked for: the frames between were never rendered.
    mutating func begin(_ now: OuterSlice) {
        if outerSlice != now.number {
            outerSlice = now.number
            begin = now.offset
            end = now.offset
            channelCount = 1
        } else if end < now.offset {
            fillUp(to: now.offset)
        }
    }

    /// Takes the buffer that the generator has pushed.
    mutating func take(_ context: borrowing RenderContext) {
        let count = min(context.channelCount(), memory.channelCount)
        let frames = min(context.frameCount, memory.frameCount - end)
        guard count > 0, frames > 0 else { return }
        if count > channelCount {
            // The buffer is wider than before in this outer slice: mono goes to every channel, else the new ones were silent.
            for channel in channelCount..<count {
                for i in 0..<end { memory[channel, i] = channelCount == 1 ? memory[0, i] : 0 }
            }
            channelCount = count
        }
        for channel in 0..<channelCount {
            var target = memory[channel, from: end, frames: frames]
            if channel < count || count == 1 {
                let source = context.samples(count == 1 ? 0 : channel)
                for i in target.indices { target[i] = source[i] }
            } else {
                for i in target.indices { target[i] = 0 }
            }
        }
        timeOffset = end
        time = context.topTime
        end += frames
    }

    /// Appends silence up to a frame.
    mutating func fillUp(to frame: Int) {
        let frame = min(frame, memory.frameCount)
        guard frame > end else { return }
        memory.silence(from: end, frames: frame - end)
        end = frame
    }

    /// Pushes the frames that belong to a slice. Frames that were not rendered are silent.
    func push(_ context: inout RenderContext) {
        let offset = context.outerSlice.offset
        context.push(channels: channelCount)
        let first = max(0, begin - offset)
        let last = min(context.frameCount, end - offset)
        let (time, shift) = (time, Int64(offset - timeOffset))
        let rate = context.sampleRate
        var top = context.top
        for channel in 0..<top.channelCount where first < last {
            var target = top[channel]
            let source = memory.samples(channel, from: offset + first, frames: last - first)
            for i in source.indices { target[first + i] = source[i] }
        }
        top.time = RenderTime(
            sampleTime: (time.sampleTime ?? 0).addingSaturated(shift),
            hostTime: (time.hostTime ?? 0).addingSaturated(RenderTime.nearest(Double(shift) * 1e9 / rate)))
    }
}

extension RenderContext {
    /// The time at which the first frame of the top was made.
    var topTime: RenderTime {
        guard let entry = unsafe realEntry(0) else { return time }
        return unsafe RenderTime(sampleTime: entry.pointee.times[0], hostTime: entry.pointee.times[1])
    }
}
