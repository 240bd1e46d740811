internal import DiskFiles
internal import RenderCore

/// A reason why a MIDI file cannot be read or written: a sentence.
///
///     "song.mid" cannot be read: track 3 ends at byte 4,711, in the middle of an event.
///
/// Threads: control.
public struct MIDIFileError: Error, Hashable, CustomStringConvertible {
    /// The path of the file; `nil` if it was read from bytes.
    public let path: String?
    /// The place in the file, in bytes from its beginning; `nil` if the file could not be opened.
    public let position: Int?
    /// The sentence.
    public let description: String

    init(path: String?, position: Int? = nil, isWriting: Bool = false, _ reason: String) {
        self.path = path
        self.position = position
        let name = path.map { "\"\($0.shown)\"" } ?? "The MIDI file"
        description = "\(name) cannot be \(isWriting ? "written" : "read"): \(reason)."
    }

    init(_ fault: DiskFault) { self.init(path: fault.path, isWriting: !fault.isReading, fault.explanation) }
}
