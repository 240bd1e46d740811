internal import DiskStreaming
internal import RenderCore

// Tempo and pitch: streams that are stretched on their way from the disk.

extension FilePlayer: StretchingPlayer {
    /// The values of ``StretchingPlayer/rate``, ``StretchingPlayer/pitch`` and ``StretchingPlayer/keepsFormants``.
    public var stretching: (rate: Double, pitch: Double, keepsFormants: Bool) {
        control.withLock { $0.stretching.values }
    }

    /// Sets several of tempo, pitch and formants as one change: see ``StretchingPlayer``.
    public func stretch(rate: Double? = nil, pitch: Double? = nil, keepsFormants: Bool? = nil) {
        control.withLock { control in
            guard let old = control.stretching.set(rate, pitch, keepsFormants) else { return }
            let new = control.stretch
            takeBackIfThrown { control in if control.stretch == new { control.stretching.stretch = old } }
            // No hand waits at a knob while a renderer works offline.
            let isLive = playhead.load().sliceLength != 0
            if isLive && !OpenTransaction.exists && heard(control) != nil {
                control.stretching.isPending = true
            } else {
                restretch(&control)
            }
        }
        DiskThread.shared.wake()
    }

    /// The number of stretched players for which the processors suffice: measured on the players that were stretched up to
    /// now, and with a quarter of the time left for all else. `nil` before a second of sound was stretched. More than that
    /// lose frames, which ``underrunCount`` and the events tell.
    public static var stretchedPlayerLimit: Int? { DiskStream.stretchCapacity }

    /// Makes the change that is pending, unless one was made just before: the stream without the lock, so that no other
    /// thread waits. On the disk thread, which comes by again.
    func makePendingStretch() {
        var plan: (control: Control, heard: DiskStream, now: Playhead.State)?
        control.withLock { control in
            guard control.stretching.isDue else { return }
            guard let heard = undisturbed(control) else { return restretch(&control) }
            control.stretching.begin()
            plan = (control, heard, playhead.load())
        }
        guard let plan else { return }
        let stream = streamThatGoesOn(from: plan.now, plan.control)
        control.withLock { control in
            // A command that came in between may have made other streams, from the settings of that moment.
            guard control.region == plan.control.region, control.loops == plan.control.loops,
                control.sampleRate == plan.control.sampleRate, undisturbed(control) === plan.heard
            else { return restretch(&control) }
            fadeOver(to: stream, &control)
        }
    }

    /// Returns the stream that is heard, if no other one is about to take its place.
    private func undisturbed(_ control: Control) -> DiskStream? {
        control.prepared == nil && pendingSeek(control) == nil && !isStartUnseen(control) ? heard(control) : nil
    }

    /// The frames that the render thread finds in the stream that is heard, for tests; of what is left, if that is less.
    package var framesAhead: Int { control.withLock { Int(heard($0)?.ahead ?? 0) } }

    /// Puts other streams in the place of those that are heard, or will be.
    private func restretch(_ control: inout Control) {
        control.stretching.begin()
        if let prepared = control.prepared {
            let next = makeStream(from: prepared.geometry.start, control)
            control.prepared = next
            adopt(next, &control)
            takeBackIfThrown { control in if control.prepared === next { control.prepared = prepared } }
        }
        if let frame = pendingSeek(control) { return seek(to: frame, &control) }
        let current = heard(control)
        if current != nil, !isStartUnseen(control) {
            return fadeOver(to: streamThatGoesOn(from: playhead.load(), control), &control)
        }
        guard isStarting(control) else { return }
        guard let starting = startingStream(control) else { return seek(to: control.region.lowerBound, &control) }
        if current == nil && !OpenTransaction.exists { return seek(to: starting.geometry.start, &control) }
        // By the time of the transaction the player plays. One that plays already goes on from the frame of the start, or
        // from the present one until then.
        var start = Playhead.State()
        start.geometry = starting.geometry
        fadeOver(to: streamThatGoesOn(from: start, control), &control)
    }

    /// Returns a stream with the present tempo and pitch that can take the place of the one that is heard.
    private func streamThatGoesOn(from now: Playhead.State, _ control: Control) -> DiskStream {
        let old = Double(now.geometry.down) / Double(now.geometry.up) * control.sampleRate / file.sampleRate
        // A slow sound needs as much of the file as one at its own tempo.
        let faster = max(1, max(1, control.stretch.rate) / max(0.01, old))
        let runUp = Int64(control.sampleRate * control.stretch.runUp * faster)
        let stream = makeStream(from: now.geometry.place(before: now.frame, by: runUp), control)
        // The frames from the present one on, so that the render thread finds them.
        stream.reference.jump(to: stream.geometry.frame(like: now.frame, of: now.geometry))
        stream.fill(atLeast: Int(control.sampleRate / 20) + 2_048)
        return stream
    }

    /// Has a stream with the present tempo and pitch take the place of the one that is heard.
    private func fadeOver(to stream: DiskStream, _ control: inout Control) {
        goOn(with: stream, fading: true, &control)
        // The next change comes when this one's fade is over.
        control.stretching.last = HostClock.now
    }
}
