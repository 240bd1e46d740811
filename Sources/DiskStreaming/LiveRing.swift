internal import Glibc
package import RenderCore
internal import Synchronization

/// Frames of a stream that arrives bit by bit, on their way to the render thread.
@safe package final class LiveRing: @unchecked Sendable {
    // Unchecked because the core is made of constants, atomics and a ring.
    private let core: UnsafeMutablePointer<LiveCore>

    /// Creates an empty ring.
    ///
    /// - Parameters:
    ///   - number: The number of the start for which it is made.
    ///   - frames: Frames that it has room for.
    ///   - channels: The number of channels.
    ///   - sampleRate: Frames per second.
    ///   - needed: Frames that must have come before they are heard.
    package init(number: Int, frames: Int, channels: Int, sampleRate: Double, needed: Int) {
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: LiveCore(
                number: number, sampleRate: sampleRate, needed: max(1, min(needed, frames / 2)),
                ring: AudioRing(frames: max(2, frames), channels: channels, sampleRate: sampleRate, blocks: 64)))
    }

    deinit {
        unsafe core.deinitialize(count: 1)
        unsafe core.deallocate()
    }

    /// For the render thread, while a ``LiveCue`` with this ring is shown.
    package var reference: LiveReference { unsafe LiveReference(core: core) }

    /// The number of the start for which it was made.
    package var number: Int { unsafe core.pointee.number }
    /// Frames per second.
    package var sampleRate: Double { unsafe core.pointee.sampleRate }
    /// The number of frames that must have come before they are heard.
    package var needed: Int { unsafe core.pointee.needed }
    /// The number of frames that wait.
    package var count: Int { unsafe core.pointee.ring.availableFrames }
    /// Indicates whether no frame comes any more behind those that are there.
    package var isOver: Bool { unsafe core.pointee.isOver.load(ordering: .acquiring) }
    /// Indicates whether the render thread is through with it.
    package var isDone: Bool { unsafe core.pointee.isDone.load(ordering: .acquiring) }
    /// Indicates whether frames of it are heard.
    package var isSounding: Bool { unsafe core.pointee.isSounding.load(ordering: .relaxed) }
    /// The number of frames that the render thread has taken.
    package var takenCount: Int64 { unsafe core.pointee.taken.load(ordering: .acquiring) }
    /// The number of times that the render thread ran dry.
    package var driedCount: Int { unsafe core.pointee.dried.load(ordering: .relaxed) }
    /// The number of times that it went on.
    package var resumedCount: Int { unsafe core.pointee.resumed.load(ordering: .relaxed) }

    /// The number of frames that have room.
    var room: Int { unsafe core.pointee.ring.freeFrames }
    /// The number of frames that have come.
    var writtenCount: Int64 { unsafe core.pointee.written.load(ordering: .relaxed) }

    /// Adds frames, which must have room. On the stream's thread.
    func write(_ block: borrowing AudioBlock, frames: Int) {
        let first = writtenCount
        unsafe core.pointee.ring.write(block, frames: frames, time: .sample(first))
        unsafe core.pointee.written.store(first &+ Int64(frames), ordering: .releasing)
    }

    /// Says that no frame comes any more.
    func end() { unsafe core.pointee.isOver.store(true, ordering: .releasing) }

    /// Has the render thread fall silent.
    func stop() { unsafe core.pointee.isStopped.store(true, ordering: .releasing) }

    /// Marks a ring that is not to be heard.
    func markDone() { unsafe core.pointee.isDone.store(true, ordering: .releasing) }

    /// Waits a moment for the other side. Not on a live render thread.
    package static func rest() {
        var time = timespec(tv_sec: 0, tv_nsec: 2_000_000)
        unsafe nanosleep(&time, nil)
    }
}

/// The part of a ring that both sides touch.
@safe struct LiveCore: ~Copyable, Sendable {
    let number: Int
    let sampleRate: Double
    let needed: Int
    let ring: AudioRing
    let written = Atomic<Int64>(0)
    let taken = Atomic<Int64>(0)
    let dried = Atomic<Int>(0)
    let resumed = Atomic<Int>(0)
    let isOver = Atomic<Bool>(false)
    let isStopped = Atomic<Bool>(false)
    let isDone = Atomic<Bool>(false)
    let isSounding = Atomic<Bool>(false)

    init(number: Int, sampleRate: Double, needed: Int, ring: consuming AudioRing) {
        (self.number, self.sampleRate, self.needed) = (number, sampleRate, needed)
        self.ring = ring
    }
}

/// A ring as the render thread knows it.
@safe package struct LiveReference: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the pointer leads to atomics, a ring with one consumer, and constants.
    let core: UnsafeMutablePointer<LiveCore>

    /// The number of the start.
    package var number: Int { @_noLocks @_noAllocation get { unsafe core.pointee.number } }
    /// Frames per second.
    package var sampleRate: Double { @_noLocks @_noAllocation get { unsafe core.pointee.sampleRate } }
    /// The number of frames that must have come before they are heard.
    package var needed: Int { @_noLocks @_noAllocation get { unsafe core.pointee.needed } }
    /// Indicates whether control code has stopped it.
    package var isStopped: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.isStopped.load(ordering: .acquiring) }
    }
    /// Indicates whether no frame comes any more. It is asked before ``count``.
    package var isOver: Bool { @_noLocks @_noAllocation get { unsafe core.pointee.isOver.load(ordering: .acquiring) } }
    /// The number of frames that wait.
    package var count: Int { @_noLocks @_noAllocation get { unsafe core.pointee.ring.availableFrames } }

    /// Says that frames are heard from now on; that they go on, if they were heard before.
    @_noLocks @_noAllocation
    package func begin(again: Bool) {
        if again { unsafe core.pointee.resumed.wrappingAdd(1, ordering: .relaxed) }
        unsafe core.pointee.isSounding.store(true, ordering: .relaxed)
    }

    /// Says that no frames are there.
    @_noLocks @_noAllocation
    package func runDry() {
        unsafe core.pointee.isSounding.store(false, ordering: .relaxed)
        unsafe core.pointee.dried.wrappingAdd(1, ordering: .relaxed)
    }

    /// Says that the render thread is through with it.
    @_noLocks @_noAllocation
    package func end() {
        unsafe core.pointee.isSounding.store(false, ordering: .relaxed)
        unsafe core.pointee.isDone.store(true, ordering: .releasing)
    }

    /// Copies frames into the top of the stack, which has as many channels, and takes them out of the ring.
    ///
    /// - Returns: The number of frames, fewer if there are no more.
    @_noLocks @_noAllocation
    package func read(_ frames: Int, into context: inout RenderContext) -> Int {
        var top = context.top
        var done = 0
        let first = unsafe core.pointee.taken.load(ordering: .relaxed)
        while done < frames {
            let count = unsafe core.pointee.ring.read(
                at: first &+ Int64(done), frames: frames &- done, into: &top, at: done)
            if count == 0 { break }
            done &+= count
        }
        unsafe core.pointee.taken.store(first &+ Int64(done), ordering: .releasing)
        return done
    }
}

/// A ring on its way to the render thread, in a `ManagedValue`.
package struct LiveCue: ~Copyable, Sendable {
    /// The ring.
    package let reference: LiveReference
    private let ring: LiveRing

    /// Creates the cue of a ring.
    package init(_ ring: LiveRing) { (reference, self.ring) = (ring.reference, ring) }
}
