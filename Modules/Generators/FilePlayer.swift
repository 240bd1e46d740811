public import AudioFiles
public import RenderCore
internal import Synchronization

/// Plays a file from the disk. Pushes one buffer with as many channels as the file has, silent while nothing plays.
///
///     let drums = try FilePlayer(path: "drums.wav")
///     …
///     context.run(drums)
///     …
///     drums.play(at: .now + .milliseconds(500))           // from any thread
///     drums.loops = .forever
///     let told = drums.onMain { print($0) }
///
/// The file is streamed: one thread reads for all players, and the render thread copies from a ring of two seconds. A file
/// with the renderer's sample rate comes out sample for sample; another one is converted on the way into the ring. What
/// the disk does not bring in time is silence, counted in ``underrunCount``, and told; the player then is where it would
/// have been. Rendered offline nothing is missing: the renderer waits for the disk.
///
/// Commands may come from any thread, with the engine running or not. They take effect at the next cycle, those with a
/// time on that frame; those that are given inside `Renderer.transaction` together. Those that need
/// frames from another place of the file (``play(at:)``, ``seek(to:)``) read the first of them before they return.
public final class FilePlayer: Generator, StreamingModule, EventSource {
    /// An amplitude factor.
    public let volume = Parameter(1, in: 0...4)
    /// To the side, the other side gets quieter: -1 (left) to 1 (right). Mono becomes stereo where it is not 0; files of
    /// more than two channels take no notice.
    public let pan = Parameter(0, in: -1...1)
    /// 1 is silence, 0 is not; see ``isMuted``.
    public let mute = Parameter(0, in: 0...1)
    /// Frames of the straight fades at the start and the end, at a stop, a pause and a seek; 0 for none. Loops and the
    /// queue go on without one.
    public let microfade = Parameter(0, in: 0...Float(Playback.longestFade), unit: .frames, glide: .none)

    /// The file as it was named.
    public var path: String { file.path }
    /// Channels of the file, and of the buffer.
    public let channelCount: Int
    /// How many frames the file has.
    public var frameCount: Int64 { file.frameCount }
    /// Frames per second of the file.
    public var fileSampleRate: Double { file.sampleRate }
    /// How long the file is, in seconds.
    public var duration: Double { Double(file.frameCount) / file.sampleRate }

    let file: StreamFile
    /// How much of the file is read ahead.
    let seconds: Double
    let control: Lock<Control>
    let hub = EventHub<FilePlayerEvent>()
    let playhead = Playhead()
    let port = PlayerPort()
    let starts = ManagedValue(StreamCue.none)
    let seeks = ManagedValue(StreamCue.none)
    let stops = ManagedValue(TimedCue(number: 0, time: .immediately))
    let pauses = ManagedValue(TimedCue(number: 0, time: .immediately))
    let resumes = ManagedValue(TimedCue(number: 0, time: .immediately))
    let passes = ManagedValue<Int64>(1)
    /// The number of the last command, and of the last one that the render thread has seen before it fell silent.
    let commands = Atomic<Int>(0)
    private let quietSince = Atomic<Int>(0)
    /// Where it was when the disk thread came by.
    let lastLook = Atomic<Int64>(0)
    /// How many frames can be rendered before the disk has to be looked after, unless there is another command than this.
    private let supply = Atomic<Int>(0)
    private let supplyCommand = Atomic<Int>(0)
    private let seenStart = Atomic<Int>(0)
    private let seams = Atomic<Int>(0)
    private let missing = Atomic<Int>(0)
    private let missed = Atomic<Int>(0)
    private let state = RenderState(Playback())

    /// A command that needs no more than its time.
    struct TimedCue: Sendable {
        let number: Int
        let time: RenderTime
    }

    /// Opens a file and reads its first frames.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - readAhead: seconds in the ring, 0.25…60: for how long the disk may keep the player waiting.
    /// - Throws: why the file cannot be played.
    /// - Precondition: the number is in range.
    public convenience init(path: String, readAhead: Double = 2) throws(AudioFileError) {
        try self.init(StreamFile(path: path), readAhead: readAhead)
    }

    /// The same for anything that can be streamed.
    package init(_ file: StreamFile, readAhead: Double = 2) throws(AudioFileError) {
        precondition(
            readAhead >= 0.25 && readAhead <= 60, "FilePlayer: \(readAhead) s of read-ahead; it must be 0.25…60")
        self.file = file
        channelCount = file.channelCount
        seconds = readAhead
        control = Lock(Control(region: 0..<file.frameCount, sampleRate: file.sampleRate))
        let first = makeStream(file, from: 0)
        if let failure = first.takeFailure() { throw failure }
        control.withLock {
            $0.prepared = first
            $0.streams = [first]
        }
        DiskThread.shared.add(self)
    }

    deinit { hub.finish() }

    // MARK: Render thread

    /// Pushes a slice of what plays.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if !playOn(&context) {
            context.push(channels: channelCount)
            var playback = state.read(context)
            render(&playback, &context)
            state.write(playback, context)
        }
        context.fade(volume: volume, balance: pan)
        let mute = mute.glide(context)
        if !mute.isFlat || mute.end != 0 { silence(mute, &context) }
    }

    /// What a slice nearly always is: the next frames of what played before, pushed. `false`: there is more to do.
    @_noLocks @_noAllocation
    private func playOn(_ context: inout RenderContext) -> Bool {
        let number = commands.load(ordering: .acquiring)
        let channels = channelCount
        var frame: Int64 = -1
        var missing = 0
        state.with(&context) { playback, context in
            if playback.isSteady(frames: context.frameCount, lastCommand: number) {
                context.pushUninitialized(channels: channels)
                missing = playback.playOn(&context)
                frame = playback.voice.frame
            }
        }
        if frame < 0 { return false }
        if missing > 0 { self.missing.wrappingAdd(missing, ordering: .relaxed) }
        supply.store(supply.load(ordering: .relaxed) &- context.frameCount, ordering: .relaxed)
        let length = nanoseconds(context)
        playhead.store(
            frame: frame, hostTime: context.hostTime &+ length, sliceLength: context.isOffline ? 0 : length)
        return true
    }

    /// How long a slice is.
    @_noLocks @_noAllocation
    private func nanoseconds(_ context: borrowing RenderContext) -> Int64 {
        Int64(Double(context.frameCount) * 1e9 / context.sampleRate)
    }

    @_noLocks @_noAllocation
    private func render(_ playback: inout Playback, _ context: inout RenderContext) {
        takeCommands(&playback, &context)
        let before = playback.voice.stream?.id ?? 0
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
            if due.which < 0 { break }
            playback.perform(due.which, &context, at: first, port)
            left = 0
        }
        if before != playback.voice.stream?.id ?? 0 { left = 0 }
        supply.store(left, ordering: .relaxed)
        publish(&playback, context)
        playback.settle()
    }

    /// Ends what plays, at once.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var playback = state.read(context)
        takeCommands(&playback, &context)
        playback.voice.letGo()
        playback.leaving.letGo()
        playback.phase = .idle
        playback.start.isWaiting = false
        supply.store(0, ordering: .relaxed)
        publish(&playback, context)
        state.write(playback, context)
    }

    /// Whether something plays, or is about to.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        quietSince.load(ordering: .relaxed) != commands.load(ordering: .relaxed)
    }

    /// Looks at what control code has asked for since the last slice.
    @_noLocks @_noAllocation
    private func takeCommands(_ playback: inout Playback, _ context: inout RenderContext) {
        let fade = microfade.current(context)
        playback.fade = Int(fade)
        passes.with(&context) { passes, _ in playback.passes = passes }
        seeks.with(&context) { cue, _ in
            if playback.seek.take(cue.number, cue.time) { playback.seekStream = cue.reference }
        }
        starts.with(&context) { cue, _ in
            if playback.start.take(cue.number, cue.time) { playback.startStream = cue.reference }
        }
        stops.with(&context) { cue, _ in _ = playback.stop.take(cue.number, cue.time) }
        pauses.with(&context) { cue, _ in _ = playback.pause.take(cue.number, cue.time) }
        resumes.with(&context) { cue, _ in _ = playback.resume.take(cue.number, cue.time) }
    }

    /// Shows everybody where the player is after this slice.
    @_noLocks @_noAllocation
    private func publish(_ playback: inout Playback, _ context: borrowing RenderContext) {
        if playback.seams > 0 { seams.wrappingAdd(playback.seams, ordering: .relaxed) }
        if playback.missing > 0 { missing.wrappingAdd(playback.missing, ordering: .relaxed) }
        playback.seams = 0
        playback.missing = 0
        var shown = Playhead.State()
        if let stream = playback.voice.stream, let item = playback.voice.item {
            shown.phase = playback.isSounding ? .playing : .paused
            shown.stream = stream.id
            shown.item = item.id
            if stream.id != playback.shownStream { shown.geometry = stream.geometry }
            shown.frame = playback.voice.frame
        }
        shown.sampleRate = context.sampleRate
        let length = nanoseconds(context)
        shown.hostTime = context.hostTime &+ length
        shown.sliceLength = context.isOffline ? 0 : length
        playhead.store(shown, isSameStream: shown.stream == playback.shownStream)
        playback.shownStream = shown.stream
        let start = playback.start
        seenStart.store(start.isWaiting ? start.number &- 1 : start.number, ordering: .releasing)
        if playback.isActive {
            quietSince.store(-1, ordering: .relaxed)
        } else {
            quietSince.store(playback.lastCommand, ordering: .relaxed)
        }
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

    /// Reads what the slice will need.
    public func awaitDisk(_ context: inout RenderContext) {
        let number = commands.load(ordering: .acquiring)
        var frames = 0
        state.with(&context) { playback, context in frames = playback.supply(context, lastCommand: number) }
        if frames >= context.frameCount {
            supplyCommand.store(number, ordering: .relaxed)
            supply.store(frames, ordering: .relaxed)
            return
        }
        var playback = state.read(context)
        takeCommands(&playback, &context)
        // A start in the past begins further on.
        if playback.start.isWaiting && context.frames(until: playback.start.time) < Int64(context.frameCount) {
            let start = playback.pendingStart(context, at: 0)
            if let stream = start.stream, start.late > 0 {
                let voice = playback.beginning(stream, late: start.late, &context)
                voice.stream?.jump(to: voice.frame)
            }
        }
        state.write(playback, context)
        // Several slices at once: a read costs more than a slice.
        fillAll(frames: context.frameCount + 12_288)
    }

    /// Whether frames are left of what was found last, and nobody has told it anything since. A stream that somebody starts
    /// this very moment has a tenth of a second: see `makeStream`.
    public func isDiskReady(frames: Int) -> Bool {
        frames <= 512 && supply.load(ordering: .relaxed) >= frames
            && supplyCommand.load(ordering: .relaxed) == commands.load(ordering: .acquiring)
    }

    // MARK: What happened, for the control side

    /// What the render thread has counted since the last call.
    func takeCounts() -> (seams: Int, missing: Int) {
        let frames = missing.exchange(0, ordering: .relaxed)
        if frames > 0 { missed.wrappingAdd(frames, ordering: .relaxed) }
        return (seams.exchange(0, ordering: .relaxed), frames)
    }

    /// How many frames were silent because the disk was too slow.
    public var underrunCount: Int { missed.load(ordering: .relaxed) + missing.load(ordering: .relaxed) }

    /// Whether nothing plays, and nothing is to.
    var isQuiet: Bool { quietSince.load(ordering: .acquiring) == commands.load(ordering: .acquiring) }

    /// Whether a start was asked for that has been neither made nor called off.
    func isStarting(_ number: Int) -> Bool { seenStart.load(ordering: .acquiring) < number }
}
