internal import RenderCore
internal import Synchronization

/// Frames of a file on their way to the render thread: a ring, which the I/O thread fills and the render thread empties
/// once, from its first frame to its last.
@safe package final class DiskStream: @unchecked Sendable {
    // Unchecked because the core is made of atomics and rings, and the filler is used under its lock.
    private let core: UnsafeMutablePointer<StreamCore>
    private let filler: Lock<StreamFiller>
    /// What it reads.
    package let file: StreamFile
    private static let ids = Atomic<Int>(0)

    /// A stream with an empty ring.
    ///
    /// - Parameters:
    ///   - file: what it reads.
    ///   - geometry: which frames of it.
    ///   - channels: channels of the ring; the file's meet them by the rule of `AudioBlock`.
    ///   - sampleRate: frames per second of the ring.
    ///   - seconds: how much the ring holds.
    package init(
        _ file: StreamFile, _ geometry: StreamGeometry, channels: Int, sampleRate: Double, seconds: Double
    ) {
        self.file = file
        let frames = min(Int64((seconds * sampleRate).rounded(.up)), max(1, geometry.end))
        let isPairs = file.hasPairs && channels == 2 && geometry.isAtRate
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: StreamCore(
                id: Self.ids.wrappingAdd(1, ordering: .relaxed).newValue, geometry: geometry,
                ring: AudioRing(frames: max(1, Int(frames)), channels: isPairs ? 1 : channels, sampleRate: sampleRate),
                isPairs: isPairs))
        filler = Lock(StreamFiller(file, geometry, outputRate: sampleRate, isPairs: isPairs))
    }

    deinit {
        unsafe core.deinitialize(count: 1)
        unsafe core.deallocate()
    }

    /// For the render thread. See there for how long it may be used.
    package var reference: StreamReference { unsafe StreamReference(core: core) }

    /// No two streams have the same.
    package var id: Int { unsafe core.pointee.id }
    /// Which frames of the file it gives.
    package var geometry: StreamGeometry { unsafe core.pointee.geometry }
    /// Whether the render thread has begun to read it.
    package var wasBegun: Bool { unsafe core.pointee.wasBegun.load(ordering: .acquiring) }
    /// Whether the render thread has it in hand, or can find a cue that leads to it.
    package var isInUse: Bool {
        // The cues first: whoever has followed the last one has said so before it went.
        unsafe core.pointee.cues.load(ordering: .acquiring) > 0 || core.pointee.isHeld.load(ordering: .acquiring)
    }

    func countCue(_ change: Int) { unsafe core.pointee.cues.wrappingAdd(change, ordering: .acquiringAndReleasing) }

    /// Reads from the disk into the ring: so many frames, or what there is room for. From any thread that may wait.
    ///
    /// - Returns: how many frames were moved.
    @discardableResult
    package func fill(frames: Int = .max) -> Int {
        filler.withLock { unsafe $0.fill(core.pointee, frames: frames) }
    }

    /// Reads until the ring has so many frames from the one that is wanted on, or all that there are.
    package func fill(atLeast frames: Int) {
        filler.withLock { filler in
            let last = unsafe core.pointee.wanted.load(ordering: .acquiring) &+ Int64(frames)
            let chunk = StreamFiller.chunk
            while !filler.isDone && filler.written < last, unsafe filler.fill(core.pointee, frames: chunk) > 0 {}
        }
    }

    /// What kept it from reading on. Told once.
    package func takeFailure() -> AudioFileError? { filler.withLock { $0.takeFailure() } }

    /// Has another stream go on where this one ends, if the region is to be heard again.
    package func setAgain(_ stream: DiskStream) { unsafe core.pointee.again.set(StreamCue(stream)) }

    /// Has another stream be heard after the last pass; none where there is none.
    package func setNext(_ stream: DiskStream?) {
        if let stream {
            unsafe core.pointee.next.set(StreamCue(stream))
        } else {
            unsafe core.pointee.next.set(StreamCue.none)
        }
    }
}
