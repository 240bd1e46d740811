internal import RenderCore

/// The pitch of each MIDI key: equal temperament, or a scale and a keyboard from Scala files.
///
///     synth.tuning = try Tuning(scl: "31edo.scl")
///     piano.tuning = try Tuning(scl: "just.scl", kbm: "from-d.kbm")       // while it plays
///     synth.tuning = .equal
///
/// A `.scl` file has the steps of a scale in cents or ratios, and a `.kbm` file says which key is which step, and the frequency of one
/// of them. Without a `.kbm` file the scale begins with key 60, at the frequency that it has in equal temperament (261.63 Hz), and each
/// key is a step. Keys that a `.kbm` file leaves out are silent; keys outside of the range that it names have their pitch of equal
/// temperament.
///
/// Threads: control.
public struct Tuning: Sendable, Hashable {
    /// The description in the `.scl` file.
    public let name: String
    /// The note of each of the 128 keys in semitones, 69 for 440 Hz; one that is no number is silent.
    package let notes: [Float]

    /// Equal temperament with an A of 440 Hz.
    public static let equal = Tuning(name: "12-TET", notes: (0..<128).map { Float($0) })

    init(name: String, notes: [Float]) {
        self.name = name
        self.notes = notes
    }

    /// Reads a scale, and a keyboard if there is one.
    ///
    /// - Parameters:
    ///   - scl: The path of the file with the scale.
    ///   - kbm: The path of the file with the keyboard.
    /// - Throws: ``TuningError``: the file cannot be read, or which of its lines is wrong.
    public init(scl: String, kbm: String? = nil) throws(TuningError) {
        let scale = try TuningText.read(scl)
        guard let kbm else {
            try self.init(TuningText(scale, path: scl), nil)
            return
        }
        let keyboard = try TuningText.read(kbm)
        try self.init(TuningText(scale, path: scl), TuningText(keyboard, path: kbm))
    }

    /// Reads a scale, and a keyboard if there is one, from texts.
    ///
    /// - Parameters:
    ///   - sclText: What a `.scl` file says.
    ///   - kbmText: What a `.kbm` file says.
    /// - Throws: ``TuningError``: which line is wrong.
    public init(sclText: String, kbmText: String? = nil) throws(TuningError) {
        try self.init(TuningText(sclText, path: nil), kbmText.map { TuningText($0, path: nil) })
    }

    private init(_ scl: TuningText, _ kbm: TuningText?) throws(TuningError) {
        let scale = try TuningScale(scl)
        let keyboard = try kbm.map { text throws(TuningError) in try TuningKeyboard(text) } ?? TuningKeyboard()
        self.init(name: scale.name, notes: try keyboard.notes(of: scale))
    }

    /// Returns the note of a key in semitones, 69 for 440 Hz; `nil` for a key that is silent or does not exist.
    public func note(ofKey key: Int) -> Float? {
        guard notes.indices.contains(key), !notes[key].isNaN else { return nil }
        return notes[key]
    }

    /// Returns the frequency of a key in hertz; `nil` for a key that is silent or does not exist.
    public func frequency(ofKey key: Int) -> Double? {
        note(ofKey: key).map { 440 * RenderMath.exp2((Double($0) - 69) / 12) }
    }
}

/// A reason why a tuning cannot be read: a sentence with the file and the line.
///
/// Threads: control.
public struct TuningError: Error, Hashable, CustomStringConvertible {
    /// The path of the file; `nil` if it was read from text.
    public let path: String?
    /// The line, from 1 on; `nil` if the file could not be read.
    public let line: Int?
    /// The sentence.
    public let description: String
}

/// The steps of a scale.
struct TuningScale: Sendable {
    let name: String
    /// The cents of each step above the first one, and at the end those of the interval after which it repeats.
    let cents: [Double]

    static var mostSteps: Int { 100_000 }

    init(_ text: TuningText) throws(TuningError) {
        var lines = text.lines[...]
        guard let title = lines.popFirst() else {
            throw text.error(1, "it is empty; it must begin with a description and a number of steps")
        }
        name = title.text
        lines = lines.filter { !$0.word.isEmpty }[...]
        let first = lines.popFirst()
        guard let first, let count = Int(first.word), (0...Self.mostSteps).contains(count) else {
            throw text.error(
                first?.number ?? title.number + 1,
                "\(TuningText.shown(first?.word)) is no number of steps; it must be a whole number from 0 to 100,000")
        }
        var cents: [Double] = []
        while cents.count < count {
            guard let line = lines.popFirst() else {
                throw text.error(text.end, "it has \(cents.count) of the \(count) steps that its second line promises")
            }
            guard let value = Self.cents(line.word) else {
                throw text.error(
                    line.number,
                    "\(TuningText.shown(line.word)) is no step; it must be cents with a full stop, such as 701.955, or a ratio such as 3/2"
                )
            }
            cents.append(value)
        }
        self.cents = cents
    }

    /// Returns the cents of a step: cents with a full stop, a ratio, or a whole number, which is a ratio to 1.
    static func cents(_ word: Substring) -> Double? {
        if word.contains(".") {
            let value = Double(word)
            return value.flatMap { abs($0) <= 1e6 ? $0 : nil }
        }
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let above = Int64(parts[0]), above > 0 else { return nil }
        var below: Int64 = 1
        if parts.count == 2 {
            guard let number = Int64(parts[1]), number > 0 else { return nil }
            below = number
        }
        return 1_200 * RenderMath.log2(Double(above) / Double(below))
    }

    /// Returns the cents of a step above the first one, of any octave.
    func cents(of step: Int) -> Double {
        guard let period = cents.last else { return 0 }
        let (octave, rest) = TuningScale.divided(step, cents.count)
        return Double(octave) * period + (rest == 0 ? 0 : cents[rest - 1])
    }

    static func divided(_ number: Int, _ count: Int) -> (whole: Int, rest: Int) {
        let rest = ((number % count) + count) % count
        return ((number - rest) / count, rest)
    }
}

/// The keys of a keyboard, as steps of a scale.
struct TuningKeyboard: Sendable {
    private var text: TuningText?
    private var keys = 0...127
    private var middle = 60
    /// The key with a frequency of its own, and its note in semitones.
    private var reference = 60
    private var referenceLine = 1
    private var note = 60.0
    /// The step that is an octave of the map above the first one.
    private var octave = 0
    /// The steps of an octave of the map, `nil` for a key that is silent; empty if each key is a step.
    private var map: [Int?] = []

    /// Creates a keyboard on which each key is a step, from key 60 on.
    init() {}

    init(_ text: TuningText) throws(TuningError) {
        self.text = text
        var lines = text.lines.filter { !$0.word.isEmpty }[...]
        func number(_ name: String, _ range: ClosedRange<Int>) throws(TuningError) -> Int {
            guard let line = lines.popFirst() else { throw text.error(text.end, "it ends before \(name)") }
            guard let value = Int(line.word), range.contains(value) else {
                throw text.error(
                    line.number,
                    "\(TuningText.shown(line.word)) is not \(name); that must be a whole number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return value
        }
        let size = try number("the size of the map", 0...100_000)
        let first = try number("the first key", 0...127)
        let last = try number("the last key", 0...127)
        if first > last {
            throw text.error(
                lines.first?.number ?? text.end, "the first key, \(first), is behind the last one, \(last)")
        }
        keys = first...last
        middle = try number("the key of the first step", 0...127)
        referenceLine = lines.first?.number ?? text.end
        reference = try number("the key of the frequency", 0...127)
        guard let line = lines.popFirst() else { throw text.error(text.end, "it ends before the frequency") }
        guard let frequency = Double(line.word), frequency >= 0.001, frequency <= 1e6 else {
            throw text.error(
                line.number,
                "\(TuningText.shown(line.word)) is no frequency; it must be a number of hertz from 0.001 to 1,000,000")
        }
        note = 69 + 12 * RenderMath.log2(frequency / 440)
        octave = try number("the step of the octave", -100_000...100_000)
        while map.count < size {
            // Keys that the file does not name are silent.
            guard let line = lines.popFirst() else {
                map += [Int?](repeating: nil, count: size - map.count)
                break
            }
            if line.word == "x" || line.word == "X" {
                map.append(nil)
            } else if let step = Int(line.word), abs(step) <= 100_000 {
                map.append(step)
            } else {
                throw text.error(
                    line.number,
                    "\(TuningText.shown(line.word)) is no step of the scale; it must be a whole number, or x for a key that is silent"
                )
            }
        }
    }

    /// Returns the cents of a key above the first step; `nil` if it is silent.
    private func cents(_ key: Int, _ scale: TuningScale) -> Double? {
        if map.isEmpty { return scale.cents(of: key - middle) }
        let (turn, place) = TuningScale.divided(key - middle, map.count)
        return map[place].map { Double(turn) * scale.cents(of: octave) + scale.cents(of: $0) }
    }

    /// Returns the note of each key in semitones.
    func notes(of scale: TuningScale) throws(TuningError) -> [Float] {
        guard let home = cents(reference, scale) else {
            throw (text ?? TuningText("", path: nil)).error(
                referenceLine,
                "key \(reference), whose frequency it says, is silent; name a key that is a step of the scale")
        }
        return (0..<128).map { key in
            if !keys.contains(key) { return Float(key) }
            guard let cents = cents(key, scale) else { return .nan }
            let note = note + (cents - home) / 100
            return Float(min(max(note, -128), 256))
        }
    }
}
