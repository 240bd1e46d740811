internal import DiskStreaming
internal import RenderCore

// Tempo and pitch: streams that are stretched on their way from the disk.

extension FilePlayer {
    /// The tempo: seconds of the file in a second of sound, ¼…4. 1 is the file's own, and costs nothing. By default 1.
    ///
    /// The pitch stays. The sound is stretched on its way from the disk, so that the render thread has no more to do than
    /// at 1. Frames and times of the player, its region, its loop and its seeks stay those of the file. While it plays, a
    /// change does not wait: the disk thread makes the first frames, so that the change is heard within 50 ms, and the sound
    /// before fades over to the one behind in 20 ms; several changes within 25 ms are one. (Inside of a transaction, and
    /// rendered offline, it makes them itself.)
    /// At sample rates below 1,000 Hz nothing is changed. A number out of range becomes the nearest in it, and what is
    /// none changes nothing.
    public var rate: Double {
        get { control.withLock { $0.stretch.rate } }
        set { change { $0.rate = newValue } }
    }

    /// The pitch in cents (hundredths of a semitone) above the file's own, -2,400…2,400; the tempo stays. 0 is the file's
    /// own, and costs nothing. By default 0. It is changed as ``rate`` is.
    public var pitch: Double {
        get { control.withLock { $0.stretch.cents } }
        set { change { $0.cents = newValue } }
    }

    /// Indicates whether formants stay where they are while the pitch changes, so that a voice keeps its character. By
    /// default they do not.
    public var keepsFormants: Bool {
        get { control.withLock { $0.stretch.keepsFormants } }
        set { change { $0.keepsFormants = newValue } }
    }

    /// Sets several of ``rate``, ``pitch`` and ``keepsFormants`` as one change: half the work of one after the other.
    ///
    /// - Parameters:
    ///   - rate: The tempo, ¼…4; as it is, if it is not given.
    ///   - pitch: The pitch in cents, -2,400…2,400.
    ///   - keepsFormants: Indicates whether formants stay.
    public func stretch(rate: Double? = nil, pitch: Double? = nil, keepsFormants: Bool? = nil) {
        change { stretch in
            if let rate { stretch.rate = rate }
            if let pitch { stretch.cents = pitch }
            if let keepsFormants { stretch.keepsFormants = keepsFormants }
        }
    }

    /// The number of stretched players for which the processors suffice: measured on the players that were stretched up to
    /// now, and with a quarter of the time left for all else. `nil` before a second of sound was stretched. More than that
    /// lose frames, which ``underrunCount`` and the events tell.
    public static var stretchedPlayerLimit: Int? { DiskStream.stretchCapacity }

    private func change(_ edit: (inout StreamStretch) -> Void) {
        let sought: Int64? = control.withLock { control in
            let old = control.stretch
            edit(&control.stretch)
            let new = control.stretch
            if new == old || new.isNone && old.isNone { return nil }
            takeBackIfThrown { [weak self] control in
                guard control.stretch == new else { return }
                control.stretch = old
                self?.remakeQueue(&control)
            }
            // No hand waits at a knob while a renderer works offline.
            let isLive = playhead.load().sliceLength != 0
            if isLive && !OpenTransaction.exists && heard(control) != nil {
                control.isStretchPending = true
                return nil
            }
            return restretch(&control)
        }
        if let sought { seek(to: sought) }
        DiskThread.shared.wake()
    }

    /// Makes the change that is pending, unless one was made just before: the stream without the lock, so that no other
    /// thread waits. On the disk thread, which comes by again.
    func makePendingStretch() {
        let isDue = control.withLock { control in
            control.isStretchPending && HostClock.now.subtractingSaturated(control.lastStretch) >= 25_000_000
        }
        if !isDue { return }
        var plan: (control: Control, file: StreamFile, item: Int, now: Playhead.State)?
        var sought: Int64? = control.withLock { control in
            guard control.isStretchPending else { return nil }
            guard control.prepared == nil, pendingSeek(control) == nil, !isStartUnseen(control),
                let current = heard(control)
            else { return restretch(&control) }
            control.isStretchPending = false
            control.lastStretch = HostClock.now
            plan = (control, current.file, current.id, playhead.load())
            return nil
        }
        let stream = plan.map { streamThatGoesOn($0.file, from: $0.now, $0.control) }
        if let next = control.withLock({ control -> Int64? in
            guard let plan, let stream else { return nil }
            // A command that came in between may have made other streams, from the settings of that moment.
            guard control.region == plan.control.region, control.loops == plan.control.loops,
                control.sampleRate == plan.control.sampleRate, control.prepared == nil, pendingSeek(control) == nil,
                !isStartUnseen(control), heard(control)?.id == plan.item
            else { return restretch(&control) }
            remakeQueue(&control)
            goOn(with: stream, &control)
            return nil
        }) {
            sought = next
        }
        if let sought { seek(to: sought) }
    }

    /// The frames that the render thread finds in the stream that is heard, for tests; of what is left, if that is less.
    package var framesAhead: Int { control.withLock { Int(heard($0)?.ahead ?? 0) } }

    /// Puts other streams in the place of those that are heard, or will be. Returns a frame to seek to instead.
    private func restretch(_ control: inout Control) -> Int64? {
        control.isStretchPending = false
        control.lastStretch = HostClock.now
        remakeQueue(&control)
        if let prepared = control.prepared {
            let next = makeStream(prepared.file, from: prepared.geometry.start, control)
            control.prepared = next
            adopt(next, &control)
            takeBackIfThrown { control in if control.prepared === next { control.prepared = prepared } }
        }
        if let seek = pendingSeek(control) { return seek }
        let current = heard(control)
        if let current, !isStartUnseen(control) {
            goOn(with: streamThatGoesOn(current.file, from: playhead.load(), control), &control)
            return nil
        }
        guard isStarting(control) else { return nil }
        guard let starting = startingStream(control) else { return control.region.lowerBound }
        if current == nil && !OpenTransaction.exists { return starting.geometry.start }
        // By the time of the transaction the player plays. One that plays already goes on from the frame of the start, or
        // from the present one until then.
        var start = Playhead.State()
        start.geometry = starting.geometry
        goOn(with: streamThatGoesOn(starting.file, from: start, control), &control)
        return nil
    }

    /// Returns a stream with the present tempo and pitch that can take the place of the one that is heard.
    private func streamThatGoesOn(_ file: StreamFile, from now: Playhead.State, _ control: Control) -> DiskStream {
        let old = Double(now.geometry.down) / Double(now.geometry.up) * control.sampleRate / file.sampleRate
        let faster = max(1, control.stretch.rate / max(0.01, old))
        let runUp = Int64(control.sampleRate * control.stretch.runUp * faster)
        let stream = makeStream(file, from: now.geometry.place(before: now.frame, by: runUp), control)
        // The frames from the present one on, so that the render thread finds them.
        stream.reference.jump(to: stream.geometry.frame(like: now.frame, of: now.geometry))
        stream.fill(atLeast: Int(control.sampleRate / 20) + 2_048)
        return stream
    }

    /// Has a stream take the place of the one that is heard, with a fade.
    private func goOn(with stream: DiskStream, _ control: inout Control) {
        adopt(stream, &control)
        control.lastSeek = (0, false)
        // The next change comes when this one's fade is over.
        control.lastStretch = HostClock.now
        let fade = max(1, Int(control.sampleRate / 50))
        tell(StreamCue(stream, number: nextNumber(), keepsPlace: true, fade: fade), through: seeks)
    }

    /// Has the files of the queue that have not begun get streams anew.
    private func remakeQueue(_ control: inout Control) {
        guard !control.upcoming.isEmpty else { return }
        OpenTransaction.suspended {
            for stream in control.streams { stream.setNext(nil) }
            // From here on the render thread finds none of them any more.
            let files = control.upcoming.filter { !$0.wasBegun }.map(\.file)
            control.waiting = files + control.waiting
            control.upcoming.removeAll { !$0.wasBegun }
            lengthenQueue(&control)
        }
    }
}
