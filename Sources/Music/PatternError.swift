/// A mistake in the text of a pattern, and its place.
///
///     kick [~ hat
///          ^ This [ has no end: write a ] after the last step of the group.
///
/// Threads: control.
public struct PatternError: Error, Hashable, CustomStringConvertible {
    /// The text.
    public let text: String
    /// The place of the wrong character, counted in characters from 0.
    public let position: Int
    /// A sentence that says what is wrong and what to do.
    public let reason: String

    init(_ text: String, at position: Int, _ reason: String) {
        (self.text, self.position, self.reason) = (text, position, reason)
    }

    /// The line of the text, if there is one, and below it a mark at the wrong character with the sentence.
    public var description: String {
        if text.isEmpty { return reason }
        let characters = Array(text)
        let place = min(max(position, 0), characters.count)
        var (first, last) = (place, place)
        while first > 0, !characters[first - 1].isNewline { first -= 1 }
        while last < characters.count, !characters[last].isNewline { last += 1 }
        // Of a long line only what is around the place.
        let (from, to) = (max(first, place - 60), min(last, place + 40))
        let start = from > first ? "…" : ""
        let line = String(characters[from..<to].map { $0.isWhitespace ? " " : $0 }) + (to < last ? "…" : "")
        return start + line + "\n" + String(repeating: " ", count: start.count + place - from) + "^ " + reason
    }
}
