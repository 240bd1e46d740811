internal import RenderCore

/// A reason why a SoundFont or an SFZ file cannot be read: a sentence.
///
///     "piano.sf2" cannot be read: at byte 4,711, the list of zones ends in the middle of an entry.
///
/// Threads: control.
public struct InstrumentFileError: Error, Hashable, CustomStringConvertible {
    /// The path of the file; `nil` if it was read from bytes.
    public let path: String?
    /// The place in the file, in bytes from its beginning; `nil` where no single place is to blame.
    public let position: Int?
    /// The line of an SFZ file, from 1; `nil` for a SoundFont, and where no line is to blame.
    public let line: Int?
    /// The sentence.
    public let description: String

    init(path: String?, position: Int? = nil, line: Int? = nil, _ reason: String) {
        self.path = path
        self.position = position
        self.line = line
        let place = line.map { "line \($0): " } ?? position.map { "at byte \($0), " } ?? ""
        description = "\(path.map { "\"\($0.shown)\"" } ?? "The instrument") cannot be read: \(place)\(reason)."
    }
}
