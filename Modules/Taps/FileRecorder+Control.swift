public import AudioFiles
internal import DiskFiles
public import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// An event that a recorder reports.
///
/// Threads: control.
public enum FileRecorderEvent: Sendable, Hashable, CustomStringConvertible {
    /// The first frame of a take was heard, at this time.
    case began(path: String, RenderTime)
    /// The disk was too slow: so many frames are silent in the file.
    case gap(path: String, frames: Int64)
    /// The renderer has another sample rate now, and a file has one: the take ended with the last frame before, and the recording
    /// goes on in the file `next`, with the frame after it. `nil`: that file could not be made, and ``failed(_:)`` says why.
    case rateChanged(path: String, from: Double, to: Double, next: String?)
    /// So often since the last event the render loop began a take and no file was ready: nothing changed. Prepare more.
    case unprepared(count: Int)
    /// The file could not be written any further. The frames written until then are playable.
    case failed(AudioFileError)
    /// The file is closed, with that many frames.
    case finished(path: String, frames: Int64)

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .began(let path, let time): "\"\(path)\" began at \(time)."
        case .gap(let path, let frames): "The disk was too slow: \(frames) frames of \"\(path)\" are silent."
        case .rateChanged(let path, let old, let new, let next):
            "\"\(path)\" ended because the sample rate changed from \(old) to \(new) Hz; "
                + (next.map { "the recording goes on in \"\($0)\"." } ?? "begin another take.")
        case .unprepared(let count):
            "No file was ready for a take\(count > 1 ? ", \(count) times" : ""): prepareTakes() with more of them."
        case .failed(let error): error.description
        case .finished(let path, let frames): "\"\(path)\" is closed, with \(frames) frames."
        }
    }
}

extension FileRecorder {
    /// The state of control code. Under its lock.
    struct Control {
        /// The name that the files of later takes are made from.
        var path: String
        var takeCount = 1
        var sampleRate = 48_000.0
        var maximumFrameCount = 64
        /// A take whose file exists, and that has not been asked to begin.
        var armed: DiskTake?
        /// The take that was asked for last, its time, and whether that was in a transaction.
        var latest: (take: DiskTake, time: RenderTime, isStaged: Bool)?
        /// Takes that go on with the sound of another one as soon as the renderer has their rate, until that has been told.
        var sequels: [(take: DiskTake, of: DiskTake)] = []

        /// The wish for takes that are ready for the render loop, those takes, and the last one that it has begun.
        var preparation = Preparing()
        var ready: [DiskTake] = []
        var begunInCycle: DiskTake?
        /// Indicates whether fewer takes are ready than are wanted, and more can be made.
        var lacksTakes: Bool {
            !preparation.hasFailed && ready.count < 64 && ready.count { $0.isFree } < preparation.count
        }

        /// The take that is heard, or was last, or will be next.
        var current: DiskTake? {
            sequels.last { $0.take.hasBegun }?.take ?? ready.last(where: \.hasBegun) ?? begunInCycle ?? latest?.take
        }
        /// Takes whose files are not closed, or that the render thread may still have.
        var takes: [DiskTake] = []
        /// Takes that are over.
        var past: [(number: Int, take: Take)] = []
        /// The error that kept a take from being made.
        var failure: AudioFileError?
        var gaps: Int64 = 0
    }

    // MARK: Takes

    /// Begins a take: the first one in the file that the recorder was made with, each later one in a file of its own
    /// beside it ("take.wav", "take-2.wav"). A take that is running ends on the frame before.
    ///
    /// A take that cannot be made is reported as an event, and by ``finish()``.
    ///
    /// - Parameter time: The time of the first frame; by default, or if the time has passed, that of the next buffer.
    public func begin(at time: RenderTime = .immediately) {
        control.withLock { control in
            adoptBegun(&control)
            attempt(&control) { control throws(AudioFileError) in
                let take =
                    if let take = control.armed ?? claimReady(&control) { take } else { try makeNextTake(&control) }
                control.armed = nil
                cue(take, at: time, &control) { control in
                    // Its file is there: the next take goes into it.
                    if control.armed == nil && !take.isOver { control.armed = take } else { take.close() }
                }
            }
        }
        DiskThread.shared.wake()
    }

    /// Begins a take in a file of another name, from which the names of later ones are made. A file of that name is emptied.
    ///
    /// - Throws: An error if the file cannot be written, or a take is being written to it. A take that is running goes on then.
    public func begin(path: String, at time: RenderTime = .immediately) throws(AudioFileError) {
        // A take that is over may have frames that are not in its file yet.
        for take in control.withLock({ $0.takes.apart }) where take.isOver && FileDescriptor.isSame(take.path, path) {
            while case .more = take.serve({ tell($0, of: take) }) {}
        }
        try control.withLock { control throws(AudioFileError) in
            adoptBegun(&control)
            let take = if let take = try claimTake(in: path, &control) { take } else { try makeTake(path, control) }
            let (oldPath, oldCount) = (control.path, control.takeCount)
            control.path = path
            control.takeCount = 1
            let isNew = !control.takes.contains { $0 === take }
            cue(take, at: time, &control) { control in
                if control.latest?.take !== take {
                    if !isNew && control.armed == nil && !take.isOver { control.armed = take } else { take.close() }
                }
                if control.path == path { (control.path, control.takeCount) = (oldPath, oldCount) }
            }
        }
        DiskThread.shared.wake()
    }

    /// Ends the take. Its file is closed soon afterwards.
    ///
    /// - Parameter time: The time; by default that of the next buffer. The frame at that time is not in the file.
    public func stop(at time: RenderTime = .immediately) {
        stops.set(DiskCue(number: nextNumber(), time: time))
        if time.isImmediate && !OpenTransaction.exists {
            // What has not begun does not begin any more, even if no renderer runs.
            control.withLock { control in
                if let latest = control.latest, !latest.take.hasBegun && !latest.isStaged { latest.take.close() }
                for sequel in control.sequels where !sequel.take.hasBegun { sequel.take.close() }
            }
        }
        DiskThread.shared.wake()
    }

    /// Ends the take now, also if no renderer runs and whatever was planned, and waits until its file is closed. A cancelled task
    /// waits too: it takes no longer than the disk does.
    ///
    /// - Throws: An error if the take, or a part of it, could not be written.
    public func finish() async throws(AudioFileError) {
        let (takes, failure) = askedFor()
        for take in takes { take.close() }
        // A task of its own, which nothing cancels.
        await Task { for take in takes { await take.untilDone() } }.value
        if let failure = takes.reduce(failure, { $0 ?? $1.failure }) { throw failure }
    }

    /// Waits until every take that was asked for has ended, as planned, and its file is closed.
    ///
    /// - Throws: An ``/AudioFiles/AudioFileError`` if a take, or a part of it, could not be written; `CancellationError` if the task is
    ///   cancelled before: the recording goes on then.
    public func waitUntilFinished() async throws {
        var (takes, failure) = askedFor()
        var index = 0
        while index < takes.count {
            let take = takes[index]
            if !take.isDone {
                await take.untilDone()
                if !take.isDone { throw CancellationError() }
            }
            // Another sample rate may have come.
            if let sequel = take.sequel, !takes.contains(where: { $0 === sequel }) { takes.append(sequel) }
            index += 1
        }
        if let failure = takes.reduce(failure, { $0 ?? $1.failure }) { throw failure }
    }

    /// Returns the takes that were asked for, and the error that kept one from being made, which is told once.
    private func askedFor() -> ([DiskTake], AudioFileError?) {
        control.withLock { control in
            defer { control.failure = nil }
            let waiting = control.ready.filter { !$0.hasBegun }
            return (
                control.takes.filter { take in take !== control.armed && !waiting.contains { $0 === take } },
                control.failure
            )
        }
    }

    // MARK: State

    /// A take that has begun.
    ///
    /// Threads: control.
    public struct Take: Sendable, Hashable {
        /// The path of the file, as the program gave it, or as it was made from that.
        public let path: String
        /// Frames per second.
        public let sampleRate: Double
        /// The number of frames that were heard.
        public let frameCount: Int64

        init(_ take: DiskTake) { (path, sampleRate, frameCount) = (take.path, take.sampleRate, take.frameCount) }
    }

    /// The takes that have begun, each with its file, in the order in which their files were made: without ``prepareTakes(_:named:)``
    /// that in which they were asked for. The last one may still be recorded.
    public var takes: [Take] {
        let all = control.withLock { $0.past + $0.takes.filter(\.hasBegun).map { ($0.number, Take($0)) } }
        return all.sorted { $0.number < $1.number }.map(\.take)
    }

    private var current: DiskTake? { control.withLock { $0.current } }

    /// Indicates whether a take is being recorded.
    public var isRecording: Bool { control.withLock { $0.takes.contains { $0.hasBegun && !$0.isOver } } }

    /// The number of frames of the take that is being recorded, or was last.
    public var recordedFrameCount: Int64 { current?.frameCount ?? 0 }

    /// The length of the recorded sound in seconds.
    public var recordedTime: Double { current.map { Double($0.frameCount) / $0.sampleRate } ?? 0 }

    /// The file of the take that was asked for last, or of the next one.
    public var path: String { control.withLock { ($0.current ?? $0.armed)?.path ?? $0.path } }

    /// The number of frames of all takes that are silent because the disk was too slow.
    public var gapCount: Int64 {
        control.withLock { control in control.takes.reduce(control.gaps) { $0 + $1.gapCount } }
    }
}

// MARK: - The disk thread

extension FileRecorder: DiskClient {
    /// The events from now on.
    public var events: AsyncStream<FileRecorderEvent> {
        let stream = hub.subscribe()
        DiskThread.shared.wake()
        return stream
    }

    package func serveDisk() -> DiskNeed {
        let takes = control.withLock { control in
            adoptBegun(&control)
            prune(&control)
            return control.takes.apart
        }
        if control.withLock({ $0.lacksTakes }) { replenish() }
        tellRefused()
        return takes.reduce(.none) { need, take in max(need, take.serve { tell($0, of: take) }) }
    }

    func tell(_ news: DiskTake.News, of take: DiskTake) {
        switch news {
        case .began(let time):
            if let old = takeOver(take) {
                hub.send(
                    .rateChanged(path: old.path, from: old.sampleRate, to: take.sampleRate, next: take.path))
            }
            hub.send(.began(path: take.path, time))
        case .gap(let frames): hub.send(.gap(path: take.path, frames: frames))
        case .failed(let error): hub.send(.failed(error))
        case .finished(let frames): if take.hasBegun { hub.send(.finished(path: take.path, frames: frames)) }
        }
    }
}
