public import RenderCore

/// A note, or another message, with its place in beats.
///
/// Threads: control.
public struct MusicEvent: Sendable, Hashable {
    /// The beat at which it begins.
    public var start: Fraction
    /// The beats for which a note sounds; 0 for what has no end.
    public var length: Fraction
    /// The content.
    public var content: Content

    /// The content of an event.
    ///
    /// Threads: control.
    public enum Content: Sendable, Hashable {
        /// A note, which begins and ends.
        case note(Note)
        /// A message that acts once, such as a controller or a change of the program.
        case message(MIDIMessage)
    }

    /// Creates an event.
    public init(_ content: Content, at start: Fraction, length: Fraction = 0) {
        (self.start, self.length, self.content) = (start, length, content)
    }

    /// The note, if it is one.
    public var note: Note? { if case .note(let note) = content { note } else { nil } }

    /// The beat at which it ends.
    public var end: Fraction { start + length }
}
