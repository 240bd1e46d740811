package import AudioFiles
internal import Glibc
package import RenderCore
internal import Synchronization

/// One recording on its way from the render thread to a file: a ring, and the writer that empties it.
@safe package final class DiskTake: @unchecked Sendable {
    // Unchecked because the core is made for two threads, and the writer is used under its lock.
    private let core: UnsafeMutablePointer<TakeCore>
    private let writer: Lock<Writer>
    /// Ends the streams of all who wait when the file is closed.
    private let end = EventHub<Bool>()
    private let next = Lock<DiskTake?>(nil)
    /// The take that goes on with the sound of this one, if there is one.
    package var sequel: DiskTake? {
        get { next.withLock { $0 } }
        set { next.change { $0 = newValue } }
    }
    /// The path of the file, as the program gave it.
    package let path: String
    /// Frames per second.
    package let sampleRate: Double
    /// The place in the order of its recorder's takes.
    package let number: Int

    private struct Writer {
        var sink: (any StreamSink)?
        var block: Block
        /// Frames in the file.
        var written: Int64 = 0
        var gaps: Int64 = 0
        var failure: AudioFileError?
        var hasToldBeginning = false
        var isDone = false
    }

    private final class Block {
        var samples: AudioBlock
        init(channels: Int) { samples = AudioBlock(channels: channels, frames: 8_192) }
    }

    /// The news of a take for control code.
    package enum News: Sendable {
        case began(RenderTime)
        case gap(Int64)
        case failed(AudioFileError)
        case finished(frames: Int64)
    }

    /// Creates a take, which is not recorded yet.
    ///
    /// - Parameters:
    ///   - sink: The file.
    ///   - path: The file's name.
    ///   - number: The place in the order of the recorder's takes.
    ///   - channels: The number of its channels.
    ///   - sampleRate: Its frames per second, and the renderer's.
    ///   - seconds: The length of the ring in seconds.
    ///   - maximumFrameCount: The longest slice, in frames.
    ///   - isMultiSource: `true` if several buffers of one slice belong together.
    package init(
        _ sink: any StreamSink, path: String, number: Int = 0, channels: Int, sampleRate: Double, seconds: Double,
        maximumFrameCount: Int, isMultiSource: Bool
    ) {
        self.path = path
        self.number = number
        self.sampleRate = sampleRate
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: TakeCore(
                ring: AudioRing(
                    frames: max(1, Int((seconds * sampleRate).rounded(.up))), channels: channels,
                    sampleRate: sampleRate, blocks: 2_048),
                frames: maximumFrameCount, isMultiSource: isMultiSource))
        writer = Lock(Writer(sink: sink, block: Block(channels: channels)), .stream)
    }

    deinit {
        close()
        while case .more = serve({ _ in }) {}
        unsafe core.deinitialize(count: 1)
        unsafe core.deallocate()
    }

    /// For the render thread. See there for how long it may be used.
    package var reference: TakeReference { unsafe TakeReference(core: core) }
    /// Frames that were heard.
    package var frameCount: Int64 { unsafe core.pointee.frames.load(ordering: .acquiring) }
    /// Indicates whether the render thread has begun it.
    package var hasBegun: Bool { unsafe core.pointee.hasBegun }
    /// Indicates whether nothing is added to it any more.
    package var isOver: Bool {
        unsafe core.pointee.isEnded.load(ordering: .acquiring) || core.pointee.isClosed.load(ordering: .acquiring)
    }
    /// Indicates whether it is over because the renderer has got another rate.
    package var isCut: Bool { unsafe core.pointee.isCut.load(ordering: .acquiring) }
    /// Indicates whether control code, or a disk that failed, wants no more of it.
    package var isClosed: Bool { unsafe core.pointee.isClosed.load(ordering: .acquiring) }
    /// Indicates whether its file is closed.
    package var isDone: Bool { writer.withLock { $0.isDone } }
    /// Frames that were silenced because the disk was too slow.
    package var gapCount: Int64 { writer.withLock { $0.gaps } }
    /// Indicates whether the render thread has it in hand, or can find a cue that leads to it.
    package var isInUse: Bool {
        // A take that has begun stays with the render thread, which has it in hand until its end.
        let isReserved = unsafe core.pointee.claim.load(ordering: .acquiring) == TakeCore.renders && !hasBegun
        return unsafe core.pointee.cues.load(ordering: .acquiring) > 0
            || core.pointee.isHeld.load(ordering: .acquiring) || isReserved
    }

    /// Indicates whether it waits for whoever begins it.
    package var isFree: Bool {
        unsafe core.pointee.claim.load(ordering: .acquiring) == TakeCore.free && !hasBegun && !isOver
    }

    /// Takes a take that was prepared for the control side. Returns whether the render thread has not reserved it.
    package func claim() -> Bool { unsafe core.pointee.claim(for: TakeCore.controls) }

    /// Gives a take back that the control side has claimed, and that waits for whoever begins it.
    package func unclaim() { reference.unreserve() }

    func countCue(_ change: Int) { unsafe core.pointee.cues.wrappingAdd(change, ordering: .acquiringAndReleasing) }

    /// Closes a take that waits for its beginning. Returns whether it has done so: not if the render thread has begun it.
    package func callOff() -> Bool {
        guard unsafe core.pointee.callOff() else { return false }
        close()
        return true
    }

    /// Ends the take from the control side, also if no render thread uses it. Frames that were heard are written.
    package func close() {
        unsafe core.pointee.isClosed.store(true, ordering: .sequentiallyConsistent)
        // A render thread that is inside of it is out again before its slice is over, and will not come back.
        while unsafe !core.pointee.enter() { sched_yield() }
        unsafe core.pointee.flush()
        unsafe core.pointee.leave()
        unsafe core.pointee.isEnded.store(true, ordering: .releasing)
    }

    /// Slices will have so many frames, while the take goes on.
    package func makeRoom(forSlicesOf frames: Int) { unsafe core.pointee.makeRoom(frames) }

    /// Frees the ring for a slice, by writing if need be. Offline.
    package func makeRoom(frames: Int, _ tell: (News) -> Void) {
        while unsafe core.pointee.ring.freeFrames < min(2 * frames, core.pointee.ring.capacity) {
            if case .more = serve(tell) { continue }
            return
        }
    }

    /// Writes the frames in the ring, some thousands at most.
    package func serve(_ tell: (News) -> Void) -> DiskNeed {
        var news: [News] = []
        let (need, isDone) = writer.withLock { writer in
            if writer.isDone { return (DiskNeed.none, true) }
            return unsafe (move(&writer, core.pointee, &news), writer.isDone)
        }
        for item in news { tell(item) }
        if isDone { end.finish() }
        return need
    }

    private func move(_ writer: inout Writer, _ core: borrowing TakeCore, _ news: inout [News]) -> DiskNeed {
        if !writer.hasToldBeginning && core.hasBegun {
            writer.hasToldBeginning = true
            news.append(
                .began(
                    RenderTime(
                        sampleTime: core.sampleTime.load(ordering: .relaxed),
                        hostTime: core.hostTime.load(ordering: .relaxed))))
        }
        // The end is looked at before the ring: frames that were heard before the end are then there.
        let isOver = core.isEnded.load(ordering: .acquiring)
        let chunk = core.ring.peekContiguous(frames: writer.block.samples.frameCount)
        do throws(AudioFileError) {
            if chunk.frameCount > 0 {
                try fill(until: chunk.time.sampleTime ?? writer.written, &writer, &news)
                core.ring.copy(chunk, into: &writer.block.samples)
                core.ring.consume(chunk)
                try write(chunk.frameCount, &writer)
                return .more
            }
            guard isOver else { return core.hasBegun ? .soon : .none }
            try fill(until: core.frames.load(ordering: .acquiring), &writer, &news)
            let sink = writer.sink
            writer.sink = nil
            try sink?.finish()
        } catch {
            fail(error, &writer, core, &news)
            if !isOver { return .more }
        }
        writer.isDone = true
        news.append(.finished(frames: writer.written))
        return .none
    }

    /// Writes silence in the place of frames that found no room.
    private func fill(until frame: Int64, _ writer: inout Writer, _ news: inout [News]) throws(AudioFileError) {
        let gap = frame &- writer.written
        guard gap > 0 && writer.failure == nil else { return }
        writer.gaps &+= gap
        news.append(.gap(gap))
        writer.block.samples.silence()
        while writer.written < frame {
            let count = Int(min(frame &- writer.written, Int64(writer.block.samples.frameCount)))
            try write(count, &writer)
        }
    }

    private func write(_ frames: Int, _ writer: inout Writer) throws(AudioFileError) {
        guard let sink = writer.sink else { return }
        try sink.write(writer.block.samples, frames: frames)
        writer.written &+= Int64(frames)
    }

    /// Ends the take with the frames that the file has. Later frames are of no use.
    private func fail(
        _ error: AudioFileError, _ writer: inout Writer, _ core: borrowing TakeCore, _ news: inout [News]
    ) {
        core.isClosed.store(true, ordering: .sequentiallyConsistent)
        core.ring.clear()
        if writer.failure == nil {
            writer.failure = error
            news.append(.failed(error))
        }
        try? writer.sink?.finish()
        // A part of the last block may have found room.
        if let kept = writer.sink?.keptFrameCount { writer.written = kept }
        writer.sink = nil
    }

    /// The error for frames that could not be written.
    package var failure: AudioFileError? { writer.withLock { $0.failure } }

    /// Waits until the file is closed; a cancelled task does not wait.
    package func untilDone() async {
        let stream = end.subscribe()
        if isDone { return }
        DiskThread.shared.wake()
        for await _ in stream {}
    }
}
