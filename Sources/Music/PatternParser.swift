/// Reads the text of a pattern.
struct PatternParser {
    /// The most bytes that a text may have.
    private static let mostBytes = 65_536

    let text: String
    let characters: [Character]
    var position = 0
    private var depth = 0
    /// The steps that were made so far, those of repeats included.
    private var steps = 0

    init(_ text: String) {
        self.text = text
        characters = text.utf8.count <= Self.mostBytes ? Array(text) : []
    }

    mutating func read() throws(PatternError) -> PatternTree {
        guard text.utf8.count <= Self.mostBytes else {
            throw PatternError(
                "", at: 0,
                "This text has more than \(Self.mostBytes) bytes: put several patterns together with + instead.")
        }
        let tree = try choices(of: parts(until: nil))
        return try bounded(tree, at: 0)
    }

    func fault(_ reason: String, at place: Int? = nil) -> PatternError {
        PatternError(text, at: place ?? position, reason)
    }

    var next: Character? { position < characters.count ? characters[position] : nil }

    /// Refuses a part that would have too many steps, or be too deep.
    func bounded(_ tree: PatternTree, at place: Int) throws(PatternError) -> PatternTree {
        guard tree.steps <= Double(PatternTree.mostSteps) else {
            throw fault(
                "This makes more than \(PatternTree.mostSteps) steps in a cycle: repeat less, or make the cycle longer.",
                at: place)
        }
        guard tree.parts <= Double(PatternTree.mostParts), tree.depth <= 3 * PatternTree.mostDepth else {
            throw fault(
                "This has too many parts in or upon each other: repeat less, or take some signs away.", at: place)
        }
        return tree
    }

    // MARK: Groups

    /// The rows of steps between commas or bars in a group.
    private struct Parts {
        var rows: [[PatternTree.Step]]
        /// The sign between them, and the place of the first one.
        var sign: Character?
        var place = 0
    }

    private mutating func parts(until close: Character?) throws(PatternError) -> Parts {
        let open = position - 1
        var result = Parts(rows: [[]])
        while true {
            skipSpace()
            guard let character = next else {
                if let close {
                    throw fault(
                        "This \(characters[open]) has no end: write a \(close) after the last step of the group.",
                        at: open)
                }
                return result
            }
            switch character {
            case close:
                position += 1
                return result
            case ",", "|":
                if let sign = result.sign, sign != character {
                    throw fault(
                        "A group has either , or | between its parts: put brackets [ ] around those that belong together."
                    )
                }
                if result.sign == nil { (result.sign, result.place) = (character, position) }
                position += 1
                result.rows.append([])
            case "]", ">", "}", ")": throw fault("Nothing is open that this \(character) could close: take it away.")
            default: try readSteps(into: &result.rows[result.rows.count - 1])
            }
        }
    }

    private func choices(of parts: Parts) throws(PatternError) -> PatternTree {
        let trees = parts.rows.map { PatternTree.row($0) }
        return parts.sign == "|" ? .choice(trees) : .stack(trees)
    }

    mutating func group(_ open: Character) throws(PatternError) -> PatternTree {
        let place = position
        guard depth < PatternTree.mostDepth else {
            throw fault(
                "Groups may be \(PatternTree.mostDepth) deep in each other, and this one is deeper: take some brackets away."
            )
        }
        depth += 1
        defer { depth -= 1 }
        position += 1
        let parts = try parts(until: open == "[" ? "]" : open == "<" ? ">" : "}")
        if open == "[" { return try bounded(choices(of: parts), at: place) }
        if parts.sign == "|" {
            throw fault("Only [ ] chooses with | at random: write [a|b] inside of this group.", at: parts.place)
        }
        if open == "<" { return try bounded(.stack(parts.rows.map { .alternation($0) }), at: place) }
        var count = parts.rows.lazy.map { $0.reduce(0) { $0 + $1.weight } }.first { $0 > 0 } ?? 1
        if next == "%" {
            position += 1
            count = try factor(after: "%")
        }
        return try bounded(.stack(parts.rows.map { .polymetre($0, count: count) }), at: place)
    }

    // MARK: Steps

    /// Reads a step with its repeats, a range, or the sign that makes the last step longer.
    private mutating func readSteps(into row: inout [PatternTree.Step]) throws(PatternError) {
        let place = position
        if next == "_", isAlone(at: position + 1) {
            guard !row.isEmpty else {
                throw fault("No step is before this _ that it could make longer: write a ~ for a rest.")
            }
            row[row.count - 1].weight += 1
            position += 1
            return
        }
        if let range = try range() {
            try count(range.count, at: place)
            row += range.map { PatternTree.Step(tree: .notes([Note(String($0))]), weight: 1) }
            if let next, "*/!@?(".contains(next) {
                throw fault("A range has no \(next) of its own: put brackets around it, as in [0..3]\(next).")
            }
            return
        }
        var step = PatternTree.Step(tree: try atom(), weight: 1)
        var repeats = 1
        try readSuffixes(of: &step, &repeats)
        _ = try bounded(step.tree, at: place)
        try count(repeats, at: place)
        for _ in 0..<repeats { row.append(step) }
        guard row.count <= PatternTree.mostSteps else {
            throw fault(
                "This group has more than \(PatternTree.mostSteps) steps: repeat less, or make the cycle longer.",
                at: place)
        }
    }

    /// Counts steps, whose memory has a bound.
    mutating func count(_ steps: Int, at place: Int) throws(PatternError) {
        self.steps += steps
        guard self.steps <= PatternTree.mostParts else {
            throw fault("From here on the text has more than \(PatternTree.mostParts) steps: repeat less.", at: place)
        }
    }
}
