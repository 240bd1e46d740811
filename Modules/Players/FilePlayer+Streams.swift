internal import AudioFiles
public import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

// The streams behind a player: made on the control side, filled by the disk thread, released when they are not heard
// any more.

extension FilePlayer {
    /// The number of streams, for tests.
    package var streamCount: Int { control.withLock { $0.streams.count } }

    /// Gives the render thread a command, with its stream where it needs one; a start without one is called off. Returns its
    /// number: later ones have greater numbers.
    ///
    /// - Parameters:
    ///   - keepsPlace: `true` for a seek to the frame that is heard then.
    ///   - fade: Frames in which one stream fades over to the other; 0 for ``microfade``.
    ///   - whenShown: The closure that is called under the lock when the command was in a transaction and the render thread
    ///     has it.
    ///   - undo: The closure that is called under the lock when the command was in a transaction that throws, or is called
    ///     off.
    @discardableResult
    func tell(
        _ command: FileCommand, _ stream: DiskStream? = nil, at time: RenderTime = .immediately,
        keepsPlace: Bool = false, fade: Int = 0, whenShown shown: (@Sendable (inout Control) -> Void)? = nil,
        undo: (@Sendable (inout Control) -> Void)? = nil
    ) -> Int {
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        let cue = DiskCue(stream, number: number, time: time, keepsPlace: keepsPlace, fade: fade)
        stage(whenShown: shown, undo: undo)
        switch command {
        case .start: starts.set(cue)
        case .seek: seeks.set(cue)
        case .stop: stops.set(cue)
        case .pause: pauses.set(cue)
        case .resume: resumes.set(cue)
        }
        commands.wrappingAdd(1, ordering: .releasing)
        return number
    }

    /// Has the render thread look at every slice, in a transaction, until what is set there is shown or called off: no other
    /// signal says when.
    func stage(whenShown shown: (@Sendable (inout Control) -> Void)?, undo: (@Sendable (inout Control) -> Void)?) {
        guard OpenTransaction.exists else { return }
        staged.wrappingAdd(1, ordering: .relaxed)
        OpenTransaction.afterCycles(
            { [weak self] in self?.endStaging(shown) }, ifCalledOff: { [weak self] in self?.endStaging(undo) })
    }

    private func endStaging(_ change: ((inout Control) -> Void)?) {
        if let change { control.withLock { change(&$0) } }
        staged.wrappingSubtract(1, ordering: .relaxed)
        commands.wrappingAdd(1, ordering: .releasing)
        DiskThread.shared.wake()
    }

    /// Sets, in a transaction, how to take back the changes that only the control side has made. Under the lock.
    func takeBackIfThrown(_ undo: @escaping @Sendable (inout Control) -> Void) {
        OpenTransaction.ifCalledOff { [weak self] in
            self?.control.withLock { undo(&$0) }
            DiskThread.shared.wake()
        }
    }

    /// Returns the stream that is heard: the one that was begun, also where another goes round its loop.
    func heard(_ control: Control) -> DiskStream? {
        let now = playhead.load()
        return now.phase == .idle ? nil : control.streams.first { $0.id == now.item }
    }

    /// Returns a stream from a frame of the file on, with its first frames in it.
    func makeStream(from frame: Int64, _ control: Control? = nil) -> DiskStream {
        let control = control ?? self.control.withLock { $0 }
        let start = max(control.region.lowerBound, min(frame, control.region.upperBound))
        return makeStream(control.region, start, control.loops.passes, control.sampleRate, control.stretch)
    }

    private func makeStream(
        _ region: Range<Int64>, _ start: Int64, _ passes: Int64, _ rate: Double, _ wanted: StreamStretch
    ) -> DiskStream {
        let stretch = rate < StreamStretch.lowestSampleRate ? StreamStretch() : wanted
        let geometry = StreamGeometry(
            lower: region.lowerBound, upper: region.upperBound, start: start, passes: passes,
            fileRate: file.sampleRate, outputRate: rate, tempo: stretch.rate)
        let stream = DiskStream(
            file, geometry, channels: channelCount, sampleRate: rate, seconds: seconds, stretch: stretch)
        // A tenth of a second or more: the disk thread goes on from there.
        stream.fill(frames: Int(rate / 10))
        return stream
    }

    /// Has a stream served from now on, with what goes on round its loop.
    func adopt(_ stream: DiskStream, _ control: inout Control) {
        // No transaction takes any of this back: the stream is not heard before its cue is shown.
        OpenTransaction.suspended {
            prune(&control)
            if !control.streams.contains(where: { $0 === stream }) { control.streams.append(stream) }
            prepareLoops(&control)
        }
    }

    /// Releases streams that are not heard and cannot be heard any more.
    func prune(_ control: inout Control) {
        let prepared = control.prepared?.id
        // The disk thread and offline renderers come by often, and nearly always find nothing to do.
        if control.streams.allSatisfy({ $0.isInUse || $0.id == prepared }) { return }
        control.streams.removeAll { stream in
            if stream.isInUse || stream.id == prepared { return false }
            tellFailure(of: stream)
            return true
        }
        let ids = Set(control.streams.map(\.id))
        control.begunBy = control.begunBy.filter { ids.contains($0.key) }
    }

    /// Makes the stream for the next start anew if it ends before the last pass that is wanted: one to go on with would take
    /// as much memory again.
    func lengthenPrepared(_ control: inout Control) {
        guard let prepared = control.prepared, !prepared.isInUse, !prepared.wasBegun,
            prepared.geometry.passes < control.loops.passes,
            // A first pass that begins at its end counts, and only a stream of one pass can have one.
            prepared.geometry.start < prepared.geometry.upper
        else { return }
        let stream = makeStream(from: prepared.geometry.start, control)
        control.streams.removeAll { $0 === prepared }
        control.streams.append(stream)
        control.prepared = stream
    }

    /// Sees to it that streams that end, and are to be heard again, have something to go on with.
    func prepareLoops(_ control: inout Control) {
        for stream in control.streams {
            let geometry = stream.geometry
            guard geometry.passes < control.loops.passes, geometry.length > 0,
                !control.begunBy.values.contains(stream.id)
            else { continue }
            let again = makeStream(
                geometry.lower..<geometry.upper, geometry.lower, .max, stream.sampleRate, stream.stretch)
            control.streams.append(again)
            control.begunBy[again.id] = stream.id
            stream.setAgain(again)
        }
    }

    /// Reads as much for every stream as a slice needs.
    func fillAll(frames: Int) {
        let streams = control.withLock { control in
            OpenTransaction.suspended { prune(&control) }
            prepareLoops(&control)
            return control.streams.apart
        }
        for stream in streams { stream.fill(atLeast: frames) }
    }

    /// Makes the streams anew if the renderer has another rate than they were made for.
    public func prepare(_ preparation: Preparation) {
        let frame = currentFrame
        control.withLock { control in
            guard control.sampleRate != preparation.sampleRate else { return }
            control.sampleRate = preparation.sampleRate
            control.prepared = nil
            prune(&control)
            seek(to: frame, &control)
        }
        DiskThread.shared.wake()
    }
}

// MARK: - The disk thread

extension FilePlayer: DiskClient {
    /// The events from now on.
    public var events: AsyncStream<FilePlayerEvent> {
        let stream = hub.subscribe()
        DiskThread.shared.wake()
        return stream
    }

    package func serveDisk() -> DiskNeed {
        makePendingStretch()
        let streams = control.withLock { control in
            OpenTransaction.suspended { prune(&control) }
            prepareLoops(&control)
            return control.streams.apart
        }
        var need = isQuiet ? DiskNeed.none : .soon
        let isDriven = isDriven()
        for stream in streams {
            if !isDriven && stream.serve() { need = .more }
            tellFailure(of: stream)
        }
        tellNotices()
        watchForStart()
        return need
    }

    /// Tells once that the player runs and has not been started, which sounds like a broken one. A program that has
    /// started none of its players and listens to none reads it on standard error.
    private func watchForStart() {
        guard commands.load(ordering: .relaxed) == 0 else { return }
        let now = playhead.load()
        guard now.hostTime != 0, now.sliceLength != 0 else { return }
        let isNews = notes.withLock { notes in
            if notes.runsSince == 0 { notes.runsSince = now.hostTime }
            guard now.hostTime.subtractingSaturated(notes.runsSince) > 5_000_000_000 else { return false }
            notes.runsSince = .max
            return true
        }
        if !isNews { return }
        if !hub.hasListeners && !FilePlayer.hasStartedAny.load(ordering: .relaxed) {
            StandardError.say("the FilePlayer of \"\(file.path)\" runs, and nothing has started it: play() does")
        }
        hub.send(.neverStarted)
    }

    /// Returns whether the player is being rendered offline just now, faster than it would be heard. Then the rendering
    /// thread reads the file itself, so that the frames are still warm in its processor's cache.
    private func isDriven() -> Bool {
        let now = playhead.load()
        let hasMoved = notes.withLock { notes in
            defer { notes.frame = now.frame }
            return now.frame != notes.frame
        }
        return now.phase == .playing && now.sliceLength == 0 && hasMoved
    }

    /// Reports why a stream is shorter than it should be, once it is heard: frames that are read ahead may never be
    /// heard.
    private func tellFailure(of stream: DiskStream) {
        if stream.wasBegun, let failure = stream.takeFailure() { hub.send(.failed(failure)) }
    }

    /// Passes on the notices that the render thread has left.
    private func tellNotices() {
        func tellLoops() {
            let (seams, missing) = (self.seams.load(ordering: .relaxed), self.missing.load(ordering: .relaxed))
            let before = notes.withLock { notes in
                defer { (notes.seams, notes.missing) = (seams, missing) }
                return notes
            }
            if seams > before.seams { hub.send(.looped(count: seams - before.seams)) }
            if missing == before.missing { return }
            let isStretched = control.withLock { !$0.stretch.isNone }
            hub.send(
                isStretched
                    ? .stretchedTooLate(frames: missing - before.missing, limit: FilePlayer.stretchedPlayerLimit)
                    : .underrun(frames: missing - before.missing))
        }
        port.notices.drain { notice in
            switch notice.kind {
            case .began: hub.send(.began(notice.time))
            case .paused: hub.send(.paused)
            case .resumed: hub.send(.resumed)
            case .stopped, .ended:
                tellLoops()
                hub.send(notice.kind == .ended ? .ended : .stopped)
            }
        }
        tellLoops()
    }
}
