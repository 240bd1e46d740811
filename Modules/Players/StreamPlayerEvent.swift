public import AudioFiles

/// An event that a ``StreamPlayer`` reports.
///
/// Threads: control.
public enum StreamPlayerEvent: Sendable, Hashable, CustomStringConvertible {
    /// A sound is heard from now on: the first, or the next one of a chain.
    case began(AudioStreamInfo)
    /// No sound has come in time: it is silent until enough has come.
    case ranDry
    /// Enough has come, and it goes on.
    case wentOn
    /// The last frame was rendered.
    case ended
    /// It was stopped, or another stream was started.
    case stopped
    /// The stream could not be read, or not to its end. What came before was heard.
    case failed(AudioFileError)

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .began(let info): "The stream plays \(info)."
        case .ranDry: "The stream ran dry, and waits for more."
        case .wentOn: "The stream goes on."
        case .ended: "The stream has ended."
        case .stopped: "The stream was stopped."
        case .failed(let error): error.description
        }
    }
}
