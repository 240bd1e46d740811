package import AudioFiles
internal import Background
internal import RenderCore
internal import Sharing
internal import Synchronization

/// Frames of a file on their way to the render thread: a ring, which the I/O thread fills and the render thread empties
/// once, from its first frame to its last.
@safe package final class DiskStream: @unchecked Sendable {
    // Unchecked because the core is made of atomics and rings, and the filler is used under its lock.
    private let core: UnsafeMutablePointer<StreamCore>
    private let filler: Lock<StreamWriter>
    private let failure = StreamFailure()
    /// The same frames before they are stretched; none where nothing is.
    private let source: DiskStream?
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
    package convenience init(
        _ file: StreamFile, _ geometry: StreamGeometry, channels: Int, sampleRate: Double, seconds: Double,
        stretch: StreamStretch = StreamStretch()
    ) {
        if stretch.isNone {
            self.init(file, geometry, channels: channels, sampleRate: sampleRate, seconds: seconds, stretch, of: nil)
            return
        }
        let plain = StreamGeometry(
            lower: geometry.lower, upper: geometry.upper, start: geometry.start, passes: geometry.passes,
            fileRate: file.sampleRate, outputRate: sampleRate)
        // For as long as the disk thread may be busy with changes of other players: of a fast sound that is more of the file. What is
        // read further ahead is stretched.
        let source = DiskStream(
            file, plain, channels: file.channelCount, sampleRate: sampleRate,
            seconds: max(1, stretch.rate / 4) * Double(4 * StreamFiller.chunk) / sampleRate, stretch, of: nil)
        self.init(file, geometry, channels: channels, sampleRate: sampleRate, seconds: seconds, stretch, of: source)
    }

    private init(
        _ file: StreamFile, _ geometry: StreamGeometry, channels: Int, sampleRate: Double, seconds: Double,
        _ stretch: StreamStretch, of source: DiskStream?
    ) {
        self.file = file
        self.sampleRate = sampleRate
        self.stretch = stretch
        self.source = source
        // A quarter of a gigabyte is enough for any: 64 channels at 1 MHz would take sixty times as much in a minute.
        let room = Int64(DiskStream.mostSamples / channels)
        let frames = min(Int64((seconds * sampleRate).rounded(.up)), max(1, geometry.end), room)
        let isPairs = file.hasPairs && channels == 2 && geometry.isAtRate && stretch.isNone
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: StreamCore(
                id: Self.ids.wrappingAdd(1, ordering: .relaxed).newValue,
                geometry: geometry,
                ring: AudioRing(
                    frames: max(1, Int(frames)), channels: isPairs ? 1 : channels, sampleRate: sampleRate, blocks: 256),
                isPairs: isPairs))
        let writer: StreamWriter =
            if let source {
                StreamStretcher(source, into: geometry, stretch)
            } else {
                StreamFiller(file, geometry, outputRate: sampleRate, isPairs: isPairs, failure)
            }
        filler = Lock(writer, .stream)
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

    /// Reads from the disk into the ring, and stretches: so many frames, or as many as there is room for. From any thread
    /// that may wait.
    ///
    /// - Returns: The number of frames that were moved.
    @discardableResult
    package func fill(frames: Int = .max) -> Int {
        guard let source else { return write(frames: frames) }
        var moved = 0
        while moved < frames {
            let made = write(frames: frames - moved)
            moved += made
            // What is left over is read by the disk thread.
            if moved < frames && source.write(frames: StreamFiller.chunk) == 0 && made == 0 { break }
        }
        return moved
    }

    /// Reads from the disk until the ring has so many frames from the one that is wanted on, or all that there are.
    package func fill(atLeast frames: Int) {
        let last = unsafe core.pointee.wanted.load(ordering: .acquiring) &+ Int64(frames)
        while let chunk = filler.withLock({ !$0.isDone && $0.written < last ? $0.chunk : nil }), fill(frames: chunk) > 0
        {}
    }

    @discardableResult
    private func write(frames: Int) -> Int {
        filler.withLock { unsafe $0.fill(core.pointee, frames: frames) }
    }

    /// Returns the error that kept the stream from reading on: once. It does not wait for the disk.
    package func takeFailure() -> AudioFileError? { (source ?? self).failure.take() }

    /// Has another stream go on where this one ends, if the region is to be heard again.
    package func setAgain(_ stream: DiskStream) { unsafe core.pointee.again.set(DiskCue(stream)) }
}

// MARK: - The disk thread, and jobs that stretch

extension DiskStream {
    /// Reads a chunk; or reads all that is to be stretched, and has it stretched. On the disk thread.
    ///
    /// - Returns: Whether there is more to be read at once.
    package func serve() -> Bool {
        guard let source else { return write(frames: StreamFiller.chunk) >= StreamFiller.chunk }
        source.write(frames: .max)
        stretchSoon()
        return false
    }

    /// Gives the stream to the threads of `BackgroundWork`, if frames can be stretched, and no job does it yet. Otherwise the
    /// disk thread comes by again. The stream whose ring will be empty first comes first, but behind all
    /// jobs of render threads that are due within a tenth of a second.
    private func stretchSoon() {
        guard let source, source.hasFrames, hasRoom, !isQueued.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        let left = 0.1 + Double(max(0, ahead)) / sampleRate
        BackgroundJob.run(due: HostClock.now &+ Int64(left * 1e9)) { [self] in
            let made = StretchLoad.measure(sampleRate: sampleRate) { write(frames: StreamStretcher.chunk) }
            isQueued.store(false, ordering: .releasing)
            if made >= StreamStretcher.chunk { stretchSoon() }
        }
    }

    /// The number of stretched players for which the processors suffice.
    package static var stretchCapacity: Int? { StretchLoad.capacity }

    /// Frames in the ring, or about to be, beyond the one that is wanted.
    package var ahead: Int64 {
        unsafe core.pointee.written.load(ordering: .relaxed) &- core.pointee.wanted.load(ordering: .relaxed)
    }

    /// Indicates whether frames are left to be written, and there is room for some.
    private var hasRoom: Bool {
        let isOver = unsafe core.pointee.written.load(ordering: .relaxed) >= core.pointee.end.load(ordering: .relaxed)
        let capacity = unsafe core.pointee.ring.capacity
        return !isOver && Int64(capacity) &- ahead >= Int64(min(2_048, capacity / 2))
    }

    /// Indicates whether the ring has frames, or none will come any more.
    private var hasFrames: Bool {
        unsafe core.pointee.ring.availableFrames > 0
            || core.pointee.written.load(ordering: .acquiring) >= core.pointee.end.load(ordering: .acquiring)
    }
}

// MARK: - The source of a stretched stream, for its one reader

extension DiskStream {
    /// Returns whether there is no frame from this one on.
    func isOver(at frame: Int64) -> Bool { frame >= reference.end }

    /// Returns whether the file ended at this frame, before its header had said.
    func endedEarly(at frame: Int64) -> Bool { frame >= reference.end && reference.end < geometry.end }

    /// Takes frames out of the ring, as many as have come. Returns how many.
    func take(_ most: Int, from frame: Int64, into block: inout AudioBlock) -> Int {
        while true {
            let chunk = unsafe core.pointee.ring.peekContiguous(frames: most)
            if chunk.frameCount == 0 { return 0 }
            let late = frame &- (chunk.time.sampleTime ?? frame)
            if late > 0 {
                unsafe core.pointee.ring.skip(frames: Int(min(late, Int64(chunk.frameCount))))
                continue
            }
            unsafe core.pointee.ring.copy(chunk, into: &block)
            return unsafe core.pointee.ring.skip(frames: chunk.frameCount)
        }
    }
}
