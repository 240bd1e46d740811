/// What a file can say about itself in words.
///
///     let writer = try AudioFileWriter(
///         path: "take.flac", sampleRate: 48_000, channels: 2, tags: [.title: "Take 5", .artist: "The Others"])
///
/// Which formats keep which is in <doc:Files>.
public enum AudioFileTag: String, Sendable, Hashable, CaseIterable {
    /// The name of the piece.
    case title
    /// Who plays.
    case artist
    /// What it is a part of.
    case album
    /// Its place in the album.
    case trackNumber
    /// What kind of music it is.
    case genre
    /// When it was made: as a rule year, month, day.
    case date
    /// Anything.
    case comment
    /// Whose it is.
    case copyright
    /// What others may do with it.
    case license
    /// What made it. The library adds its own name.
    case software
}
