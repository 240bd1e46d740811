public import AudioFiles
internal import DiskStreaming
internal import RenderCore
internal import Sharing

/// One scheduling of a sound or a file, which reports its stages.
///
///     let ending = await player.schedule(announcement).wait()             // heard, cut off, or damaged
///     player.schedule(part).when(.consumed) { _ in feedTheNext() }
///
/// The sounds of a player reach each stage in the order of the queue, each of them once: also those that are cut, and files
/// that cannot be read. The handlers of a player run one after the other, in that order.
///
/// Threads: control.
public final class ScheduledSound: Sendable, Hashable {
    /// The stages of a sound.
    ///
    /// Threads: any.
    public enum Stage: Int, Sendable, CaseIterable {
        /// The render thread has taken its last frame.
        case consumed
        /// The cycle with its last frame is over: the frame is with the output.
        case rendered
        /// Its last frame has been heard, as far as the host clock and ``BufferPlayer/outputLatency`` tell.
        case played
    }

    /// The ways in which a sound ends.
    ///
    /// Threads: any.
    public enum Ending: Sendable, Hashable {
        /// The sound was heard to its end.
        case finished
        /// The sound was stopped or interrupted, or the player is gone. A loop ends so, unless it was heard to the end of a round
        /// because the next sound interrupts it there (``BufferPlayer/Options/interruptsAtLoop``).
        case cut
        /// The file could not be read, or not to its end: it was heard as far as it could be, and the queue went on.
        case failed(AudioFileError)
    }

    /// The sound; `nil` for a file.
    public let sound: Sound?
    /// The path of the file; `nil` for a sound in memory.
    public var path: String? { file?.path }
    /// The segment that is heard, in frames of the sound or of the file.
    public let frames: Range<Int64>
    /// The amplitude factor with which it is heard.
    public let gain: Float

    let file: StreamFile?
    let number: Int
    let options: BufferPlayer.Options
    let time: RenderTime
    /// The notes of the render thread.
    let notes = SharedWords()
    enum Note {
        /// The host time at which the last frame was over; 0 if it has not been taken.
        static var end: Int { @_noLocks @_noAllocation get { 0 } }
        /// The number of rounds of a loop that have ended.
        static var rounds: Int { @_noLocks @_noAllocation get { 1 } }
        /// The time of the first frame: the host time, and the sample time with 1 added; 0 if it has not begun.
        static var beginHost: Int { @_noLocks @_noAllocation get { 2 } }
        static var begin: Int { @_noLocks @_noAllocation get { 3 } }
    }
    /// Leads to the stream of the sound, if it has one.
    let cue = ManagedValue(DiskCue())
    private let handlers: HandlerQueue
    private let state = Lock(State())

    private struct State {
        var stage: Stage?
        var ending = Ending.cut
        var waiting: [(stage: Stage, tell: @Sendable (Ending) -> Void)] = []
        var hasToldBeginning = false
        var roundsTold: UInt64 = 0
    }

    init(
        number: Int, _ content: BufferPlayer.Content, _ options: BufferPlayer.Options, _ time: RenderTime,
        gain: Float, _ handlers: HandlerQueue
    ) {
        self.number = number
        (sound, file, frames) = (content.sound, content.file, content.frames)
        self.options = options
        self.time = time
        self.gain = gain
        self.handlers = handlers
    }

    /// Frames per second of the sound or the file.
    var sampleRate: Double { sound?.sampleRate ?? file?.sampleRate ?? 1 }

    /// The length of the segment, in seconds.
    public var duration: Double { Double(frames.count) / sampleRate }

    /// Returns whether both are the same scheduling.
    public static func == (left: ScheduledSound, right: ScheduledSound) -> Bool { left === right }

    /// Hashes the identity of the scheduling.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Has the sound be heard from a stream, or from none. Under the player's lock: so the last call counts, also if an earlier one
    /// was made in a transaction that is applied after it.
    func lead(to stream: DiskStream?) { cue.set(DiskCue(stream), version: cue.makeVersion()) }

    /// Waits until the sound has reached a stage. It notices that within some milliseconds; a cancelled task does not
    /// wait.
    public func wait(for stage: Stage = .played) async -> Ending {
        let (stream, continuation) = AsyncStream.makeStream(of: Ending.self)
        listen(for: stage) { ending in
            continuation.yield(ending)
            continuation.finish()
        }
        for await ending in stream { return ending }
        return .cut
    }

    /// Calls a closure when the sound has reached a stage: once, behind the handlers of its player that were due before.
    public func when(_ stage: Stage = .played, _ handler: @escaping @Sendable (Ending) async -> Void) {
        listen(for: stage) { [handlers] ending in handlers.add { await handler(ending) } }
    }

    private func listen(for stage: Stage, _ tell: @escaping @Sendable (Ending) -> Void) {
        let ending: Ending? = state.withLock { state in
            if let reached = state.stage, reached.rawValue >= stage.rawValue { return state.ending }
            state.waiting.append((stage, tell))
            return nil
        }
        if let ending { tell(ending) }
    }

    func has(_ stage: Stage) -> Bool { state.withLock { ($0.stage?.rawValue ?? -1) >= stage.rawValue } }

    /// Tells those who wait for a stage, or an earlier one. The first call decides how the sound has ended.
    func reach(_ stage: Stage, _ ending: Ending) {
        let (told, ending) = state.withLock { state in
            if state.stage == nil { state.ending = ending }
            state.stage = Stage(rawValue: max(stage.rawValue, state.stage?.rawValue ?? 0))
            defer { state.waiting.removeAll { $0.stage.rawValue <= stage.rawValue } }
            return (state.waiting.filter { $0.stage.rawValue <= stage.rawValue }, state.ending)
        }
        for listener in told { listener.tell(ending) }
    }

    /// Ends a sound that is not heard, or not any more.
    func cut() { reach(.played, .cut) }

    /// Returns the beginning and the rounds that have not been told yet.
    func takeNews() -> (began: RenderTime?, rounds: Int) {
        let (begin, rounds) = (notes[Note.begin], notes[Note.rounds])
        if begin == 0 { return (nil, 0) }
        return state.withLock { state in
            defer { (state.hasToldBeginning, state.roundsTold) = (true, rounds) }
            let time = RenderTime(
                sampleTime: Int64(bitPattern: begin) &- 1, hostTime: Int64(bitPattern: notes[Note.beginHost]))
            return (state.hasToldBeginning ? nil : time, Int(truncatingIfNeeded: rounds &- state.roundsTold))
        }
    }
}

/// Runs the handlers of a player one after the other.
final class HandlerQueue: Sendable {
    typealias Handler = @Sendable () async -> Void
    private let continuation = Lock<AsyncStream<Handler>.Continuation?>(nil)

    deinit { continuation.withLock { $0 }?.finish() }

    func add(_ handler: @escaping Handler) {
        let continuation = self.continuation.withLock { continuation in
            if let continuation { return continuation }
            let (handlers, new) = AsyncStream.makeStream(of: Handler.self)
            continuation = new
            Task { for await handler in handlers { await handler() } }
            return new
        }
        continuation.yield(handler)
    }
}
