public import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Plays a file from the disk. Pushes one buffer with as many channels as the file has, silent while nothing plays.
///
///     let drums = try FilePlayer(path: "drums.wav")
///     …
///     context.run(drums)
///     …
///     drums.play(at: .now + .milliseconds(500))           // while the loop runs
///     drums.loops = .forever
///     let events = drums.onMain { print($0) }
///
/// The file is streamed: one thread reads for all players, and the render thread copies from a ring of two seconds. A
/// file with the renderer's sample rate comes out sample for sample; another one is converted on the way into the ring.
/// If the disk is too slow, the missing frames are silent; the player counts them in ``underrunCount``, sends an event,
/// and goes on at the place where it would have been. Offline no frame is missing: the renderer waits for the disk.
///
/// Commands may come with the engine running or not. They take effect at the next cycle, those with a
/// time on that frame; those that are given inside `Renderer.transaction` together. Commands that need frames from
/// another place of the file (``play(at:)``, ``seek(to:)``) read the first of them before they return.
///
/// Threads: control.
public final class FilePlayer: Generator, StreamingModule, EventSource {
    /// An amplitude factor.
    public let volume = Parameter(1, in: 0...4)
    /// The balance, from -1 (left) to 1 (right): it makes the far side quieter. Mono becomes stereo if it is
    /// not 0; it does not change files of more than two channels.
    public let pan = Parameter(0, in: -1...1)
    /// A switch for silence, which comes and goes in 10 ms; ``isMuted`` sets it too.
    public let mute = Switch(glide: .linear(.milliseconds(10)))
    /// The number of frames of the straight fades at the start and the end, at a stop, a pause and a seek; 0 for none.
    /// Loops go on without one.
    public let microfade = Parameter(0, in: 0...Float(FilePlayback.longestFade), unit: .frames, glide: .none)

    /// The path of the file, as the program gave it.
    public var path: String { file.path }
    /// Channels of the file, and of the buffer.
    public let channelCount: Int
    /// The number of frames that the file has.
    public var frameCount: Int64 { file.frameCount }
    /// Frames per second of the file.
    public var fileSampleRate: Double { file.sampleRate }
    /// The length of the file, in seconds.
    public var duration: Double { Double(file.frameCount) / file.sampleRate }

    let file: StreamFile
    /// The number of seconds of the file that are read ahead.
    let seconds: Double
    let control: Lock<Control>
    let hub = EventHub<FilePlayerEvent>()
    let playhead = Playhead()
    let port = PlayerPort()
    // The commands, each kind in its place.
    let starts = ManagedValue(DiskCue())
    let seeks = ManagedValue(DiskCue())
    let stops = ManagedValue(DiskCue())
    let pauses = ManagedValue(DiskCue())
    let resumes = ManagedValue(DiskCue())
    let passes = ManagedValue<Int64>(1)
    /// The number of the last command.
    let numbers = Atomic<Int>(0)
    /// Another value whenever there is something for the render thread to look at, and the one that it had when it fell
    /// silent.
    let commands = Atomic<Int>(0)
    /// The number of commands in transactions that have neither been shown nor called off.
    let staged = Atomic<Int>(0)
    private let quietSince = Atomic<Int>(0)
    /// Indicates whether any player of the program has been started.
    static let hasStartedAny = Atomic<Bool>(false)
    /// The disk thread's own notes.
    let notes = Lock(DiskNotes())
    /// The number of frames that can be rendered before the disk has to be looked after, unless there is another
    /// command than this.
    private let supply = Atomic<Int>(0)
    private let supplyCommand = Atomic<Int>(0)
    private let seenStart = Atomic<Int>(0)
    /// The number of times that the region began again, and of frames that the disk had not brought.
    let seams = Atomic<Int>(0)
    let missing = Atomic<Int>(0)
    private let state = RenderState(FilePlayback())

    /// The notes of the disk thread about a player that it looks after.
    struct DiskNotes {
        /// The player's frame when it came by.
        var frame: Int64 = 0
        /// The host time since which a live renderer runs the player, if it has not been started; `.max` when that has been
        /// reported.
        var runsSince: Int64 = 0
        /// The numbers that have been reported.
        var (seams, missing) = (0, 0)
    }

    /// Opens a file and reads its first frames.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - readAhead: Seconds in the ring, 0.25…60: for how long the disk may keep the player waiting. A number outside
    ///     becomes the nearest one, with a notice on standard error.
    /// - Throws: An error if the file cannot be played.
    public convenience init(path: String, readAhead: Double = 2) throws(AudioFileError) {
        try self.init(StreamFile(path: path), readAhead: readAhead)
    }

    /// Plays a sound of which all bytes are in memory, as a file would have them: it decodes them while it plays.
    ///
    /// - Parameters:
    ///   - bytes: The bytes: an MP3, say.
    ///   - name: The name that ``path`` and errors have for it.
    ///   - readAhead: Seconds in the ring, 0.25…60. A number outside becomes the nearest one, with a notice on standard error.
    /// - Throws: An error if the bytes are no sound that can be played.
    public convenience init(
        bytes: [UInt8], name: String = "sound in memory", readAhead: Double = 2
    ) throws(AudioFileError) {
        try self.init(StreamFile(bytes: bytes, name: name), readAhead: readAhead)
    }

    /// Creates a player for anything that can be streamed.
    package init(_ file: StreamFile, readAhead: Double = 2) throws(AudioFileError) {
        self.file = file
        channelCount = file.channelCount
        seconds = nearest(
            to: readAhead, in: 0.25...60, insteadOfNaN: 2,
            "FilePlayer: \(readAhead) s of read-ahead; it must be 0.25…60")
        control = Lock(Control(region: 0..<file.frameCount, sampleRate: file.sampleRate), .module)
        let first = makeStream(from: 0)
        if let failure = first.takeFailure() { throw failure }
        control.withLock {
            $0.prepared = first
            $0.streams = [first]
        }
        DiskThread.shared.add(self)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [volume.named("volume"), pan.named("pan"), mute.named("mute"), microfade.named("microfade")]
    }

    // MARK: Render thread

    /// Pushes a slice of the file.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        switch playOn(&context) {
        case .played: break
        case .busy: render(&context)
        case .foreign:
            context.push(channels: channelCount)
            return
        }
        context.fade(volume: volume, balance: pan)
        if !mute.restsOff(context) { silence(mute.glide(context), &context) }
    }

    /// The outcome of a slice: it played on; there is more to do; the player is another renderer's.
    private enum Outcome: BitwiseCopyable { case played, busy, foreign }

    /// Plays the usual slice, which is nearly every one: pushes the next frames of the stream that played before.
    @_noLocks @_noAllocation
    private func playOn(_ context: inout RenderContext) -> Outcome {
        let number = commands.load(ordering: .acquiring)
        let channels = channelCount
        // It may change at any time, without a command.
        let fade = Int(microfade.current(context))
        var frame: Int64 = -2
        var missing = 0
        state.with(&context) { playback, context in
            frame = -1
            if playback.isSteady(frames: context.frameCount &+ fade, lastCommand: number) {
                context.pushUninitialized(channels: channels)
                missing = playback.playOn(&context)
                frame = playback.heard.frame
            }
        }
        if frame < 0 { return frame == -1 && !context.isDryRun ? .busy : .foreign }
        if missing > 0 { self.missing.wrappingAdd(missing, ordering: .relaxed) }
        supply.store(supply.load(ordering: .relaxed) &- context.frameCount, ordering: .relaxed)
        let length = nanoseconds(context)
        playhead.store(
            frame: frame, hostTime: context.hostTime &+ length, sliceLength: context.isOffline ? 0 : length)
        return .played
    }

    /// Returns the length of a slice in nanoseconds.
    @_noLocks @_noAllocation
    private func nanoseconds(_ context: borrowing RenderContext) -> Int64 {
        Int64(Double(context.frameCount) * 1e9 / context.sampleRate)
    }

    /// Plays any other slice. A function of its own, so that the usual slice need not make room for its variables.
    @_noLocks @_noAllocation
    @inline(never) private func render(_ context: inout RenderContext) {
        context.push(channels: channelCount)
        var playback = state.read(context)
        takeCommands(&playback, &context)
        let before = playback.heard.stream?.id ?? 0
        var left = supply.load(ordering: .relaxed) &- context.frameCount
        var first = 0
        while true {
            let due = playback.nextDue(context, from: first)
            playback.advance(&context, at: first, frames: due.frame &- first, to: port)
            if playback.leaving.stream != nil && due.frame > first {
                context.push(channels: channelCount)
                playback.advanceLeaving(&context, at: first, frames: due.frame &- first)
                context.mix(2)
            }
            first = due.frame
            guard let command = due.command else { break }
            playback.perform(command, &context, at: first, port)
            left = 0
        }
        if before != playback.heard.stream?.id ?? 0 { left = 0 }
        supply.store(left, ordering: .relaxed)
        publish(&playback, context)
        playback.settle(isStaged: staged.load(ordering: .relaxed) > 0)
        state.write(playback, context)
    }

    /// Ends the playing file, at once.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        var playback = state.read(context)
        takeCommands(&playback, &context)
        playback.leaving.letGo(keeping: playback.heard)
        playback.heard.letGo(keeping: playback.leaving)
        playback.phase = .idle
        playback.start.isWaiting = false
        supply.store(0, ordering: .relaxed)
        publish(&playback, context)
        state.write(playback, context)
    }

    /// Returns whether a file plays, or is about to.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        quietSince.load(ordering: .relaxed) != commands.load(ordering: .relaxed)
    }

    /// Looks at the commands of control code since the last slice.
    @_noLocks @_noAllocation
    private func takeCommands(_ playback: inout FilePlayback, _ context: inout RenderContext) {
        // The number is read before the commands that it announces.
        playback.commands = commands.load(ordering: .acquiring)
        playback.isSeekDeferred = false
        playback.fade = Int(microfade.current(context))
        passes.with(&context) { passes, _ in playback.passes = passes }
        // A seek needs the start before it: so seeks come first, and one that is given meanwhile is seen in the next slice.
        seeks.with(&context) { cue, _ in playback.seek.look(at: cue) }
        starts.with(&context) { cue, _ in playback.start.look(at: cue) }
        stops.with(&context) { cue, _ in playback.stop.look(at: cue) }
        pauses.with(&context) { cue, _ in playback.pause.look(at: cue) }
        resumes.with(&context) { cue, _ in playback.resume.look(at: cue) }
    }

    /// Publishes the place of the player after this slice.
    @_noLocks @_noAllocation
    private func publish(_ playback: inout FilePlayback, _ context: borrowing RenderContext) {
        if playback.seams > 0 { seams.wrappingAdd(playback.seams, ordering: .relaxed) }
        if playback.missing > 0 { missing.wrappingAdd(playback.missing, ordering: .relaxed) }
        playback.seams = 0
        playback.missing = 0
        var shown = Playhead.State()
        if let stream = playback.heard.stream, let item = playback.heard.item {
            shown.phase = playback.isSounding ? .playing : .paused
            shown.stream = stream.id
            shown.item = item.id
            if stream.id != playback.shownStream { shown.geometry = stream.geometry }
            shown.frame = playback.heard.frame
        }
        shown.sampleRate = context.sampleRate
        let length = nanoseconds(context)
        shown.hostTime = context.hostTime &+ length
        shown.sliceLength = context.isOffline ? 0 : length
        playhead.store(shown, isSameStream: shown.stream == playback.shownStream)
        playback.shownStream = shown.stream
        if playback.start.number > playback.lastStart { playback.lastStart = playback.start.number }
        seenStart.store(playback.lastStart &* 2 &+ (playback.start.isWaiting ? 1 : 0), ordering: .releasing)
        let isQuiet = playback.isActive ? false : staged.load(ordering: .relaxed) == 0
        quietSince.store(isQuiet ? playback.commands : -1, ordering: .relaxed)
    }

    @_noLocks @_noAllocation
    private func silence(_ mute: Glide, _ context: inout RenderContext) {
        var top = context.top
        var channel = 0
        while channel < top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] *= 1 - mute[i] }
            channel &+= 1
        }
    }

    // MARK: Offline

    /// Reads the frames that the slice will need.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        let number = commands.load(ordering: .acquiring)
        var frames = 0
        let isStaged = staged.load(ordering: .relaxed) > 0
        state.with(&context) { playback, context in
            frames = isStaged ? 0 : playback.supply(context, lastCommand: number)
        }
        if frames >= context.frameCount {
            supplyCommand.store(number, ordering: .relaxed)
            supply.store(frames, ordering: .relaxed)
            return
        }
        var playback = state.read(context)
        takeCommands(&playback, &context)
        playback.jumpAhead(&context)
        // The call below has the next stream made; whoever changes the loop later does so too.
        playback.followedStream = playback.heard.stream?.id ?? 0
        state.write(playback, context)
        // Several slices at once: a read costs more than a slice.
        fillAll(frames: context.frameCount + 12_288)
    }

    /// Returns whether frames are left of those that were found last, and there has been no command since. A stream
    /// that is started at this very moment has a tenth of a second: see `makeStream`.
    public func isDiskReady(frames: Int) -> Bool {
        frames <= 512 && supply.load(ordering: .relaxed) >= frames
            && supplyCommand.load(ordering: .relaxed) == commands.load(ordering: .acquiring)
    }

    // MARK: Reports for the control side

    /// The number of frames that were silent because the disk was too slow.
    public var underrunCount: Int { missing.load(ordering: .relaxed) }

    /// Indicates whether nothing plays, and nothing is to.
    var isQuiet: Bool { quietSince.load(ordering: .acquiring) == commands.load(ordering: .acquiring) }

    /// Returns whether a start was asked for that has been neither made nor called off.
    func isStarting(_ control: Control) -> Bool {
        let seen = seenStart.load(ordering: .acquiring)
        return control.stagedStarts > 0 || seen & 1 == 1 || seen >> 1 < control.start.number
    }

    /// Returns whether the render thread has not seen the last start yet, and will see it before a command that is given
    /// now, or together with that.
    func isStartUnseen(_ control: Control) -> Bool {
        seenStart.load(ordering: .acquiring) >> 1 < control.start.number
            && (!control.start.isStaged || OpenTransaction.exists)
    }
}

extension FilePlayer: EndingModule {
    /// Indicates whether nothing is heard, and nothing is about to be.
    package var isAtRest: Bool { isQuiet && staged.load(ordering: .acquiring) == 0 }
}
