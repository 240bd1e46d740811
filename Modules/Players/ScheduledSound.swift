internal import RenderCore
internal import Synchronization

/// One scheduling of a sound, which reports its stages.
///
///     let ending = await player.schedule(announcement).wait()             // heard, or cut off
///     player.schedule(part).when(.consumed) { _ in feedTheNext() }
///
/// Threads: control.
public final class ScheduledSound: Sendable {
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
        /// The sound was stopped or interrupted, or the player is gone. Loops end so.
        case cut
    }

    /// The sound.
    public let sound: Sound
    let number: Int
    let options: BufferPlayer.Options
    let time: RenderTime
    let end = SharedWords()
    private let state = Lock(State())

    private struct State {
        var stage: Stage?
        var wasCut = false
        var waiting: [(stage: Stage, tell: @Sendable (Ending) -> Void)] = []
    }

    init(number: Int, _ sound: Sound, _ options: BufferPlayer.Options, _ time: RenderTime) {
        self.number = number
        self.sound = sound
        self.options = options
        self.time = time
    }

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

    /// Calls a closure when the sound has reached a stage, in a task of its own.
    public func when(_ stage: Stage = .played, _ handler: @escaping @Sendable (Ending) async -> Void) {
        listen(for: stage) { ending in Task { await handler(ending) } }
    }

    private func listen(for stage: Stage, _ tell: @escaping @Sendable (Ending) -> Void) {
        let ending: Ending? = state.withLock { state in
            if let reached = state.stage, reached.rawValue >= stage.rawValue { return .finished }
            if state.wasCut { return .cut }
            state.waiting.append((stage, tell))
            return nil
        }
        if let ending { tell(ending) }
    }

    func has(_ stage: Stage) -> Bool { state.withLock { ($0.stage?.rawValue ?? -1) >= stage.rawValue } }

    func reach(_ stage: Stage) {
        let told = state.withLock { state in
            state.stage = stage
            defer { state.waiting.removeAll { $0.stage.rawValue <= stage.rawValue } }
            return state.waiting.filter { $0.stage.rawValue <= stage.rawValue }
        }
        for listener in told { listener.tell(.finished) }
    }

    func cut() {
        let told = state.withLock { state in
            state.wasCut = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for listener in told { listener.tell(.cut) }
    }
}
