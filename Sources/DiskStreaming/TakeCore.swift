internal import AudioFiles
package import RenderCore
internal import Synchronization

/// The part of a recording that both sides touch.
@safe struct TakeCore: ~Copyable {
    let ring: AudioRing
    /// Indicates whether more than one buffer may belong to a slice: then it is written when the next one begins.
    let isMultiSource: Bool
    /// The flag of the thread that writes; a thread that finds it set does not write.
    let isBusy = Atomic<Bool>(false)
    /// Control code wants no more of it.
    let isClosed = Atomic<Bool>(false)
    /// The render thread has written its last frame.
    let isEnded = Atomic<Bool>(false)
    /// The renderer has got another rate than the file.
    let isCut = Atomic<Bool>(false)
    /// The render thread begins a take, or control code calls it off, whichever comes first.
    private let start = Atomic<UInt8>(TakeCore.waits)
    private static var waits: UInt8 { @_noLocks @_noAllocation get { 0 } }
    private static var begun: UInt8 { @_noLocks @_noAllocation get { 1 } }
    private static var calledOff: UInt8 { @_noLocks @_noAllocation get { 2 } }
    var hasBegun: Bool { @_noLocks @_noAllocation get { start.load(ordering: .acquiring) == TakeCore.begun } }
    /// Frames that were heard, those that found no room in the ring included.
    let frames = Atomic<Int64>(0)
    let sampleTime = Atomic<Int64>(0)
    let hostTime = Atomic<Int64>(0)
    let isHeld = Atomic<Bool>(false)
    let cues = Atomic<Int>(0)
    /// The side that a take belongs to that was prepared for either.
    let claim = Atomic<UInt8>(TakeCore.free)
    static var free: UInt8 { @_noLocks @_noAllocation get { 0 } }
    static var renders: UInt8 { @_noLocks @_noAllocation get { 1 } }
    static var controls: UInt8 { @_noLocks @_noAllocation get { 2 } }

    /// Gives the take to one side. Returns whether it was free.
    @_noLocks @_noAllocation
    func claim(for side: UInt8) -> Bool {
        claim.compareExchange(expected: TakeCore.free, desired: side, ordering: .acquiringAndReleasing).exchanged
    }

    /// A slice on its way into the ring. Only the thread that has `isBusy` may touch it, and the pointer to it. It has
    /// memory of its own, because changing a part of a value takes exclusive access to all of it, and the ring has a
    /// second thread.
    var mix: UnsafeMutablePointer<Mix> { unsafe current.load(ordering: .relaxed) }
    private let current: Atomic<UnsafeMutablePointer<Mix>>
    /// The address of a mix with more room, for the thread that writes next; 0 for none.
    private let larger = Atomic<UInt>(0)

    @safe struct Mix: ~Copyable {
        /// The mix that this one has replaced. It is kept to the end: the render thread frees nothing.
        var before: UnsafeMutablePointer<Mix>?
        var block: AudioBlock
        var interval: Int64 = .min
        var from = 0
        var to = 0
    }

    init(ring: consuming AudioRing, frames: Int, isMultiSource: Bool) {
        unsafe current = Atomic(TakeCore.makeMix(channels: ring.channelCount, frames: frames))
        self.ring = ring
        self.isMultiSource = isMultiSource
    }

    deinit {
        TakeCore.release(larger.load(ordering: .acquiring))
        var next: UnsafeMutablePointer<Mix>? = unsafe mix
        while let mix = unsafe next {
            unsafe next = mix.pointee.before
            TakeCore.release(UInt(bitPattern: mix))
        }
    }

    private static func makeMix(channels: Int, frames: Int) -> UnsafeMutablePointer<Mix> {
        let mix = UnsafeMutablePointer<Mix>.allocate(capacity: 1)
        unsafe mix.initialize(to: Mix(before: nil, block: AudioBlock(channels: channels, frames: frames)))
        return unsafe mix
    }

    private static func release(_ address: UInt) {
        guard let mix = unsafe UnsafeMutablePointer<Mix>(bitPattern: address) else { return }
        unsafe mix.deinitialize(count: 1)
        unsafe mix.deallocate()
    }

    /// Makes room for slices of so many frames. On the control side; the render thread takes the new memory with its
    /// next slice.
    func makeRoom(_ frames: Int) {
        let mix = unsafe TakeCore.makeMix(channels: ring.channelCount, frames: frames)
        let address = UInt(bitPattern: mix)
        TakeCore.release(larger.exchange(address, ordering: .acquiringAndReleasing))
    }

    /// On the render thread. Returns whether it has begun the take: not if control code has called it off.
    @_noLocks @_noAllocation
    func begin() -> Bool {
        start.compareExchange(expected: TakeCore.waits, desired: TakeCore.begun, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// On the control side. Returns whether it has called the take off: not if the render thread has begun it.
    func callOff() -> Bool {
        start.compareExchange(expected: TakeCore.waits, desired: TakeCore.calledOff, ordering: .acquiringAndReleasing)
            .original != TakeCore.begun
    }

    /// Takes the larger room, when the frames of the old one are in the ring. On the thread that writes.
    @_noLocks @_noAllocation
    func takeLarger() {
        if larger.load(ordering: .relaxed) == 0 { return }
        let address = larger.exchange(0, ordering: .acquiring)
        guard let mix = unsafe UnsafeMutablePointer<Mix>(bitPattern: address) else { return }
        unsafe mix.pointee.before = current.load(ordering: .relaxed)
        unsafe current.store(mix, ordering: .relaxed)
    }

    @_noLocks @_noAllocation
    func enter() -> Bool { !isBusy.exchange(true, ordering: .acquiring) }

    @_noLocks @_noAllocation
    func leave() { isBusy.store(false, ordering: .releasing) }

    /// Writes the frames that wait. Frames without room are missing in the ring, but their place in time is kept.
    @_noLocks @_noAllocation
    func flush() {
        let (from, to) = unsafe (mix.pointee.from, mix.pointee.to)
        if to > from {
            let first = frames.load(ordering: .relaxed)
            unsafe ring.write(mix.pointee.block, from: from, frames: to &- from, time: .sample(first))
            frames.store(first &+ Int64(to &- from), ordering: .releasing)
        }
        unsafe mix.pointee.from = 0
        unsafe mix.pointee.to = 0
    }
}

/// A take as the render thread knows it: it may be used while a ``DiskCue`` leads to it, and from ``begin(at:)`` to
/// ``end()``.
@safe package struct TakeReference: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because only the thread that has the core's busy flag touches the parts that are not atomic.
    let core: UnsafeMutablePointer<TakeCore>

    /// Returns whether this is the same take.
    @_noLocks @_noAllocation
    package func isSame(as other: TakeReference) -> Bool { unsafe core == other.core }

    /// Returns whether the take can be begun at a sample rate.
    @_noLocks @_noAllocation
    package func isReady(at rate: Double) -> Bool { !hasBegun && !isClosed && sampleRate == rate }

    /// Reserves a take that was prepared, for the render thread. Returns whether nobody else has.
    @_noLocks @_noAllocation
    package func reserve() -> Bool { unsafe core.pointee.claim(for: TakeCore.renders) }

    /// Gives a take back that was reserved, and has not begun.
    @_noLocks @_noAllocation
    package func unreserve() { unsafe core.pointee.claim.store(TakeCore.free, ordering: .releasing) }

    /// Begins the recording. On the render thread. Returns whether it has begun: control code may have called it off.
    @_noLocks @_noAllocation
    package func begin(at time: RenderTime) -> Bool {
        unsafe core.pointee.isHeld.store(true, ordering: .relaxed)
        unsafe core.pointee.sampleTime.store(time.sampleTime ?? 0, ordering: .relaxed)
        unsafe core.pointee.hostTime.store(time.hostTime ?? 0, ordering: .relaxed)
        if unsafe core.pointee.begin() { return true }
        unsafe core.pointee.isHeld.store(false, ordering: .releasing)
        return false
    }

    /// Frames per second of the file.
    package var sampleRate: Double {
        @_noLocks @_noAllocation get { unsafe core.pointee.ring.sampleRate }
    }

    /// Indicates whether a render thread has recorded the take before.
    package var hasBegun: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.hasBegun }
    }

    /// Ends the recording: the render thread has heard its last frame, and does not touch it any more.
    @_noLocks @_noAllocation
    package func end() {
        if unsafe core.pointee.enter() {
            if unsafe !core.pointee.isClosed.load(ordering: .acquiring) { unsafe core.pointee.flush() }
            unsafe core.pointee.leave()
        }
        unsafe core.pointee.isEnded.store(true, ordering: .releasing)
        unsafe core.pointee.isHeld.store(false, ordering: .releasing)
    }

    /// Ends the recording because the renderer has got another rate.
    @_noLocks @_noAllocation
    package func cut() {
        unsafe core.pointee.isCut.store(true, ordering: .releasing)
        end()
    }

    /// Indicates whether control code has closed it.
    package var isClosed: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.isClosed.load(ordering: .acquiring) }
    }

    /// Hears frames of the top.
    ///
    /// - Parameters:
    ///   - context: The top is not changed.
    ///   - first: The first frame of the slice that belongs to the take, if this is the slice's first buffer.
    ///   - end: The frame behind the last.
    @_noLocks @_noAllocation
    package func hear(_ context: borrowing RenderContext, from first: Int, to end: Int) {
        guard end > first, unsafe core.pointee.enter() else { return }
        if unsafe !core.pointee.isClosed.load(ordering: .acquiring) {
            var mix = unsafe core.pointee.mix
            let isNew = unsafe mix.pointee.interval != context.sampleTime || mix.pointee.to == 0
            if isNew {
                unsafe core.pointee.flush()
                unsafe core.pointee.takeLarger()
                unsafe mix = core.pointee.mix
            }
            if unsafe end > mix.pointee.block.frameCount {
                unsafe core.pointee.leave()
                return
            }
            if isNew {
                unsafe mix.pointee.interval = context.sampleTime
                unsafe mix.pointee.from = first
                unsafe mix.pointee.to = end
            }
            let last = unsafe end < mix.pointee.to ? end : mix.pointee.to
            add(context, from: first, to: last, isNew: isNew)
            if unsafe !core.pointee.isMultiSource { unsafe core.pointee.flush() }
        }
        unsafe core.pointee.leave()
    }

    /// Channels that the buffer has not repeat its last one; one channel is the sum of all.
    @_noLocks @_noAllocation
    private func add(_ context: borrowing RenderContext, from first: Int, to end: Int, isNew: Bool) {
        let count = context.channelCount()
        let channels = unsafe core.pointee.ring.channelCount
        var channel = 0
        while channel < channels {
            add(context.samples(channel < count ? channel : count &- 1), channel, first, end, isNew)
            channel &+= 1
        }
        while channels == 1 && channel < count {
            add(context.samples(channel), 0, first, end, false)
            channel &+= 1
        }
    }

    @_noLocks @_noAllocation
    private func add(_ samples: borrowing Samples, _ channel: Int, _ first: Int, _ end: Int, _ isNew: Bool) {
        var target = unsafe core.pointee.mix.pointee.block[channel]
        var i = first
        if isNew {
            while i < end {
                target[i] = samples[i]
                i &+= 1
            }
        } else {
            while i < end {
                target[i] += samples[i]
                i &+= 1
            }
        }
    }
}
