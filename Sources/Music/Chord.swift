/// A chord: its notes, in semitones above the root.
///
///     let pad: Pattern = "<c3'minor7 f3'7 bf2'major7 ef3'major7>"      // in a text, by the name
///     let same = Pattern("c3 f3").chord(.minor)
///     let stack = Chord([0, 5, 10])
///
/// Threads: control.
public struct Chord: Sendable, Hashable {
    /// The semitones above the root.
    public let intervals: [Double]

    /// Creates a chord. Numbers that are not finite are left out.
    public init(_ intervals: [Double]) { self.intervals = intervals.filter(\.isFinite) }

    /// Creates the chord of a name, such as `minor7`, `m7` or `sus4`; `nil` if there is none of that name.
    public init?(named name: String) {
        guard let found = Chord.known.first(where: { $0.names.contains(name) }) else { return nil }
        self = found.chord
    }

    /// The names that texts know, the short ones left out.
    public static var names: [String] { known.compactMap(\.names.first) }

    /// The notes upon a root. Each has the root's word and velocity.
    func notes(of root: Note) -> [Note] {
        intervals.map {
            Note(word: root.word, number: root.number.map { [interval = $0] in $0 + interval }, velocity: root.velocity)
        }
    }

    /// A major triad.
    public static let major = Chord([0, 4, 7])
    /// A minor triad.
    public static let minor = Chord([0, 3, 7])
    /// A major triad with a major seventh.
    public static let major7 = Chord([0, 4, 7, 11])
    /// A minor triad with a minor seventh.
    public static let minor7 = Chord([0, 3, 7, 10])
    /// A major triad with a minor seventh.
    public static let dominant7 = Chord([0, 4, 7, 10])
    /// A diminished triad.
    public static let diminished = Chord([0, 3, 6])
    /// A diminished triad with a diminished seventh.
    public static let diminished7 = Chord([0, 3, 6, 9])
    /// A diminished triad with a minor seventh.
    public static let halfDiminished = Chord([0, 3, 6, 10])
    /// An augmented triad.
    public static let augmented = Chord([0, 4, 8])
    /// A second in the place of the third.
    public static let suspended2 = Chord([0, 2, 7])
    /// A fourth in the place of the third.
    public static let suspended4 = Chord([0, 5, 7])
    /// A major triad with a sixth.
    public static let major6 = Chord([0, 4, 7, 9])
    /// A minor triad with a sixth.
    public static let minor6 = Chord([0, 3, 7, 9])
    /// A dominant seventh with a ninth.
    public static let dominant9 = Chord([0, 4, 7, 10, 14])
    /// A major seventh with a ninth.
    public static let major9 = Chord([0, 4, 7, 11, 14])
    /// A minor seventh with a ninth.
    public static let minor9 = Chord([0, 3, 7, 10, 14])
    /// A root with its fifth.
    public static let fifth = Chord([0, 7])

    private static let known: [(names: [String], chord: Chord)] = [
        (["major", "maj", "M"], major), (["minor", "min", "m"], minor), (["major7", "maj7", "M7"], major7),
        (["minor7", "min7", "m7"], minor7), (["dominant7", "dom7", "7"], dominant7),
        (["suspended4", "sus4"], suspended4),
        (["suspended2", "sus2"], suspended2), (["diminished", "dim"], diminished),
        (["diminished7", "dim7"], diminished7),
        (["halfDiminished", "m7b5"], halfDiminished), (["augmented", "aug"], augmented),
        (["major6", "maj6", "6"], major6),
        (["minor6", "min6", "m6"], minor6), (["dominant9", "dom9", "9"], dominant9),
        (["major9", "maj9", "M9"], major9),
        (["minor9", "min9", "m9"], minor9), (["fifth", "5"], fifth),
    ]
}
