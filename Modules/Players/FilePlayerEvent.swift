public import AudioFiles
public import RenderCore

/// An event that a player reports.
///
/// Threads: control.
public enum FilePlayerEvent: Sendable, Hashable, CustomStringConvertible {
    /// The first frame was rendered: the time at which it is heard.
    case began(RenderTime)
    /// The region began again: the number of times since the last event.
    case looped(count: Int)
    /// The player rests at a frame.
    case paused
    /// The player goes on from the frame at which it rested.
    case resumed
    /// The player was stopped, before its end or before it had begun.
    case stopped
    /// The last frame was rendered.
    case ended
    /// The disk was too slow: so many frames were silent instead. The player is where it would have been.
    case underrun(frames: Int)
    /// The sound was not read or not stretched in time: so many frames were silent instead. The limit is that of
    /// ``FilePlayer/stretchedPlayerLimit``.
    case stretchedTooLate(frames: Int, limit: Int?)
    /// The file could not be read to its end.
    case failed(AudioFileError)
    /// A live renderer has run the player for five seconds, and it has not been started yet. It is reported once.
    case neverStarted

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .began(let time): "The player began at \(time)."
        case .looped(let count): "The player began again\(count > 1 ? " \(count) times" : "")."
        case .paused: "The player paused."
        case .resumed: "The player resumed."
        case .stopped: "The player stopped."
        case .ended: "The player has ended."
        case .underrun(let frames): "The disk was too slow: \(frames) frames were silent."
        case .stretchedTooLate(let frames, let limit):
            "The file was not stretched in time: \(frames) frames were silent."
                + (limit.map { " The processors suffice for about \($0) stretched players: play fewer at once." } ?? "")
        case .failed(let error): error.description
        case .neverStarted: "The render loop runs the player, but the player is silent: call play()."
        }
    }
}

/// A report of the render thread, as plain numbers.
struct PlayerNotice: BitwiseCopyable, Sendable {
    enum Kind: BitwiseCopyable, Sendable { case began, paused, resumed, stopped, ended }
    let kind: Kind
    let stream: Int
    let time: RenderTime
}

/// The port for the render thread's reports: notices in order, and counts of events that can happen more often than
/// that.
struct PlayerPort: ~Copyable, Sendable {
    let notices = MessagePort<PlayerNotice>(capacity: 256)

    @_noLocks @_noAllocation
    func tell(_ kind: PlayerNotice.Kind, stream: Int, at frame: Int, _ context: borrowing RenderContext) {
        let host = context.hostTime &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        let time = RenderTime(sampleTime: context.sampleTime &+ Int64(frame), hostTime: host)
        notices.send(PlayerNotice(kind: kind, stream: stream, time: time))
    }
}
