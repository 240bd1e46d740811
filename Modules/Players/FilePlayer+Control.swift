internal import AudioFiles
internal import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

extension FilePlayer {
    /// The number of times that the region is heard.
    ///
    /// Threads: any.
    public enum Loops: Sendable, Hashable {
        /// The region is heard once.
        case off
        /// The region is heard so many times.
        case times(Int)
        /// The region is heard until `loops` is set anew.
        case forever

        var passes: Int64 {
            switch self {
            case .off: 1
            case .times(let count): Int64(max(1, count))
            case .forever: .max
            }
        }
    }

    /// The state of control code. Under its lock.
    struct Control {
        var region: Range<Int64>
        /// The renderer's rate.
        var sampleRate: Double
        /// The stream that the next start takes, if it is at hand.
        var prepared: DiskStream?
        /// Every stream that may still be heard.
        var streams: [DiskStream] = []
        /// For each stream that goes on round the loop of another one: that other one.
        var begunBy: [Int: Int] = [:]
        /// The last start: its number, its stream, and whether it was asked for in a transaction.
        var start = (number: 0, stream: 0, isStaged: false)
        /// Starts in transactions that have neither been shown nor called off.
        var stagedStarts = 0
        /// The stream of the last seek to a frame, and whether it was made in a transaction.
        var lastSeek = (stream: 0, isStaged: false)
        var loops = Loops.off
        var stretching = WantedStretch()
        var stretch: StreamStretch { stretching.stretch }

        /// Returns the frame of the region at which a stream begins that is to begin at a frame of the file.
        func inside(_ frame: Int64) -> Int64 {
            let nearest = max(region.lowerBound, min(frame, region.upperBound))
            return nearest == region.upperBound && loops.passes > 1 ? region.lowerBound : nearest
        }
    }

    // MARK: Start and stop

    /// Plays from the beginning of the region, or from the frame to which ``seek(to:)`` has gone since.
    ///
    /// A player that plays begins anew. One start can wait at a time: a later one replaces an earlier one. A start
    /// whose time has passed begins further on, at the present frame of a player that had started then.
    ///
    /// - Parameter time: The time; by default as soon as possible.
    public func play(at time: RenderTime = .immediately) {
        FilePlayer.hasStartedAny.store(true, ordering: .relaxed)
        control.withLock { control in
            let (prepared, region, rate, before) = (
                control.prepared, control.region, control.sampleRate, control.start
            )
            let stream = prepared ?? makeStream(from: region.lowerBound, control)
            control.start = (0, stream.id, OpenTransaction.exists)
            // A seek before this start is overruled by it.
            control.lastSeek = (0, false)
            if control.start.isStaged { control.stagedStarts += 1 }
            // It is kept, with what goes on round its loop, until it is among the streams that may be heard.
            adopt(stream, &control)
            control.prepared = nil
            control.start.number = tell(
                .start, stream, at: time,
                whenShown: { $0.stagedStarts -= 1 },
                undo: { control in
                    control.stagedStarts -= 1
                    if control.start.stream == stream.id { control.start = before }
                    // The stream that a seek had prepared is there for the next start, if it still fits.
                    guard let prepared, control.prepared == nil, !prepared.wasBegun, control.region == region,
                        control.sampleRate == rate
                    else { return }
                    control.prepared = prepared
                    if !control.streams.contains(where: { $0 === prepared }) { control.streams.append(prepared) }
                })
        }
        DiskThread.shared.wake()
    }

    /// Stops, and goes back to the beginning of the region. A start that waits for its time is called off.
    public func stop(at time: RenderTime = .immediately) {
        if time.isImmediate && !OpenTransaction.exists { callOffStart() }
        tell(.stop, at: time)
    }

    /// Takes back a start that is not made yet, if no renderer has ever run the player: none may come to see the stop.
    private func callOffStart() {
        let hasBeenCalledOff = control.withLock { control in
            guard playhead.load().hostTime == 0, isStartUnseen(control), control.stagedStarts == 0 else { return false }
            control.start = (0, 0, false)
            tell(.start)
            return true
        }
        if hasBeenCalledOff { hub.send(.stopped) }
    }

    /// Rests at the present frame.
    public func pause(at time: RenderTime = .immediately) {
        tell(.pause, at: time)
    }

    /// Goes on from the frame at which it rests.
    public func resume(at time: RenderTime = .immediately) {
        tell(.resume, at: time)
    }

    /// Goes to a frame of the file: at once if the player plays or rests, with the next start if not.
    ///
    /// - Parameter frame: A frame of the region; one outside becomes the nearest inside.
    public func seek(to frame: Int64) {
        control.withLock { seek(to: frame, &$0) }
        DiskThread.shared.wake()
    }

    func seek(to frame: Int64, _ control: inout Control) {
        let current = heard(control)
        let stream = makeStream(from: frame, control)
        adopt(stream, &control)
        let before = control.prepared
        if current != nil || isStarting(control) {
            control.prepared = nil
            control.lastSeek = (stream.id, OpenTransaction.exists)
            tell(.seek, stream, undo: { control in if control.prepared == nil { control.prepared = before } })
        } else {
            control.prepared = stream
            takeBackIfThrown { control in if control.prepared === stream { control.prepared = before } }
        }
    }

    /// Indicates whether the player plays. A player that rests, or waits for its time, does not.
    public var isPlaying: Bool { playhead.load().phase == .playing }

    /// Indicates whether the player rests.
    public var isPaused: Bool { playhead.load().phase == .paused }

    /// Waits until the player does not play any more: until it has ended or was stopped. The function also waits for a
    /// player that has not begun yet, but not for one that has not been started. A player whose renderer does not run stays where it
    /// is, and so does who waits for it; a cancelled task does not wait.
    public func waitUntilStopped() async {
        // Listening first, so that nothing happens in between.
        let events = self.events
        let isActive = control.withLock { heard($0) != nil || isStarting($0) }
        if !isActive { return }
        for await event in events {
            switch event {
            case .ended, .stopped: return
            default: continue
            }
        }
    }

    /// Indicates whether the sound is switched off, with a short fade.
    public var isMuted: Bool {
        get { mute.isOn }
        set { mute.isOn = newValue }
    }

    // MARK: Region and loop

    /// The frames of the file that are played. After a change of the region the player goes on with the frame that is
    /// next when the render thread learns of it, or with the nearest one inside; no frame is left out or heard twice.
    /// After a start that has not been made yet, the next frame is the one at which that begins.
    public var region: Range<Int64> {
        get { control.withLock { $0.region } }
        set {
            let now = playhead.load()
            control.withLock { control in
                let (old, before) = (control.region, control.prepared)
                let lower = max(0, min(newValue.lowerBound, file.frameCount))
                let new = lower..<max(lower, min(newValue.upperBound, file.frameCount))
                control.region = new
                control.prepared = nil
                takeBackIfThrown { control in
                    guard control.region == new else { return }
                    control.region = old
                    if control.prepared == nil { control.prepared = before }
                }
                if let frame = pendingSeek(control) {
                    seek(to: frame, &control)
                } else if heard(control) != nil || isStarting(control) {
                    goOn(from: now, &control)
                }
            }
            DiskThread.shared.wake()
        }
    }

    /// Returns the frame of a seek that the render thread has not seen yet, if no other command came after it.
    func pendingSeek(_ control: Control) -> Int64? {
        let (id, isStaged) = control.lastSeek
        let current = heard(control)
        guard isStaged == OpenTransaction.exists, current != nil || isStarting(control),
            let stream = control.streams.first(where: { $0.id == id && $0.isInUse && !$0.wasBegun })
        else { return nil }
        return stream.geometry.start
    }

    /// Returns the stream of a start that was asked for and has been neither made nor called off.
    func startingStream(_ control: Control) -> DiskStream? {
        isStarting(control) ? control.streams.first { $0.id == control.start.stream } : nil
    }

    /// Has another stream of the file take the place of the one that is heard, on whichever frame that then is; or of the
    /// one that a start would begin with.
    private func goOn(from now: Playhead.State, _ control: inout Control) {
        // A converter needs some frames from before, as its filter has heard them in the other stream; so does a
        // stretched sound.
        let isPlain = now.geometry.isAtRate && control.stretch.isNone
        let seconds = control.stretch.isNone ? 0.05 : control.stretch.runUp
        var place = now.geometry.place(before: now.frame, by: isPlain ? 0 : Int64(control.sampleRate * seconds))
        let (region, step) = (control.region, now.geometry.down)
        if OpenTransaction.exists && place < region.lowerBound {
            // By the time it is heard it may be inside: there the frames of both streams have to meet.
            let met = place + (region.lowerBound - place + step - 1) / step * step
            if met < region.upperBound { place = met }
        }
        // Behind the end a loop begins again, with all its passes.
        if control.loops.passes > 1 && now.geometry.position(at: now.frame) >= region.upperBound {
            place = region.lowerBound
        }
        let start = startingStream(control)?.geometry.start ?? region.lowerBound
        if heard(control) == nil {
            place = start
        } else if isStartUnseen(control) {
            // The render thread finds out whether the start is made before this change, and then goes on from the start's
            // frame or from the present one: the stream has both.
            place = min(control.inside(place), control.inside(start))
        }
        // The waves of two stretched streams do not meet on a frame.
        goOn(with: makeStream(from: place, control), fading: !control.stretch.isNone, &control)
    }

    /// Has a stream take the place of the one that is heard, on the frame that is next then.
    func goOn(with stream: DiskStream, fading: Bool, _ control: inout Control) {
        adopt(stream, &control)
        control.lastSeek = (0, false)
        tell(.seek, stream, keepsPlace: true, fade: fading ? max(1, Int(control.sampleRate / 50)) : 0)
    }

    /// The beginning of the region, in seconds. The region keeps its length, as far as the file goes.
    public var regionStart: Double {
        get { Double(region.lowerBound) / file.sampleRate }
        set {
            let start = frames(newValue)
            region = start..<max(start, start + Int64(region.count))
        }
    }

    /// The length of the region, in seconds.
    public var regionDuration: Double {
        get { Double(region.count) / file.sampleRate }
        set { region = region.lowerBound..<(region.lowerBound + frames(newValue)) }
    }

    /// The number of times that the region is heard. It can be changed while the player plays: the present pass is
    /// heard to the end of the region at least. Loops are seamless: the region's first frame follows on its last.
    public var loops: Loops {
        get { control.withLock { $0.loops } }
        set {
            control.withLock { control in
                let old = control.loops
                control.loops = newValue
                OpenTransaction.suspended {
                    lengthenPrepared(&control)
                    prepareLoops(&control)
                }
                stage(whenShown: nil, undo: { control in if control.loops == newValue { control.loops = old } })
                passes.set(newValue.passes)
                commands.wrappingAdd(1, ordering: .releasing)
            }
            DiskThread.shared.wake()
        }
    }

    // MARK: Position

    /// The frame of the file that is heard now, reckoned from the last cycle by the clock; offline and at rest the next
    /// one. If nothing plays, it is the frame at which the player would begin.
    public var currentFrame: Int64 {
        let now = playhead.load()
        if now.phase == .idle { return control.withLock { $0.prepared?.geometry.start ?? $0.region.lowerBound } }
        let time = max(now.hostTime.subtractingSaturated(now.sliceLength), min(HostClock.now, now.hostTime))
        return now.position(at: now.sliceLength == 0 ? now.hostTime : time)
    }

    /// The position in the file, in seconds: ``currentFrame`` as a time. Setting it is a ``seek(to:)``.
    public var currentTime: Double {
        get { Double(currentFrame) / file.sampleRate }
        set { seek(to: frames(newValue)) }
    }

    /// Returns the frame of the file that is heard at a host time, from the last cycle on, round the loop or to the end.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    public func playhead(at hostTime: Int64) -> Int64 { playhead.load().position(at: hostTime) }

    private func frames(_ seconds: Double) -> Int64 {
        let frames = (seconds * file.sampleRate).rounded()
        return min(Int64(saturating: max(0, frames)), file.frameCount)
    }
}
