package import RenderCore
internal import Synchronization

/// What both sides of a recording touch.
@safe struct TakeCore: ~Copyable {
    let ring: AudioRing
    /// Whether more than one buffer may belong to a slice: then it is written when the next one begins.
    let isMultiSource: Bool
    /// Taken by whoever writes; who finds it taken does not.
    let isBusy = Atomic<Bool>(false)
    /// Control code wants no more of it.
    let isClosed = Atomic<Bool>(false)
    /// The render thread has written its last frame.
    let isEnded = Atomic<Bool>(false)
    let hasBegun = Atomic<Bool>(false)
    /// Frames that were heard, those that found no room in the ring included.
    let frames = Atomic<Int64>(0)
    let sampleTime = Atomic<Int64>(0)
    let hostTime = Atomic<Int64>(0)
    let isHeld = Atomic<Bool>(false)
    let cues = Atomic<Int>(0)

    /// A slice on its way into the ring. Who has `isBusy` may touch it. In memory of its own, because to change a part of
    /// a value is to have all of it, and the ring has a second thread.
    let mix: UnsafeMutablePointer<Mix>

    struct Mix: ~Copyable {
        var block: AudioBlock
        var interval: Int64 = .min
        var from = 0
        var to = 0
    }

    init(ring: consuming AudioRing, frames: Int, isMultiSource: Bool) {
        unsafe mix = .allocate(capacity: 1)
        unsafe mix.initialize(to: Mix(block: AudioBlock(channels: ring.channelCount, frames: frames)))
        self.ring = ring
        self.isMultiSource = isMultiSource
    }

    deinit {
        unsafe mix.deinitialize(count: 1)
        unsafe mix.deallocate()
    }

    @_noLocks @_noAllocation
    func enter() -> Bool { !isBusy.exchange(true, ordering: .acquiring) }

    @_noLocks @_noAllocation
    func leave() { isBusy.store(false, ordering: .releasing) }

    /// Writes what waits. What finds no room is missing in the ring, and its place in time is not.
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

/// A take as the render thread knows it: it may be used while a ``TakeCue`` leads to it, and from ``begin(at:)`` to
/// ``end()``.
@safe package struct TakeReference: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because what is not atomic in the core is touched by who has its busy flag.
    let core: UnsafeMutablePointer<TakeCore>

    /// Whether this is the same take.
    @_noLocks @_noAllocation
    package func isSame(as other: TakeReference) -> Bool { unsafe core == other.core }

    /// The render thread begins to record it.
    @_noLocks @_noAllocation
    package func begin(at time: RenderTime) {
        unsafe core.pointee.isHeld.store(true, ordering: .relaxed)
        unsafe core.pointee.sampleTime.store(time.sampleTime ?? 0, ordering: .relaxed)
        unsafe core.pointee.hostTime.store(time.hostTime ?? 0, ordering: .relaxed)
        unsafe core.pointee.hasBegun.store(true, ordering: .releasing)
    }

    /// Whether somebody has recorded it before.
    package var hasBegun: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.hasBegun.load(ordering: .relaxed) }
    }

    /// The render thread has heard its last frame, and does not touch it any more.
    @_noLocks @_noAllocation
    package func end() {
        if unsafe core.pointee.enter() {
            if unsafe !core.pointee.isClosed.load(ordering: .acquiring) { unsafe core.pointee.flush() }
            unsafe core.pointee.leave()
        }
        unsafe core.pointee.isEnded.store(true, ordering: .releasing)
        unsafe core.pointee.isHeld.store(false, ordering: .releasing)
    }

    /// Whether control code has closed it.
    package var isClosed: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.isClosed.load(ordering: .acquiring) }
    }

    /// Hears frames of the top.
    ///
    /// - Parameters:
    ///   - context: the top is not changed.
    ///   - first: the first frame of the slice that belongs to the take, if this is the slice's first buffer.
    ///   - end: the frame behind the last.
    @_noLocks @_noAllocation
    package func hear(_ context: borrowing RenderContext, from first: Int, to end: Int) {
        guard end > first, unsafe core.pointee.enter() else { return }
        let room = unsafe core.pointee.mix.pointee.block.frameCount
        if unsafe !core.pointee.isClosed.load(ordering: .acquiring) && end <= room {
            let mix = unsafe core.pointee.mix
            let isNew = unsafe mix.pointee.interval != context.sampleTime || mix.pointee.to == 0
            if isNew {
                unsafe core.pointee.flush()
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

/// A take on its way to the render thread: as long as the cue can be read, the take is there.
package struct TakeCue: ~Copyable, Sendable {
    /// Which command this is: later ones have greater numbers.
    package let number: Int
    /// When.
    package let time: RenderTime
    /// The take; none in a cue that stands for nothing.
    package let reference: TakeReference?
    private let take: DiskTake?

    /// A cue that leads to a take.
    package init(_ take: DiskTake, number: Int, time: RenderTime) {
        self.number = number
        self.time = time
        self.take = take
        reference = take.reference
        take.countCue(1)
    }

    private init() {
        number = 0
        time = .immediately
        take = nil
        reference = nil
    }

    /// A cue that leads nowhere.
    package static var none: TakeCue { TakeCue() }

    deinit { take?.countCue(-1) }
}
