/// A scale: the steps of an octave, in semitones from its first note.
///
///     let line = Pattern("0 2 4 <7 9>").scale(.minor, root: "A3")
///     let slendro = Scale([0, 2.4, 4.8, 7.2, 9.6])
///
/// Threads: control.
public struct Scale: Sendable, Hashable {
    /// The semitones of the degrees of the first octave; 0 is the root.
    public let degrees: [Double]
    /// The semitones after which the degrees come again.
    public let octave: Double

    /// Creates a scale. Numbers that are not finite are left out; without any it has the root alone.
    public init(_ degrees: [Double], octave: Double = 12) {
        let known = degrees.filter(\.isFinite)
        self.degrees = known.isEmpty ? [0] : known
        self.octave = octave.isFinite ? octave : 12
    }

    /// Returns the semitones above the root of a degree: 0 is the root, and negative ones are below it.
    ///
    /// A degree beyond ±10,000 is held to that, and one that is not a number is 0.
    public func semitones(of degree: Double) -> Double {
        let index = degree.isNaN ? 0 : Int(min(max(degree, -10_000), 10_000).rounded())
        let round = Fraction(index, degrees.count).floor
        return degrees[index - round * degrees.count] + Double(round) * octave
    }

    /// Major, also called Ionian.
    public static let major = Scale([0, 2, 4, 5, 7, 9, 11])
    /// Natural minor, also called Aeolian.
    public static let minor = Scale([0, 2, 3, 5, 7, 8, 10])
    /// Minor with a leading note.
    public static let harmonicMinor = Scale([0, 2, 3, 5, 7, 8, 11])
    /// Minor as it goes up.
    public static let melodicMinor = Scale([0, 2, 3, 5, 7, 9, 11])
    /// Dorian: minor with a high sixth.
    public static let dorian = Scale([0, 2, 3, 5, 7, 9, 10])
    /// Phrygian: minor with a low second.
    public static let phrygian = Scale([0, 1, 3, 5, 7, 8, 10])
    /// Lydian: major with a high fourth.
    public static let lydian = Scale([0, 2, 4, 6, 7, 9, 11])
    /// Mixolydian: major with a low seventh.
    public static let mixolydian = Scale([0, 2, 4, 5, 7, 9, 10])
    /// Locrian: minor with a low second and a low fifth.
    public static let locrian = Scale([0, 1, 3, 5, 6, 8, 10])
    /// Five notes of major.
    public static let majorPentatonic = Scale([0, 2, 4, 7, 9])
    /// Five notes of minor.
    public static let minorPentatonic = Scale([0, 3, 5, 7, 10])
    /// The blues: minor pentatonic with a flat fifth.
    public static let blues = Scale([0, 3, 5, 6, 7, 10])
    /// Whole tones.
    public static let wholeTone = Scale([0, 2, 4, 6, 8, 10])
    /// Whole tones and semitones in turn.
    public static let diminished = Scale([0, 2, 3, 5, 6, 8, 9, 11])
    /// All twelve semitones.
    public static let chromatic = Scale([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
}
