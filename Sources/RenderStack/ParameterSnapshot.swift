/// The values of parameters by their names: to be saved as text that people can read and change, and to be restored.
///
///     let saved = ParameterSnapshot(renderer.parameters).text
///     …
///     let snapshot = try ParameterSnapshot(text: saved)
///     var problems: [String] = []
///     renderer.transaction { problems = snapshot.restore(to: renderer.parameters) }
///
/// Each line is a name, a value and its unit: `LowPass.cutoff = 800.0 Hz`. Empty lines and those that begin with `#` are
/// remarks.
///
/// Threads: control.
public struct ParameterSnapshot: Sendable, Hashable, CustomStringConvertible {
    /// One value.
    ///
    /// Threads: control.
    public struct Entry: Sendable, Hashable {
        /// The parameter's name.
        public let name: String
        /// Its value.
        public let value: Float
        /// The unit of the value.
        public let unit: Parameter.Unit
    }

    /// The values, in order.
    public let entries: [Entry]

    /// Creates a snapshot of the values that parameters have now. Of several with one name only the first counts.
    public init(_ parameters: [ParameterReference]) {
        var names: Set<String> = []
        entries = parameters.compactMap { parameter in
            names.insert(parameter.name).inserted
                ? Entry(name: parameter.name, value: parameter.value, unit: parameter.unit) : nil
        }
    }

    /// The value of a parameter by its name; `nil` if there is none.
    public subscript(_ name: String) -> Float? { entries.first { $0.name == name }?.value }

    /// Sets the parameters that have a value here; the others stay as they are. In a transaction they change together.
    ///
    /// - Returns: A sentence for each value that could not be set as it is: no parameter has the name or the unit, or
    ///   the value is out of its range and became the nearest one inside.
    @discardableResult
    public func restore(to parameters: [ParameterReference]) -> [String] {
        let byName = Dictionary(parameters.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        return entries.compactMap { entry in
            guard let parameter = byName[entry.name] else {
                return "There is no parameter \(entry.name.shown); its value \(entry.value) is left out."
            }
            guard parameter.unit == entry.unit else {
                return "\(entry.name.shown) counts \(Self.word(parameter.unit)), not \(Self.word(entry.unit)); "
                    + "its value \(entry.value) is left out."
            }
            parameter.value = entry.value
            if parameter.range.contains(entry.value) { return nil }
            let nearest = min(max(entry.value, parameter.range.lowerBound), parameter.range.upperBound)
            return "\(entry.name.shown) goes from \(parameter.range.lowerBound) to \(parameter.range.upperBound); "
                + "\(entry.value) became \(nearest)."
        }
    }

    private static func word(_ unit: Parameter.Unit) -> String { unit == .none ? "a bare number" : unit.rawValue }

    // MARK: Text

    /// The values as text, a line each.
    public var text: String { entries.map { $0.line + "\n" }.joined() }

    /// The values as text.
    public var description: String { text }

    /// Creates a snapshot with the values in a text.
    ///
    /// - Throws: An error that says which line is wrong, and how.
    public init(text: String) throws(ParameterSnapshotError) {
        var entries: [Entry] = []
        var lines: [String: Int] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let number = index + 1
            let content = line.trimmed
            if content.isEmpty || content.first == "#" { continue }
            let entry: Entry
            do { entry = try Entry(line: content) } catch { throw ParameterSnapshotError(line: number, error.sentence) }
            if let earlier = lines[entry.name] {
                throw ParameterSnapshotError(line: number, "\(entry.name.shown) has a value in line \(earlier) already")
            }
            lines[entry.name] = number
            entries.append(entry)
        }
        self.entries = entries
    }
}

/// The reason why a text is not a ``ParameterSnapshot``.
///
/// Threads: control.
public struct ParameterSnapshotError: Error, CustomStringConvertible {
    /// The number of the line, from 1.
    public let line: Int
    /// A sentence that says what is wrong with the line and what it should be.
    public let description: String

    fileprivate init(line: Int, _ sentence: String) {
        self.line = line
        description = "Line \(line): \(sentence)."
    }
}

extension ParameterSnapshot.Entry {
    fileprivate struct Mistake: Error { let sentence: String }

    /// The entry as a line. A name that could be taken for something else stands in quotation marks.
    fileprivate var line: String {
        let isPlain =
            !name.isEmpty && name.first != "#" && name[...].trimmed.count == name.count
            && !name.contains { $0 == "=" || $0 == "\"" || $0 == "\\" || $0.isNewline }
        let unit = unit.rawValue.isEmpty ? "" : " " + unit.rawValue
        return "\(isPlain ? name : quoted) = \(value)\(unit)"
    }

    private var quoted: String {
        var result = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            default:
                // Every kind of line break, so that a name stays in its line.
                let isPlain = !Character(scalar).isNewline && scalar.value >= 0x20
                result += isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result + "\""
    }

    fileprivate init(line: Substring) throws(Mistake) {
        let (name, rest) = try Self.name(line)
        let words = rest.split(whereSeparator: \.isWhitespace)
        guard let first = words.first, words.count <= 2 else {
            throw Mistake(
                sentence: "behind the = a number is expected, and its unit if it has one, not \"\(rest.trimmed)\"")
        }
        guard let value = Float(first), value.isFinite else {
            throw Mistake(sentence: "\"\(first)\" is not a number")
        }
        let word = words.count == 2 ? String(words[1]) : ""
        guard let unit = Parameter.Unit(rawValue: word) else {
            throw Mistake(sentence: "\"\(word)\" is not a unit that a parameter can have")
        }
        self.init(name: name, value: value, unit: unit)
    }

    /// Returns the name, and the text behind the equals sign.
    private static func name(_ line: Substring) throws(Mistake) -> (name: String, rest: Substring) {
        guard line.first == "\"" else {
            guard let equals = line.firstIndex(of: "=") else {
                throw Mistake(sentence: "a name, = and a number are expected, as in \"LowPass.cutoff = 800 Hz\"")
            }
            let name = line[..<equals].trimmed
            if name.isEmpty { throw Mistake(sentence: "the name before the = is missing") }
            return (String(name), line[line.index(after: equals)...])
        }
        var name = String.UnicodeScalarView()
        var rest = line.unicodeScalars.dropFirst()
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                let behind = Substring(rest).trimmed
                guard behind.first == "=" else {
                    throw Mistake(sentence: "a = is expected behind the name in quotation marks")
                }
                return (String(name), behind.dropFirst())
            case "\\": name.append(try escaped(&rest))
            default: name.append(scalar)
            }
        }
        throw Mistake(sentence: "the quotation marks around the name do not end")
    }

    private static func escaped(
        _ rest: inout Substring.UnicodeScalarView
    ) throws(Mistake) -> Unicode.Scalar {
        switch rest.popFirst() {
        case "\"": return "\""
        case "\\": return "\\"
        case "u":
            let digits = Substring(rest).drop { $0 == "{" }.prefix { $0.isHexDigit }
            let end = Substring(rest).dropFirst(digits.count + 1).first
            if let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number), end == "}",
                rest.first == "{"
            {
                rest = rest.dropFirst(digits.count + 2)
                return scalar
            }
            throw Mistake(sentence: "behind \\u a number in braces is expected, as in \\u{a}")
        default: throw Mistake(sentence: "behind a \\ in a name \", \\ or u is expected")
        }
    }
}

extension Substring {
    /// The text without white space at either end.
    fileprivate var trimmed: Substring {
        var result = drop(while: \.isWhitespace)
        while let last = result.last, last.isWhitespace { result.removeLast() }
        return result
    }
}
