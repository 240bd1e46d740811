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

    /// The beat at which it ends.
    public var end: Fraction { start + length }
}

/// A note as it is written: a word, with its number if it has one.
///
/// Threads: control.
public struct Note: Sendable, Hashable {
    /// The word as it was written: `kick`, `A1`, `60`.
    public var word: String
    /// The number that the word stands for, if it stands for one: a note in semitones (69 is the A of 440 Hz), or the value for a
    /// parameter.
    public var number: Double?
    /// The velocity, 0…1.
    public var velocity: Double

    /// Creates a note.
    public init(word: String, number: Double? = nil, velocity: Double = 0.8) {
        (self.word, self.number, self.velocity) = (word, number, velocity)
    }
}
