extension PatternParser {
    /// The characters that are no part of a word.
    private static let signs: Set<Character> = [
        "~", "[", "]", "<", ">", "{", "}", "(", ")", ",", "|", "*", "/", "!", "@", "?", "%",
    ]

    mutating func skipSpace() {
        while let next, next.isWhitespace { position += 1 }
    }

    /// Indicates whether no word goes on at a place.
    func isAlone(at place: Int) -> Bool {
        place >= characters.count || characters[place].isWhitespace || Self.signs.contains(characters[place])
    }

    /// Reads a rest, a word or a group.
    mutating func atom() throws(PatternError) -> PatternTree {
        guard let first = next else { return .rest }
        switch first {
        case "~":
            position += 1
            return .rest
        case "[", "<", "{": return try group(first)
        case "*", "/", "!", "@", "?", "%", "(":
            throw fault("No step is directly before this \(first): write it behind a step, without a space.")
        case "-" where isAlone(at: position + 1): throw fault("A - alone is no step: write a ~ for a rest.")
        case "." where isAlone(at: position + 1):
            throw fault("A . alone is no step: put brackets [ ] around steps that belong together.")
        case "'": throw fault("A chord needs its root before the ': write it as in c3'minor7.")
        default: return try word()
        }
    }

    private mutating func word() throws(PatternError) -> PatternTree {
        let place = position
        while !isAlone(at: position) {
            // Two points make a range, which needs whole numbers on both sides.
            if characters[position] == ".", position + 1 < characters.count, characters[position + 1] == "." {
                throw fault("A range needs whole numbers on both sides of its two points, as in 0..7.", at: place)
            }
            position += 1
        }
        let word = characters[place..<position]
        guard let mark = word.firstIndex(of: "'") else { return .notes([Note(String(word))]) }
        let (root, name) = (String(word[..<mark]), String(word[(mark + 1)...]))
        guard let base = PatternParser.root(root) else {
            throw fault(
                "\(root) is no root of a chord: write a note or a number before the ', as in c3'minor7.", at: place)
        }
        guard let chord = Chord(named: name) else {
            let names = Chord.names.prefix(8).joined(separator: ", ")
            throw fault(
                "No chord is called \(name.isEmpty ? "nothing" : name): there are \(names) and others.", at: mark + 1)
        }
        return .notes(chord.notes(of: Note(word: String(word), number: base)))
    }

    /// Reads the root of a chord: a number, or a note, whose octave is 4 if there is none.
    private static func root(_ name: String) -> Double? {
        if let number = Note.number(of: name) { return number }
        guard let key = Note.key(of: name.utf8) else { return nil }
        return Double(key.semitone + 12 * ((key.octave ?? 4) + 1))
    }

    // MARK: Numbers

    mutating func digits() -> String {
        let first = position
        while let next, ("0"..."9").contains(next), next.isASCII { position += 1 }
        return String(characters[first..<position])
    }

    /// Reads a whole number of nine digits at most, with its sign; leaves the position where it was if there is none.
    mutating func whole() -> Int? {
        let first = position
        if next == "-" { position += 1 }
        let digits = digits()
        if let number = Int(digits), digits.count <= 9 { return characters[first] == "-" ? -number : number }
        position = first
        return nil
    }

    /// Reads `0..7`, or nothing.
    mutating func range() throws(PatternError) -> [Int]? {
        let place = position
        guard let first = whole(), next == ".", position + 1 < characters.count, characters[position + 1] == "." else {
            position = place
            return nil
        }
        position += 2
        guard let last = whole(), isAlone(at: position) else {
            throw fault("A range needs whole numbers on both sides of its two points, as in 0..7.", at: place)
        }
        guard abs(last - first) < PatternTree.mostSteps else {
            throw fault("This range has more than \(PatternTree.mostSteps) steps: make it shorter.", at: place)
        }
        return Array(stride(from: first, through: last, by: first <= last ? 1 : -1))
    }

    /// Reads a number with up to six places behind its point.
    private mutating func number() -> Fraction? {
        let place = position
        let whole = digits()
        var behind = ""
        if next == ".", position + 1 < characters.count, ("0"..."9").contains(characters[position + 1]) {
            position += 1
            behind = digits()
        }
        guard whole.count <= 9, behind.count <= 6, !(whole.isEmpty && behind.isEmpty) else {
            position = place
            return nil
        }
        let unit = behind.reduce(1) { unit, _ in unit * 10 }
        return Fraction((Int(whole) ?? 0) * unit + (Int(behind) ?? 0), unit)
    }

    /// Reads the number behind a sign, which is more than 0.
    mutating func factor(after sign: Character) throws(PatternError) -> Fraction {
        let place = position
        guard let number = number(), number > 0, number <= 1_000_000 else {
            throw fault(
                "A number above 0, up to 1000000, belongs behind the \(sign), as in \(sign)2 or \(sign)1.5.", at: place)
        }
        return number
    }

    /// Reads the number behind a `?`, if there is one.
    mutating func probability() throws(PatternError) -> Double {
        let place = position
        guard let next, next == "." || ("0"..."9").contains(next) else { return 0.5 }
        guard let number = number(), number <= 1 else {
            throw fault("The probability behind a ? is a number from 0 to 1, as in ?0.3.", at: place)
        }
        return number.value
    }
}
