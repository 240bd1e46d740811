internal import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Plays a queue of sounds in memory, files, and segments of files, one after the other, each exactly on its frame. Pushes
/// one buffer, silent while nothing plays.
///
///     let siren = BufferPlayer()
///     siren.schedule(attack)
///     siren.schedule(wail, .loops)
///     siren.play()
///     …
///     siren.schedule(release, .interruptsAtLoop)          // when the key is released
///
///     let radio = BufferPlayer()
///     radio.schedule(jingle, gain: 0.7)                                           // from memory
///     try radio.schedule(path: "news.flac").when { ending in print(ending) }      // streamed from the disk
///     try radio.schedule(path: "show.wav", frames: 48_000..<9_600_000, at: .sample(2_880_000))
///     radio.play()
///
/// Each sound follows on the last frame of the one before, in the middle of a cycle and without a seam, whether the two are in
/// memory or on the disk, and whatever their sample rates. A sound with a time waits for it; if it has passed, the sound
/// begins at once, with its first frame. A sound that loops stays until another interrupts it. An interruption drops
/// everything that was scheduled before it.
///
/// Files are read ahead by the thread that reads for all players, a second or more before their turn; segments of any length
/// are cut on their frame. A file that cannot be read when its turn comes, or not to its end, tells so by its
/// ``ScheduledSound/Ending``, and the next sound follows on its last frame that there is. Where the disk is too slow, or a
/// file interrupts that was scheduled a moment before, the missing frames are silent and counted; offline the renderer waits.
///
/// Sounds of another sample rate are converted when they are scheduled, and files while they are read. Channels meet by the
/// rule of `AudioBlock`. The samples come out as they are, bit for bit, unless they have a gain, or another tempo or pitch is
/// set (``StretchingPlayer``). When nothing is left to play there is silence, and the player goes on with the sound that
/// is scheduled next; until then it is not active, and costs a mixer nothing.
///
/// Everything may be called with the engine running or not, and inside `Renderer.transaction`: players that are started
/// there start on the same frame.
///
/// - Complexity: In each slice O(*n*) of the sounds that are scheduled if one of them interrupts, else of those that
///   have ended within some milliseconds. Scheduling one costs the same however many there are, but O(*n*) in a
///   transaction.
///
/// Threads: control.
public final class BufferPlayer: Generator, EventSource {
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
    /// Indicates whether the player was started, and neither paused nor stopped since.
    let isStarted = Atomic<Bool>(false)
    let outputDelay = Atomic<Int64>(0)
    /// The sound that is heard and its frame, and whether it is rendered live.
    let playhead = Playhead()
    let isLive = Atomic<Bool>(false)
    let hub = EventHub<BufferPlayerEvent>()
    let handlers = HandlerQueue()
    /// Indicates whether there have ever been files, or sounds that are stretched; the frames that are there offline, and
    /// those that were not.
    let streams = Atomic<Bool>(false)
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
        for (ticket, ending) in sounding { ticket.reach(.played, ending) }
        for ticket in scheduled { ticket.cut() }
        hub.finish()
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
        if playback.sampleRate != context.sampleRate { changeRate(&playback, &context) }
        if streams.load(ordering: .acquiring) { follow(&playback, &context) }
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
        publish(&playback, context)
        state.write(playback, context)
    }

    /// Takes the current sound to the renderer's new sample rate.
    @_noLocks @_noAllocation
    private func changeRate(_ playback: inout BufferPlayback, _ context: inout RenderContext) {
        let ratio = playback.sampleRate > 0 ? context.sampleRate / playback.sampleRate : 1
        playback.sampleRate = context.sampleRate
        // A sound in memory keeps its number, and has other frames.
        playback.shownStream = 0
        if playback.current.number == 0 { return playback.endTail() }
        let number = playback.current.number
        entries.search(&context) { entry, _ in
            if entry.number != number { return false }
            playback.follow(ratio: ratio, entry)
            return true
        }
    }

    /// Has the current sound go on at another tempo or pitch, if there is a change.
    @_noLocks @_noAllocation
    private func follow(_ playback: inout BufferPlayback, _ context: inout RenderContext) {
        supply.store(supply.load(ordering: .relaxed) &- context.frameCount, ordering: .relaxed)
        if !playback.isSettled { return }
        let number = playback.current.number
        entries.search(&context) { entry, context in
            if entry.number != number { return false }
            let stream = entry.stream(&context)
            playback.follow(entry, stream, frames: context.frameCount, fade: Int(context.sampleRate / 50))
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
        publish(&playback, context)
        state.write(playback, context)
    }

    /// Returns whether a sound plays or rests, or is scheduled in a player that was started.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        if commands.count > 0 { return true }
        let playback = state.read(context)
        if playback.tail.number != 0 { return true }
        if !playback.isPlaying && !playback.isPaused { return false }
        return playback.done < newest.load(ordering: .relaxed)
    }

    /// Shows the control side how far it has come.
    @_noLocks @_noAllocation
    private func publish(_ playback: inout BufferPlayback, _ context: borrowing RenderContext) {
        var shown = playback.shown()
        let length = Int64(Double(context.frameCount) * 1e9 / context.sampleRate)
        shown.sampleRate = context.sampleRate
        shown.hostTime = context.hostTime &+ length
        shown.sliceLength = context.isOffline ? 0 : length
        playhead.store(shown, isSameStream: shown.stream == playback.shownStream)
        playback.shownStream = shown.stream
        isStarted.store(playback.isPlaying, ordering: .relaxed)
        var through = playback.done
        if playback.tail.number != 0 && playback.tail.number <= through { through = playback.tail.number &- 1 }
        done.store(through, ordering: .releasing)
    }
}

extension BufferPlayer: EndingModule {
    /// Indicates whether nothing is heard, and nothing is about to be.
    package var isAtRest: Bool {
        commands.count == 0 && done.load(ordering: .acquiring) >= newest.load(ordering: .acquiring)
    }
}
