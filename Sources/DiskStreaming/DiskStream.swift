package import AudioFiles
internal import RenderCore
internal import Synchronization

/// Frames of a file on their way to the render thread: a ring, which the I/O thread fills and the render thread empties
/// once, from its first frame to its last.
@safe package final class DiskStream: @unchecked Sendable {
    // Unchecked because the core is made of atomics and rings, and the filler is used under its lock.
    private let core: UnsafeMutablePointer<StreamCore>
    private let filler: Lock<StreamFiller>
    /// The file that the stream reads.
    package let file: StreamFile
    /// Frames per second of the ring.
    package let sampleRate: Double
    /// The change of tempo and pitch on the way.
    package let stretch: StreamStretch
    private let isQueued = Atomic<Bool>(false)
    private static let ids = Atomic<Int>(0)
    private static let mostSamples = 1 << 26

    /// Creates a stream with an empty ring.
    ///
    /// - Parameters:
    ///   - file: The file to read.
    ///   - geometry: The frames of the file.
    ///   - channels: Channels of the ring; the file's meet them by the rule of `AudioBlock`.
    ///   - sampleRate: Frames per second of the ring.
    ///   - seconds: The length of the ring in seconds.
    ///   - stretch: The change of tempo and pitch; the geometry has the tempo too.
    package init(
        _ file: StreamFile, _ geometry: StreamGeometry, channels: Int, sampleRate: Double, seconds: Double,
        stretch: StreamStretch = StreamStretch()
    ) {
        self.file = file
        self.sampleRate = sampleRate
        self.stretch = stretch
        // A quarter of a gigabyte is enough for any: 64 channels at 1 MHz would take sixty times as much in a minute.
        let room = Int64(DiskStream.mostSamples / channels)
        let frames = min(Int64((seconds * sampleRate).rounded(.up)), max(1, geometry.end), room)
        let isPairs = file.hasPairs && channels == 2 && geometry.isAtRate && stretch.isNone
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: StreamCore(
                id: Self.ids.wrappingAdd(1, ordering: .relaxed).newValue,
                file: UInt(bitPattern: ObjectIdentifier(file)), geometry: geometry,
                ring: AudioRing(
                    frames: max(1, Int(frames)), channels: isPairs ? 1 : channels, sampleRate: sampleRate, blocks: 256),
                isPairs: isPairs))
        filler = Lock(StreamFiller(file, geometry, outputRate: sampleRate, isPairs: isPairs, stretch), .stream)
    }

    deinit {
        unsafe core.deinitialize(count: 1)
        unsafe core.deallocate()
    }

    /// For the render thread. See there for how long it may be used.
    package var reference: StreamReference { unsafe StreamReference(core: core) }

    /// The number of the stream, which no other one has.
    package var id: Int { unsafe core.pointee.id }
    /// The frames of the file that the stream gives.
    package var geometry: StreamGeometry { unsafe core.pointee.geometry }
    /// Indicates whether the render thread has begun to read the stream.
    package var wasBegun: Bool { unsafe core.pointee.wasBegun.load(ordering: .acquiring) }
    /// Indicates whether the render thread has the stream in hand, or can find a cue that leads to it.
    package var isInUse: Bool {
        // The cues come first: a thread that has followed the last one has said so before the cue went.
        unsafe core.pointee.cues.load(ordering: .acquiring) > 0 || core.pointee.isHeld.load(ordering: .acquiring)
    }

    func countCue(_ change: Int) { unsafe core.pointee.cues.wrappingAdd(change, ordering: .acquiringAndReleasing) }

    /// Reads from the disk into the ring: so many frames, or as many as there is room for. From any thread that may
    /// wait.
    ///
    /// - Returns: The number of frames that were moved.
    @discardableResult
    package func fill(frames: Int = .max) -> Int {
        filler.withLock { unsafe $0.fill(core.pointee, frames: frames) }
    }

    /// Frames in the ring, or about to be, beyond the one that is wanted.
    var ahead: Int64 {
        unsafe core.pointee.written.load(ordering: .relaxed) &- core.pointee.wanted.load(ordering: .relaxed)
    }

    /// Marks the stream as one that waits for a thread to fill it, if there is something to do and it does not wait yet.
    func enqueue() -> Bool {
        let isOver = unsafe core.pointee.written.load(ordering: .relaxed) >= core.pointee.end.load(ordering: .relaxed)
        let room = unsafe Int64(core.pointee.ring.capacity) &- ahead
        if isOver || room < min(2_048, unsafe Int64(core.pointee.ring.capacity / 2)) { return false }
        return !isQueued.exchange(true, ordering: .relaxed)
    }

    func dequeue() { isQueued.store(false, ordering: .relaxed) }

    /// Reads until the ring has so many frames from the one that is wanted on, or all that there are.
    package func fill(atLeast frames: Int) {
        filler.withLock { filler in
            let last = unsafe core.pointee.wanted.load(ordering: .acquiring) &+ Int64(frames)
            // Stretched frames take longer than read ones, so that fewer are made at once.
            let chunk = stretch.isNone ? StreamFiller.chunk : 1_024
            while !filler.isDone && filler.written < last, unsafe filler.fill(core.pointee, frames: chunk) > 0 {}
        }
    }

    /// Returns the error that kept the stream from reading on: once.
    package func takeFailure() -> AudioFileError? { filler.withLock { $0.takeFailure() } }

    /// Has another stream go on where this one ends, if the region is to be heard again.
    package func setAgain(_ stream: DiskStream) { unsafe core.pointee.again.set(StreamCue(stream)) }

    /// Has another stream be heard after the last pass; none if there is none.
    package func setNext(_ stream: DiskStream?) {
        if let stream {
            unsafe core.pointee.next.set(StreamCue(stream))
        } else {
            unsafe core.pointee.next.set(StreamCue.none)
        }
    }
}
