package import RenderCore
internal import Synchronization

/// Holds the buffers of one branch back by a number of frames, which control code may change while they are heard.
///
/// Another number of frames is taken up as soon as so many have been heard, by a crossfade of 5 ms between the two, so
/// that there is no step. The first number counts at once.
@safe package struct LatencyDelay: ~Copyable, @unchecked Sendable {
    // Unchecked because only the thread that has set `isBusy` touches the line, and a ring on its way belongs to the
    // side that has taken it out of its place.
    private let shared: UnsafeMutablePointer<Shared>
    /// Apart from what both sides share, because the control side reads that while this is changed.
    private let line: UnsafeMutablePointer<DelayedLine>

    @safe private struct Shared: ~Copyable {
        /// The number of frames by which the branch is to be held back.
        let wanted = Atomic<Int>(0)
        /// The address of a larger ring, on its way to the render thread.
        let offered = Atomic<UInt>(0)
        /// The rings that the render thread has put others in the place of.
        let returned = HandOverList()
        let isBusy = Atomic<Bool>(false)
        let holders = Atomic<Int>(1)
        /// The frames, channels and slice that the newest ring has room for.
        let room = Lock((frames: 0, channels: 0, slice: 0), .part)

        init() {}

        deinit {
            SentRing.freeAll(from: returned.takeAll())
            SentRing.freeAll(from: offered.load(ordering: .acquiring))
        }
    }

    /// Creates a branch that is not held back.
    package init() {
        unsafe shared = .allocate(capacity: 1)
        unsafe shared.initialize(to: Shared())
        unsafe line = .allocate(capacity: 1)
        unsafe line.initialize(to: DelayedLine())
    }

    /// Creates another reference to the same branch.
    package init(sharing other: borrowing LatencyDelay) {
        unsafe shared = other.shared
        unsafe line = other.line
        unsafe shared.pointee.holders.wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
        if unsafe shared.pointee.holders.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            unsafe line.deinitialize(count: 1)
            unsafe line.deallocate()
            unsafe shared.deinitialize(count: 1)
            unsafe shared.deallocate()
        }
    }

    /// The most frames that a branch is held back: some ten seconds. More would take more memory than a mistake should.
    package static var limit: Int { 1 << 19 }

    /// The number of frames by which the branch is held back, or is about to be.
    package var frames: Int { unsafe shared.pointee.wanted.load(ordering: .relaxed) }

    /// Sets how many frames it is held back. On the control side.
    ///
    /// - Parameters:
    ///   - frames: 0…``limit``, and held to that.
    ///   - preparation: The sizes of slices and buffers.
    package func hold(_ frames: Int, for preparation: Preparation) {
        let frames = max(0, min(frames, Self.limit))
        let (channels, slice) = (preparation.maximumChannelCount, preparation.maximumFrameCount)
        unsafe shared.pointee.room.withLock { room in
            SentRing.freeAll(from: unsafe shared.pointee.returned.takeAll())
            let isLarger = frames > room.frames || channels > room.channels || slice > room.slice
            if isLarger && (frames > 0 || room.frames > 0) {
                while room.frames < max(frames, 4_096) { room.frames = max(4_096, room.frames * 2) }
                room.channels = max(room.channels, channels)
                room.slice = max(room.slice, slice)
                let ring = unsafe SentRing.make(room.channels, frames: room.frames, slice: room.slice)
                // A ring that the render thread has not taken is of no use any more.
                SentRing.freeAll(
                    from: unsafe shared.pointee.offered.exchange(
                        UInt(bitPattern: ring), ordering: .acquiringAndReleasing))
            }
        }
        unsafe shared.pointee.wanted.store(frames, ordering: .releasing)
    }

    /// Holds a buffer back. On the render thread, once per slice.
    ///
    /// - Parameters:
    ///   - index: The index of the buffer, from the top, which is 0.
    ///   - hasEnded: `true` if the branch is silent, and the buffer is for sound that is still held back.
    @_noLocks @_noAllocation
    package func process(_ context: inout RenderContext, at index: Int = 0, hasEnded: Bool = false) {
        guard enter(context) else { return }
        let wanted = unsafe shared.pointee.wanted.load(ordering: .acquiring)
        if unsafe shared.pointee.offered.load(ordering: .relaxed) != 0 { takeRing() }
        unsafe line.pointee.process(&context, at: index, wanted: wanted, hasEnded: hasEnded)
        leave()
    }

    /// Channels of the buffer that is to be pushed, silent, for sound that is still held back after the branch has
    /// ended; 0 if there is none. On the render thread.
    @_noLocks @_noAllocation
    package func channelsLeft(_ context: borrowing RenderContext) -> Int {
        guard enter(context) else { return 0 }
        let channels = unsafe line.pointee.channelsLeft
        leave()
        return channels
    }

    /// Forgets the sound that is held back. On the render thread.
    @_noLocks @_noAllocation
    package func reset(_ context: borrowing RenderContext) {
        guard enter(context) else { return }
        unsafe line.pointee.reset()
        leave()
    }

    @_noLocks @_noAllocation
    private func enter(_ context: borrowing RenderContext) -> Bool {
        if context.isDryRun { return false }
        if unsafe !shared.pointee.isBusy.exchange(true, ordering: .acquiring) { return true }
        context.fault(.foreignState, .state, wanted: 0, found: 0)
        return false
    }

    @_noLocks @_noAllocation
    private func leave() { unsafe shared.pointee.isBusy.store(false, ordering: .releasing) }

    /// Goes on with a larger ring, and the frames of the old one.
    @_noLocks @_noAllocation
    private func takeRing() {
        guard let new = unsafe SentRing.at(shared.pointee.offered.exchange(0, ordering: .acquiring)) else { return }
        guard let old = unsafe line.pointee.goOn(in: new) else { return }
        unsafe shared.pointee.returned.add(UInt(bitPattern: old), link: &old.pointee.next)
    }
}
