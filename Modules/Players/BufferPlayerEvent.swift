internal import AudioFiles
public import RenderCore

/// An event that a ``BufferPlayer`` reports.
///
/// Threads: control.
public enum BufferPlayerEvent: Sendable, Hashable, CustomStringConvertible {
    /// The first frame of a sound was rendered: the time at which it is heard.
    case began(ScheduledSound, RenderTime)
    /// A loop began again: the number of times since the last event.
    case looped(ScheduledSound, count: Int)
    /// A sound is over: its last frame was rendered, or it was cut, or its file could not be read. Each sound ends once, in
    /// the order of the queue. Of those that are left when the player goes only the ``ScheduledSound`` tells it.
    case ended(ScheduledSound, ScheduledSound.Ending)
    /// So many frames were silent because a file was not read, or a sound not stretched, in time. The player is where it
    /// would have been.
    case underrun(frames: Int)

    /// The event in one sentence.
    public var description: String {
        func name(_ sound: ScheduledSound) -> String { sound.path.map { "\"\($0)\"" } ?? "A sound" }
        return switch self {
        case .began(let sound, let time): "\(name(sound)) began at \(time)."
        case .looped(let sound, let count): "\(name(sound)) began again\(count > 1 ? " \(count) times" : "")."
        case .ended(let sound, .finished): "\(name(sound)) has ended."
        case .ended(let sound, .cut): "\(name(sound)) was cut off."
        case .ended(_, .failed(let error)): error.description
        case .underrun(let frames): "The disk was too slow: \(frames) frames were silent."
        }
    }
}
