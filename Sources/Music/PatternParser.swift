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
        let tree = try choices(of: parts(until: nil), open: nil)
        return try bounded(tree, at: 0)
    }

    func fault(_ reason: String, at place: Int? = nil) -> PatternError {
        PatternError(text, at: place ?? position, reason)
    }

    var next: Character? { position < characters.count ? characters[position] : nil }

    /// Refuses a part that would have too many steps, or be too deep.
    private func bounded(_ tree: PatternTree, at place: Int) throws(PatternError) -> PatternTree {
        guard tree.steps <= Double(PatternTree.mostSteps) else {
            throw fault(
                "This makes more than \(PatternTree.mostSteps) steps in a cycle: repeat less, or make the cycle longer.",
                at: place)
        }
        guard tree.parts <= Double(PatternTree.mostParts), tree.depth <= 3 * PatternTree.mostDepth else {
            throw fault("This repeats too many parts in each other: repeat less.", at: place)
        }
        return tree
    }

    // MARK: Groups

    /// What stands between commas or bars in a group.
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

    private func choices(of parts: Parts, open: Character?) throws(PatternError) -> PatternTree {
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
        if open == "[" { return try bounded(choices(of: parts, open: open), at: place) }
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
    private mutating func count(_ steps: Int, at place: Int) throws(PatternError) {
        self.steps += steps
        guard self.steps <= PatternTree.mostParts else {
            throw fault("From here on the text has more than \(PatternTree.mostParts) steps: repeat less.", at: place)
        }
    }

    private mutating func readSuffixes(of step: inout PatternTree.Step, _ repeats: inout Int) throws(PatternError) {
        let first = position
        var suffixes = 0
        while let sign = next, "*/!@?(".contains(sign) {
            let place = position
            suffixes += 1
            guard suffixes <= 16 else {
                throw fault("A step may have 16 signs behind it, and this is one more: take some away.")
            }
            position += 1
            switch sign {
            case "*": step.tree = step.tree.paced(try factor(after: sign))
            case "/": step.tree = step.tree.paced(1 / (try factor(after: sign)))
            case "@": step.weight = try factor(after: sign)
            case "!": repeats = try count(ofRepeats: place)
            case "?": step.tree = step.tree.dropping(try probability())
            default: step.tree = try euclid(step.tree, open: place)
            }
            step.tree = try bounded(step.tree, at: place)
        }
        if let next, next == "%" {
            throw fault("A % belongs directly behind a group in braces: {a b c}%4.")
        }
        // What follows without a space would be a step that nobody meant.
        if position > first, !isAlone(at: position), let next, !"[<{".contains(next) {
            throw fault("Put a space before this \(next): a new step begins here.")
        }
    }

    /// Reads the hits and the steps of a rhythm, and how far it is turned.
    private mutating func euclid(_ tree: PatternTree, open: Int) throws(PatternError) -> PatternTree {
        var numbers: [Int] = []
        while true {
            skipSpace()
            let place = position
            guard let number = whole() else {
                throw fault(
                    "Whole numbers belong here: hits, steps and, if you like, a rotation, as in (3,8) or (3,8,2).",
                    at: place)
            }
            numbers.append(number)
            skipSpace()
            if next == ",", numbers.count < 3 { position += 1 } else { break }
        }
        guard next == ")" else { throw fault("This ( has no end: write it as in (3,8) or (3,8,2).", at: open) }
        position += 1
        guard numbers.count >= 2 else {
            throw fault("A number of steps is missing: write (hits,steps), as in (3,8).", at: open)
        }
        guard (1...PatternTree.mostSteps).contains(numbers[1]), (0...numbers[1]).contains(numbers[0]) else {
            throw fault(
                "There are 1 to \(PatternTree.mostSteps) steps, and no more hits than steps: write it as in (3,8).",
                at: open)
        }
        try count(numbers[1], at: open)
        let hits = Rhythm.euclid(numbers[0], of: numbers[1], rotation: numbers.count > 2 ? numbers[2] : 0)
        return .row(hits.map { PatternTree.Step(tree: $0 ? tree : .rest, weight: 1) })
    }

    private mutating func count(ofRepeats place: Int) throws(PatternError) -> Int {
        let digits = digits()
        if digits.isEmpty { return 2 }
        guard let count = Int(digits), (1...PatternTree.mostSteps).contains(count) else {
            throw fault(
                "A step can be repeated 1 to \(PatternTree.mostSteps) times: write a number from there behind the !.",
                at: place)
        }
        return count
    }
}
