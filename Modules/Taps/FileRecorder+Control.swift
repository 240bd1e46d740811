public import AudioFiles
public import DiskStreaming
public import RenderCore
internal import Synchronization

/// An event that a recorder reports.
public enum FileRecorderEvent: Sendable, Hashable, CustomStringConvertible {
    /// The first frame of a take was heard, at this time.
    case began(path: String, RenderTime)
    /// The disk was too slow: so many frames are silent in the file.
    case gap(path: String, frames: Int64)
    /// The renderer has another sample rate now, and a file has one: the take ended with the last frame before.
    case rateChanged(path: String, from: Double, to: Double)
    /// The file could not be written any further. The frames written until then are playable.
    case failed(AudioFileError)
    /// The file is closed, with that many frames.
    case finished(path: String, frames: Int64)

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .began(let path, let time): "\"\(path)\" began at \(time)."
        case .gap(let path, let frames): "The disk was too slow: \(frames) frames of \"\(path)\" are silent."
        case .rateChanged(let path, let old, let new):
            "\"\(path)\" ended because the sample rate changed from \(old) to \(new) Hz; begin another take."
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
        /// The take that was asked for last, and its time.
        var latest: DiskTake?
        var latestTime = RenderTime.immediately
        /// Takes whose files are not closed, or that the render thread may still have.
        var takes: [DiskTake] = []
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
            do throws(AudioFileError) {
                let take = if let armed = control.armed { armed } else { try makeNextTake(&control) }
                control.armed = nil
                cue(take, at: time, &control) { control in
                    // Its file is there: the next take goes into it.
                    if control.armed == nil && !take.isOver { control.armed = take } else { take.close() }
                }
            } catch {
                control.failure = error
                hub.send(.failed(error))
            }
        }
        DiskThread.shared.wake()
    }

    /// Begins a take in a file of another name, from which the names of later ones are made.
    ///
    /// - Throws: An error if the file cannot be written. A take that is running goes on then.
    public func begin(path: String, at time: RenderTime = .immediately) throws(AudioFileError) {
        try control.withLock { control throws(AudioFileError) in
            let take = try makeTake(
                path, sampleRate: control.sampleRate, maximumFrameCount: control.maximumFrameCount)
            let (oldPath, oldCount) = (control.path, control.takeCount)
            control.path = path
            control.takeCount = 1
            cue(take, at: time, &control) { control in
                take.close()
                if control.path == path { (control.path, control.takeCount) = (oldPath, oldCount) }
            }
        }
        DiskThread.shared.wake()
    }

    /// Ends the take. Its file is closed soon afterwards.
    ///
    /// - Parameter time: The time; by default that of the next buffer. The frame at that time is not in the file.
    public func stop(at time: RenderTime = .immediately) {
        stops.set(TimedCue(number: nextNumber(), time: time))
        DiskThread.shared.wake()
    }

    /// Ends the take now, also if no renderer runs and whatever was planned, and waits until its file is closed.
    ///
    /// - Throws: An error if the take, or a part of it, could not be written.
    public func finish() async throws(AudioFileError) {
        let (takes, failure) = control.withLock { control in
            defer { control.failure = nil }
            return (control.takes.filter { $0 !== control.armed }, control.failure)
        }
        for take in takes { take.close() }
        try await wait(for: takes, failure)
    }

    /// Waits until every take that was asked for has ended, as planned, and its file is closed.
    ///
    /// - Throws: An error if a take, or a part of it, could not be written.
    public func waitUntilFinished() async throws(AudioFileError) {
        let (takes, failure) = control.withLock { control in
            defer { control.failure = nil }
            return (control.takes.filter { $0 !== control.armed }, control.failure)
        }
        try await wait(for: takes, failure)
    }

    private func wait(for takes: [DiskTake], _ first: AudioFileError?) async throws(AudioFileError) {
        var failure = first
        for take in takes {
            do throws(AudioFileError) { try await take.finished() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    // MARK: State

    private var current: DiskTake? { control.withLock { $0.latest } }

    /// Indicates whether a take is being recorded.
    public var isRecording: Bool { current.map { $0.hasBegun && !$0.isOver } ?? false }

    /// The number of frames of the take that is being recorded, or was last.
    public var recordedFrameCount: Int64 { current?.frameCount ?? 0 }

    /// The length of the recorded sound in seconds.
    public var recordedTime: Double { current.map { Double($0.frameCount) / $0.sampleRate } ?? 0 }

    /// The file of the take that was asked for last, or of the next one.
    public var path: String { control.withLock { ($0.latest ?? $0.armed)?.path ?? $0.path } }

    /// The number of frames of all takes that are silent because the disk was too slow.
    public var gapCount: Int64 {
        control.withLock { control in control.takes.reduce(control.gaps) { $0 + $1.gapCount } }
    }
}

// MARK: - Files

extension FileRecorder {
    func nextNumber() -> Int { commands.wrappingAdd(1, ordering: .relaxed).newValue }

    func makeTake(_ path: String, sampleRate: Double, maximumFrameCount: Int) throws(AudioFileError) -> DiskTake {
        DiskTake(
            try openSink(path, sampleRate), path: path, channels: channelCount, sampleRate: sampleRate,
            seconds: ringSeconds, maximumFrameCount: maximumFrameCount, isMultiSource: isMultiSource)
    }

    private func makeNextTake(_ control: inout Control) throws(AudioFileError) -> DiskTake {
        control.takeCount += 1
        return try makeTake(
            FileRecorder.numbered(control.path, control.takeCount), sampleRate: control.sampleRate,
            maximumFrameCount: control.maximumFrameCount)
    }

    /// Returns a name with a number before its extension.
    static func numbered(_ path: String, _ number: Int) -> String {
        let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let dot = path[name...].lastIndex(of: "."), dot > name else { return "\(path)-\(number)" }
        return "\(path[..<dot])-\(number)\(path[dot...])"
    }

    private func cue(
        _ take: DiskTake, at time: RenderTime, _ control: inout Control,
        undo: (@Sendable (inout Control) -> Void)? = nil
    ) {
        prune(&control)
        let (latest, latestTime) = (control.latest, control.latestTime)
        if !control.takes.contains(where: { $0 === take }) { control.takes.append(take) }
        control.latest = take
        control.latestTime = time
        // An earlier take that has not begun will not begin any more, once the render thread sees this one.
        let end: @Sendable () -> Void = { if let latest, !latest.hasBegun && latest !== take { latest.close() } }
        let isStaged = OpenTransaction.exists
        if !isStaged { end() }
        begins.exchange(
            TakeCue(take, number: nextNumber(), time: time), version: nil, whenOldIsFreed: isStaged ? end : nil,
            undo: { [weak self] in
                self?.control.withLock { control in
                    if control.latest === take { (control.latest, control.latestTime) = (latest, latestTime) }
                    undo?(&control)
                }
            })
    }

    private func prune(_ control: inout Control) {
        for take in control.takes where take.isDone && !take.isInUse && take !== control.latest {
            control.gaps += take.gapCount
        }
        control.takes.removeAll { $0.isDone && !$0.isInUse && $0 !== control.latest }
    }

    /// Makes files that have not begun anew if the renderer has another rate than they were made for. A take that is
    /// running then ends, which is reported: a file has one rate. With other settings it goes on.
    public func prepare(_ preparation: Preparation) {
        control.withLock { control in
            let isSame =
                control.sampleRate == preparation.sampleRate
                && control.maximumFrameCount >= preparation.maximumFrameCount
            guard !isSame else { return }
            let oldRate = control.sampleRate
            control.sampleRate = preparation.sampleRate
            control.maximumFrameCount = preparation.maximumFrameCount
            if oldRate == preparation.sampleRate {
                for take in control.takes where !take.isDone { take.makeRoom(forSlicesOf: control.maximumFrameCount) }
                return
            }
            do throws(AudioFileError) {
                if let armed = control.armed {
                    control.armed = try remake(armed, &control)
                } else if let latest = control.latest, !latest.hasBegun && !latest.isOver {
                    cue(try remake(latest, &control), at: control.latestTime, &control)
                } else if let latest = control.latest, !latest.isOver {
                    latest.close()
                    hub.send(.rateChanged(path: latest.path, from: oldRate, to: preparation.sampleRate))
                }
            } catch {
                control.failure = error
                hub.send(.failed(error))
            }
        }
        DiskThread.shared.wake()
    }

    private func remake(_ take: DiskTake, _ control: inout Control) throws(AudioFileError) -> DiskTake {
        take.close()
        while !take.isDone { _ = take.serve { _ in } }
        control.takes.removeAll { $0 === take && !$0.isInUse }
        if control.armed === take { control.armed = nil }
        let new = try makeTake(
            take.path, sampleRate: control.sampleRate, maximumFrameCount: control.maximumFrameCount)
        control.takes.append(new)
        return new
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
            prune(&control)
            return control.takes.apart
        }
        var need = DiskNeed.none
        for take in takes {
            switch (take.serve { tell($0, of: take) }, need) {
            case (.more, _): need = .more
            case (.soon, .none): need = .soon
            default: break
            }
        }
        return need
    }

    func tell(_ news: DiskTake.News, of take: DiskTake) {
        switch news {
        case .began(let time): hub.send(.began(path: take.path, time))
        case .gap(let frames): hub.send(.gap(path: take.path, frames: frames))
        case .failed(let error): hub.send(.failed(error))
        case .finished(let frames): if take.hasBegun { hub.send(.finished(path: take.path, frames: frames)) }
        }
    }
}
