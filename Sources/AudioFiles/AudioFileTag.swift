/// A piece of text information that a file can have about itself.
///
///     let writer = try AudioFileWriter(
///         path: "take.flac", sampleRate: 48_000, channels: 2, tags: [.title: "Take 5", .artist: "The Others"])
///
/// The article <doc:Files> says which formats keep which tags.
///
/// Threads: control.
public enum AudioFileTag: String, Sendable, Hashable, CaseIterable {
    /// The name of the piece.
    case title
    /// The name of the player or band.
    case artist
    /// The name of the album.
    case album
    /// Its place in the album.
    case trackNumber
    /// The kind of music.
    case genre
    /// The time at which it was made: as a rule year, month, day.
    case date
    /// A comment.
    case comment
    /// The owner of the rights.
    case copyright
    /// The conditions under which others may use it.
    case license
    /// The program that made it. The library adds its own name.
    case software
}

extension AudioFileTag: CustomDebugStringConvertible {
    /// The name, by which a dictionary of tags prints the tag.
    public var debugDescription: String { rawValue }
}
