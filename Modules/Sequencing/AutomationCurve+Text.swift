extension AutomationCurve {
    /// A text that is no curve: where it is wrong, and what would be right.
    ///
    /// Threads: control.
    public struct Problem: Error, Hashable, CustomStringConvertible {
        /// The line, from 1 on.
        public let line: Int
        /// The character of the line, from 1 on.
        public let column: Int
        /// The sentence, with the line and the column.
        public let description: String

        init(_ line: Int, _ column: Int, _ sentence: String) {
            (self.line, self.column) = (line, column)
            description = "Line \(line), column \(column) of the automation: \(sentence)"
        }
    }

    /// The curve as text, which ``init(text:)`` reads again without a difference: a line for the unit, and one for each point.
    ///
    ///     automation in beats
    ///     0.0 200.0 exponential
    ///     16.0 4000.0 line
    public var text: String {
        "automation in \(unit.rawValue)\n"
            + points.map { "\($0.position) \($0.value) \($0.shape.rawValue)\n" }.joined()
    }

    /// Reads a curve from text.
    ///
    /// The first line says the unit. Each line after it is a point: its position, its value and the shape of its way to the next point; without a
    /// shape a line. Positions do not fall, and at most two points are at one. Empty lines, and what follows a #, mean nothing.
    ///
    /// - Parameter text: As ``text`` writes it.
    /// - Throws: ``Problem``: which line and column is wrong, and what would be right.
    public init(text: String) throws(Problem) {
        var unit: TimeUnit?
        var points: [Point] = []
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let words = Self.words(of: line)
            guard let first = words.first else { continue }
            if unit == nil {
                unit = try Self.unit(words, number)
                continue
            }
            let point = try Self.point(words, number)
            if let last = points.last, point.position < last.position {
                throw Problem(
                    number, first.column,
                    "the position \(point.position) is before the one of the point above, \(last.position); put the points in order."
                )
            }
            if points.count > 1, points[points.count - 2].position == point.position {
                throw Problem(
                    number, first.column,
                    "this is the third point at \(point.position); two are a jump, so leave one of them out.")
            }
            points.append(point)
        }
        guard let unit else {
            throw Problem(1, 1, "the text is empty; it must begin with a line such as automation in beats.")
        }
        self.init(in: unit, points)
    }

    private typealias Word = (text: Substring, column: Int)

    /// Returns the words of a line up to a #, with the column at which each begins.
    private static func words(of line: Substring) -> [Word] {
        var words: [Word] = []
        var start: (place: Substring.Index, column: Int)?
        var column = 1
        var place = line.startIndex
        while place < line.endIndex, line[place] != "#" {
            if line[place].isWhitespace {
                if let begun = start { words.append((line[begun.place..<place], begun.column)) }
                start = nil
            } else if start == nil {
                start = (place, column)
            }
            place = line.index(after: place)
            column += 1
        }
        if let begun = start { words.append((line[begun.place..<place], begun.column)) }
        return words
    }

    private static func unit(_ words: [Word], _ line: Int) throws(Problem) -> TimeUnit {
        let units = TimeUnit.allCases.map(\.rawValue).joined(separator: ", ")
        for (place, expected) in ["automation", "in"].enumerated() {
            let found = place < words.count ? words[place] : (text: "nothing", column: end(of: words))
            if found.text != expected {
                throw Problem(
                    line, found.column,
                    "it says \(shown(found.text)) where \(expected) must be; the first line is such as automation in beats."
                )
            }
        }
        guard words.count > 2, let unit = TimeUnit(rawValue: String(words[2].text)) else {
            let found = words.count > 2 ? words[2] : (text: "nothing", column: end(of: words))
            throw Problem(line, found.column, "\(shown(found.text)) is no unit of time; there are \(units).")
        }
        try expectEnd(words, 3, line)
        return unit
    }

    private static func point(_ words: [Word], _ line: Int) throws(Problem) -> Point {
        guard let position = Double(words[0].text), Self.positions.contains(position) else {
            throw Problem(
                line, words[0].column, "\(shown(words[0].text)) is no position; it must be a number from -1e12 to 1e12."
            )
        }
        guard words.count > 1 else {
            throw Problem(line, end(of: words), "the point has no value; a line is such as 16 4000 exponential.")
        }
        guard let value = Float(words[1].text), value.isFinite else {
            throw Problem(line, words[1].column, "\(shown(words[1].text)) is no value; it must be a number.")
        }
        guard words.count > 2 else { return Point(at: position, value) }
        guard let shape = Shape(rawValue: String(words[2].text)) else {
            let shapes = Shape.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(line, words[2].column, "\(shown(words[2].text)) is no shape; there are \(shapes).")
        }
        try expectEnd(words, 3, line)
        return Point(at: position, value, shape)
    }

    private static func expectEnd(_ words: [Word], _ count: Int, _ line: Int) throws(Problem) {
        if words.count > count {
            throw Problem(
                line, words[count].column,
                "\(shown(words[count].text)) is too much; put it on a line of its own, or behind a #.")
        }
    }

    private static func end(of words: [Word]) -> Int {
        guard let last = words.last else { return 1 }
        return last.column + last.text.count
    }

    private static func shown(_ text: Substring) -> String {
        text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
    }
}
