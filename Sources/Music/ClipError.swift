/// A mistake in the text of a clip, and its place: a sentence.
///
///     Line 3, column 5: "1/0" is no number of beats; write one such as 2, 1/3 or 0.5.
///
/// Threads: control.
public struct ClipError: Error, Hashable, CustomStringConvertible {
    /// The line, counted from 1.
    public let line: Int
    /// The character of the line, counted from 1.
    public let column: Int
    /// A sentence that says what is wrong and what to do.
    public let reason: String

    /// The place and the reason.
    public var description: String { "Line \(line), column \(column): \(reason)" }
}
