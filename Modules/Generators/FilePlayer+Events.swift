public import AudioFiles
public import RenderCore

/// What a player tells.
public enum FilePlayerEvent: Sendable, Hashable, CustomStringConvertible {
    /// The first frame was rendered: when it is heard.
    case began(RenderTime)
    /// The region began again: how often since the last event.
    case looped(count: Int)
    /// The next file of the queue has begun.
    case advanced(path: String)
    /// It rests at a frame.
    case paused
    /// It goes on from where it rested.
    case resumed
    /// It was stopped, before its end or before it had begun.
    case stopped
    /// The last frame was rendered.
    case ended
    /// The disk was too slow: so many frames were silent instead. The player is where it would have been.
    case underrun(frames: Int)
    /// The file could not be read to its end.
    case failed(AudioFileError)

    /// One sentence.
    public var description: String {
        switch self {
        case .began(let time): "It began at \(time)."
        case .looped(let count): "It began again\(count > 1 ? " \(count) times" : "")."
        case .advanced(let path): "It went on with \"\(path)\"."
        case .paused: "It was paused."
        case .resumed: "It was resumed."
        case .stopped: "It was stopped."
        case .ended: "It has ended."
        case .underrun(let frames): "The disk was too slow: \(frames) frames were silent."
        case .failed(let error): error.description
        }
    }
}

/// What the render thread tells, as plain numbers.
struct PlayerNotice: BitwiseCopyable, Sendable {
    enum Kind: BitwiseCopyable, Sendable { case began, advanced, paused, resumed, stopped, ended }
    let kind: Kind
    let stream: Int
    let time: RenderTime
}

/// The way for what the render thread tells: notices in order, and counts of what can happen more often than that.
struct PlayerPort: ~Copyable, Sendable {
    let notices = MessagePort<PlayerNotice>(capacity: 256)

    @_noLocks @_noAllocation
    func tell(_ kind: PlayerNotice.Kind, stream: Int, at frame: Int, _ context: borrowing RenderContext) {
        let host = context.hostTime &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        let time = RenderTime(sampleTime: context.sampleTime &+ Int64(frame), hostTime: host)
        notices.send(PlayerNotice(kind: kind, stream: stream, time: time))
    }
}
