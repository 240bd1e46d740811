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

    /// Creates the note of a word, and reads its number: `60` and `-0.5` are numbers, and so are the names of notes.
    ///
    /// A name is a letter, a sharp (`s` or `#`) or a flat (`f` or `b`) if it has one, and the number of its octave, which counts from C:
    /// `c4` is middle C (60), `a4` the A of 440 Hz (69), `cs4` is 61, `eb-1` is 3. Any other word has no number.
    public init(_ word: String, velocity: Double = 0.8) {
        self.init(word: word, number: Note.number(of: word), velocity: velocity)
    }

    /// The name of the key that is nearest to a number: 61 is `cs4`.
    ///
    /// A number beyond ±1,200, and what is not a number, has no name of a key; it is written as a number.
    public static func name(of number: Double) -> String {
        guard number.magnitude <= 1_200 else { return "\(number)" }
        let key = Int(number.rounded())
        let octave = Fraction(key, 12).floor
        return names[key - 12 * octave] + "\(octave - 1)"
    }

    private static let names = ["c", "cs", "d", "ds", "e", "f", "fs", "g", "gs", "a", "as", "b"]

    static func number(of word: String) -> Double? {
        guard let first = word.utf8.first else { return nil }
        if (45...57).contains(first) {
            let isPlain = word.utf8.allSatisfy { (48...57).contains($0) || $0 == 45 || $0 == 46 }
            return isPlain ? Double(word).flatMap { $0.isFinite ? $0 : nil } : nil
        }
        guard let key = key(of: word.utf8), let octave = key.octave else { return nil }
        return Double(key.semitone + 12 * (octave + 1))
    }

    /// Reads the name of a key, with an octave or without.
    static func key(of name: String.UTF8View) -> (semitone: Int, octave: Int?)? {
        var rest = name[...]
        guard let letter = rest.popFirst(), var semitone = semitones[letter | 0x20] else { return nil }
        switch rest.first {
        case UInt8(ascii: "s"), UInt8(ascii: "#"): semitone += 1
        case UInt8(ascii: "f"), UInt8(ascii: "b"): semitone -= 1
        default: return octave(rest).map { (semitone, $0) }
        }
        return octave(rest.dropFirst()).map { (semitone, $0) }
    }

    /// Reads the number of an octave, of two digits at most; nothing is no octave, and anything else no name.
    private static func octave(_ digits: Substring.UTF8View) -> Int?? {
        if digits.isEmpty { return .some(nil) }
        guard digits.count <= 3, let octave = Int(String(digits) ?? ""), octave.magnitude < 100, digits.first != 43
        else { return nil }
        return octave
    }

    private static let semitones = Dictionary(
        uniqueKeysWithValues: zip("cdefgab".utf8, [0, 2, 4, 5, 7, 9, 11]))
}
