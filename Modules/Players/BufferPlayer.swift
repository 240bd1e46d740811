internal import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Plays sounds from memory one after the other, each exactly on its frame. Pushes one buffer, silent while nothing
/// plays.
///
///     let siren = BufferPlayer()
///     siren.schedule(attack)
///     siren.schedule(wail, .loops)
///     siren.play()
///     …
///     siren.schedule(release, .interruptsAtLoop)          // when the key is released
///
/// Each sound follows on the last frame of the one before, in the middle of a cycle and without a seam. A sound with a
/// time waits for it; if it has passed, the sound begins at once, with its first frame. A sound that loops stays until
/// another interrupts it. An interruption drops everything that was scheduled before it.
///
/// Sounds of another sample rate are converted when they are scheduled. Channels meet by the rule of `AudioBlock`. The
/// samples come out as they are, bit for bit, unless another tempo or pitch is set (``StretchingPlayer``). When nothing is
/// left to play there is silence, and the player goes on with the sound that is scheduled next; until then it is not
/// active, and costs a mixer nothing.
///
/// Everything may be called with the engine running or not, and inside `Renderer.transaction`: players that are started
/// there start on the same frame.
///
/// - Complexity: In each slice O(*n*) of the sounds that are scheduled if one of them interrupts, else of those that
///   have ended within some milliseconds. Scheduling one costs the same however many there are, but O(*n*) in a
///   transaction.
///
/// Threads: control.
public final class BufferPlayer: Generator {
    /// The number of frames in which a sound that is stopped, paused or interrupted fades out, while the next one
    /// begins on its frame; and in which a sound that goes on after a pause fades in. 0 for none: a clean cut.
    public let microfade = Parameter(0, in: 0...65_536, unit: .frames, glide: .none)

    /// Channels of the buffer.
    public let channelCount: Int
    /// The name of the player in faults and statistics.
    public let name: String

    let control = Lock(Control(), .module)
    let entries = ManagedArray<Int, BufferEntry>()
    let commands = CommandQueue<Command>()
    /// The number of the last sound that is scheduled, and of the last one that interrupts.
    let newest = Atomic<Int>(0)
    let newestInterruption = Atomic<Int>(0)
    /// The render thread is through with every sound up to this number.
    let done = Atomic<Int>(0)
    let shownState = Atomic<Int>(0)
    let outputDelay = Atomic<Int64>(0)
    /// The sound that is heard and its frame, for a change of the tempo, and whether it is rendered live.
    let place = Atomic<Int64>(0)
    let isLive = Atomic<Bool>(false)
    /// Indicates whether sounds have ever been stretched, the frames that are there offline, and those that were not.
    let stretches = Atomic<Bool>(false)
    let supply = Atomic<Int>(0)
    let missing = Atomic<Int>(0)
    private let state = RenderState(BufferPlayback())

    /// A command of control code.
    struct Command: BitwiseCopyable, Sendable {
        enum Action: BitwiseCopyable, Sendable { case play, pause, stop }
        let action: Action
        /// A stop drops the sounds that were scheduled up to here.
        let number: Int
    }

    /// Creates a player without sounds.
    ///
    /// - Parameters:
    ///   - channels: Channels of the buffer, 1…64.
    ///   - name: The name in faults and statistics.
    /// - Precondition: The number is in range.
    public init(channels: Int = 2, name: String = "BufferPlayer") {
        demand(channels >= 1 && channels <= 64, "BufferPlayer has 1 to 64 channels, not \(channels)")
        channelCount = channels
        self.name = name
    }

    deinit {
        let (scheduled, sounding) = control.withLock { ($0.tickets, $0.sounding) }
        for ticket in scheduled { ticket.cut() }
        for ticket in sounding { ticket.reach(.played) }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [microfade.named("microfade")] }

    // MARK: Render thread

    /// Pushes a slice of the playing sound.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channelCount)
        guard state.belongs(to: context) else { return }
        var playback = state.read(context)
        playback.fade = Int(microfade.current(context))
        if stretches.load(ordering: .acquiring) { follow(&playback, &context) }
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            advance(&playback, &context, from: frame, to: due.frame)
            frame = due.frame
            switch due.command.action {
            case .play: playback.start()
            case .pause: playback.rest()
            case .stop: playback.stop(upTo: due.command.number)
            }
        }
        advance(&playback, &context, from: frame, to: context.frameCount)
        if playback.missing > 0 {
            missing.wrappingAdd(playback.missing, ordering: .relaxed)
            playback.missing = 0
        }
        isLive.store(!context.isOffline, ordering: .relaxed)
        publish(playback)
        state.write(playback, context)
    }

    /// Has the current sound go on at another tempo or pitch, if there is a change.
    @_noLocks @_noAllocation
    private func follow(_ playback: inout BufferPlayback, _ context: inout RenderContext) {
        supply.store(supply.load(ordering: .relaxed) &- context.frameCount, ordering: .relaxed)
        if !playback.isSettled { return }
        let number = playback.current.number
        entries.search(&context) { entry, context in
            if entry.number != number { return false }
            playback.follow(entry, frames: context.frameCount, fade: Int(context.sampleRate / 50))
            return true
        }
    }

    /// Stops at once, and drops everything that was scheduled.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        var playback = state.read(context)
        playback.endTail()
        playback.end()
        playback = BufferPlayback()
        playback.done = newest.load(ordering: .acquiring)
        publish(playback)
        state.write(playback, context)
    }

    /// Returns whether a sound plays, or is scheduled.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        if commands.count > 0 { return true }
        let playback = state.read(context)
        if playback.tail.number != 0 { return true }
        return playback.isPlaying ? playback.done < newest.load(ordering: .relaxed) : false
    }

    /// Shows the control side how far it has come.
    @_noLocks @_noAllocation
    private func publish(_ playback: BufferPlayback) {
        var through = playback.done
        if playback.tail.number != 0 && playback.tail.number <= through { through = playback.tail.number &- 1 }
        done.store(through, ordering: .releasing)
        place.store(playback.shownPlace(playback.stream?.geometry), ordering: .releasing)
        shownState.store(playback.isPlaying ? playback.current.number != 0 ? 2 : 1 : 0, ordering: .relaxed)
    }

    /// Renders some frames of the slice.
    @_noLocks @_noAllocation
    private func advance(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, from first: Int, to end: Int
    ) {
        var frame = first
        if !playback.isPlaying {
            addTail(&playback, &context, at: frame, frames: end &- frame)
            return
        }
        var outlook = look(playback, &context, at: frame)
        while frame < end {
            if outlook.cut.isDue(at: frame) {
                playback.leave()
                begin(outlook.cut, &playback, &context)
            } else if playback.current.number == 0 && outlook.turn.isDue(at: frame) {
                begin(outlook.turn, &playback, &context)
            } else if playback.current.number == 0 && outlook.next.isDue(at: frame) {
                begin(outlook.next, &playback, &context)
            } else if playback.current.number != 0 && playback.current.frame >= playback.length {
                if playback.length > 0 && playback.loops && !outlook.turn.isDue(at: frame) {
                    playback.goRound()
                    continue
                }
                finish(&playback, &context, at: frame)
            } else {
                var count = end &- frame
                if outlook.cut.frame &- frame < count { count = outlook.cut.frame &- frame }
                if playback.current.number == 0 {
                    if outlook.turn.frame &- frame < count { count = outlook.turn.frame &- frame }
                    if outlook.next.frame &- frame < count { count = outlook.next.frame &- frame }
                } else {
                    let rest = playback.length &- playback.current.frame
                    if rest < count { count = rest }
                    play(&playback, &context, at: frame, frames: count)
                }
                addTail(&playback, &context, at: frame, frames: count)
                frame &+= count
                let hasEnded = playback.current.number != 0 && playback.current.frame >= playback.length
                if !hasEnded || playback.loops { continue }
                finish(&playback, &context, at: frame)
            }
            outlook = look(playback, &context, at: frame)
        }
    }

    /// Returns the scheduled sound that comes next, and its frame.
    @_noLocks @_noAllocation
    private func look(
        _ playback: BufferPlayback, _ context: inout RenderContext, at frame: Int
    ) -> BufferPlayback.Outlook {
        var outlook = BufferPlayback.Outlook()
        let past = playback.current.number != 0 ? playback.current.number : playback.done
        let interruption = newestInterruption.load(ordering: .relaxed)
        if newest.load(ordering: .relaxed) <= past { return outlook }
        entries.search(&context) { entry, context in
            if entry.number <= past { return false }
            let start = entry.start(context, notBefore: frame)
            let found = BufferPlayback.Cue(number: entry.number, frame: start)
            if outlook.next.number == 0 { outlook.next = found }
            switch entry.interruption {
            case .none: break
            case .atOnce: if start <= outlook.cut.frame { outlook.cut = found }
            case .atLoop: if start <= outlook.turn.frame { outlook.turn = found }
            }
            return interruption <= past
        }
        return outlook
    }

    @_noLocks @_noAllocation
    private func begin(_ cue: BufferPlayback.Cue, _ playback: inout BufferPlayback, _ context: inout RenderContext) {
        playback.done = cue.number &- 1
        playback.end()
        playback.current = BufferPlayback.Place(number: cue.number)
        playback.fadeIn = 0
        playback.length = 0
        playback.loops = false
        entries.search(&context) { entry, context in
            if entry.number != cue.number { return false }
            playback.begin(entry)
            return true
        }
    }

    /// Ends a sound whose last frame has been taken.
    @_noLocks @_noAllocation
    private func finish(_ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int) {
        let end = context.isOffline ? 0 : context.hostTime &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        let place = playback.current
        entries.search(&context) { entry, context in
            if entry.number != place.number { return false }
            entry.end[0] = UInt64(bitPattern: end > 0 ? end : 1)
            return true
        }
        playback.done = place.number
        playback.end()
    }

    @_noLocks @_noAllocation
    private func play(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        let place = playback.current
        if let stream = playback.stream {
            playback.missing &+= stream.read(Int64(place.frame), frames, into: &context, at: frame)
        } else {
            entries.search(&context) { entry, context in
                if entry.number != place.number { return false }
                entry.write(place.frame, frames, into: &context, at: frame)
                return true
            }
        }
        if playback.fadeIn > 0 {
            let faded = playback.fadeIn < frames ? playback.fadeIn : frames
            let (left, length) = (playback.fadeIn, playback.fadeInLength)
            weigh(&context, at: frame, frames: faded) { 1 - Float(left &- $0) / Float(length) }
            playback.fadeIn &-= faded
        }
        playback.current.frame &+= frames
    }

    /// Adds the sound that has been cut off and fades out.
    @_noLocks @_noAllocation
    private func addTail(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        if playback.tailStream != nil { return addTailStream(&playback, &context, at: frame, frames: frames) }
        var done = 0
        while playback.tail.number != 0 && done < frames {
            var count = frames &- done < playback.tailLeft ? frames &- done : playback.tailLeft
            let (place, left, length) = (playback.tail, playback.tailLeft, playback.tailLength)
            var added = 0
            var loops = false
            entries.search(&context) { entry, context in
                if entry.number != place.number { return false }
                if entry.frameCount &- place.frame < count { count = entry.frameCount &- place.frame }
                if count > 0 {
                    entry.write(place.frame, count, into: &context, at: frame &+ done, left: left, of: length)
                    added = count
                }
                loops = entry.loops && entry.frameCount > 0
                return true
            }
            done &+= added
            playback.tail.frame &+= added
            playback.tailLeft &-= added
            if playback.tailLeft <= 0 || added == 0 && (!loops || place.frame == 0) {
                playback.tail = BufferPlayback.Place()
            } else if added == 0 {
                playback.tail.frame = 0
            }
        }
    }

    /// Adds a stretched sound that fades out, by way of a buffer of its own.
    @_noLocks @_noAllocation
    private func addTailStream(
        _ playback: inout BufferPlayback, _ context: inout RenderContext, at frame: Int, frames: Int
    ) {
        guard let stream = playback.tailStream else { return }
        let rest = stream.end &- Int64(playback.tail.frame)
        var count = frames < playback.tailLeft ? frames : playback.tailLeft
        if rest < Int64(count) { count = rest > 0 ? Int(rest) : 0 }
        if count > 0 {
            context.push(channels: channelCount)
            playback.missing &+= stream.read(Int64(playback.tail.frame), count, into: &context, at: frame)
            let (left, length) = (playback.tailLeft, playback.tailLength)
            weigh(&context, at: frame, frames: count) { Float(left &- $0) / Float(length) }
            context.mix(2)
        }
        // A sound that rests goes on behind its fade: a stream is read once.
        if playback.isTailShared { playback.current.frame &+= count }
        playback.tail.frame &+= count
        playback.tailLeft &-= count
        if playback.tailLeft <= 0 || count < frames { playback.endTail() }
    }
}
