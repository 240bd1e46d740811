extension Reverb.Preset {
    static let decays: ClosedRange<Float> = 0.1...60
    static let lowRatios: ClosedRange<Float> = 0.1...4
    static let highRatios: ClosedRange<Float> = 0.05...2
    static let lowCrossovers: ClosedRange<Float> = 40...1_000
    static let highCrossovers: ClosedRange<Float> = 1_000...16_000
    static let sizes: ClosedRange<Float> = 2...45
    static let preDelays: ClosedRange<Float> = 0...0.5
    static let modulationRates: ClosedRange<Float> = 0.05...3

    /// A number of a preset.
    struct Field: Sendable {
        let name: String
        let path: any WritableKeyPath<Reverb.Preset, Float> & Sendable
        let range: ClosedRange<Float>
    }

    /// The numbers, in the order of the reverb's first parameters.
    static let fields = [
        Field(name: "decay", path: \.decay, range: decays),
        Field(name: "lowRatio", path: \.lowRatio, range: lowRatios),
        Field(name: "highRatio", path: \.highRatio, range: highRatios),
        Field(name: "lowCrossover", path: \.lowCrossover, range: lowCrossovers),
        Field(name: "highCrossover", path: \.highCrossover, range: highCrossovers),
        Field(name: "size", path: \.size, range: sizes),
        Field(name: "preDelay", path: \.preDelay, range: preDelays),
        Field(name: "early", path: \.early, range: 0...1),
        Field(name: "diffusion", path: \.diffusion, range: 0...1),
        Field(name: "width", path: \.width, range: 0...1),
        Field(name: "modulation", path: \.modulation, range: 0...1),
        Field(name: "modulationRate", path: \.modulationRate, range: modulationRates),
    ]

    /// The preset with every number in its range; what is no number is that of the medium hall.
    var clamped: Self {
        var preset = self
        let usual = Self(name: "")
        for field in Self.fields {
            let value = self[keyPath: field.path]
            preset[keyPath: field.path] =
                value.isNaN
                ? usual[keyPath: field.path] : min(max(value, field.range.lowerBound), field.range.upperBound)
        }
        return preset
    }

    /// A preset that cannot be read: what is wrong with it, and what would be right.
    ///
    /// Threads: control.
    public struct Problem: Error, Hashable, CustomStringConvertible {
        /// The sentence.
        public let description: String
    }

    /// The preset as text: a line for the name and one for each number, such as `decay = 1.8`.
    public var text: String {
        let title = String(name.map { $0.isNewline ? " " : $0 })
        return "name = \(title)\n" + Self.fields.map { "\($0.name) = \(self[keyPath: $0.path])\n" }.joined()
    }

    /// Reads a preset from text: lines such as `decay = 1.8`, in any order. What is not given is that of the medium hall. Empty
    /// lines, and lines that begin with #, mean nothing.
    ///
    /// - Parameter text: As ``text`` writes it.
    /// - Throws: ``Problem``: which line is wrong, and what would be right.
    public init(text: String) throws(Problem) {
        self.init(name: "")
        var given: Set<String> = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = Self.trimmed(line)
            if line.isEmpty || line.hasPrefix("#") { continue }
            func problem(_ sentence: String) -> Problem {
                Problem(description: "Line \(number + 1) of the preset, \"\(line.prefix(60))\": \(sentence)")
            }
            guard let equals = line.firstIndex(of: "=") else {
                throw problem("it must be a name, = and a value, as decay = 1.8.")
            }
            let (key, value) = (Self.trimmed(line[..<equals]), Self.trimmed(line[line.index(after: equals)...]))
            if !given.insert(String(key)).inserted { throw problem("\(key) is there twice; leave one of them out.") }
            if key == "name" {
                name = String(value)
                continue
            }
            guard let field = Self.fields.first(where: { $0.name == key }) else {
                throw problem("there is no \(key); there are name, \(Self.fields.map(\.name).joined(separator: ", ")).")
            }
            guard let found = Float(value), field.range.contains(found) else {
                throw problem("\(key) must be a number from \(field.range.lowerBound) to \(field.range.upperBound).")
            }
            self[keyPath: field.path] = found
        }
        if given.isEmpty {
            throw Problem(description: "The preset is empty; it needs lines such as decay = 1.8.")
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

extension Reverb.Preset: Codable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Writes the name and every number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: Key(stringValue: "name"))
        for field in Self.fields {
            try container.encode(self[keyPath: field.path], forKey: Key(stringValue: field.name))
        }
    }

    /// Reads a preset. What is not given is that of the medium hall.
    ///
    /// - Throws: ``Problem`` if a number is out of its range; what the decoder throws where one is no number.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        self.init(name: try container.decodeIfPresent(String.self, forKey: Key(stringValue: "name")) ?? "")
        for field in Self.fields {
            guard let found = try container.decodeIfPresent(Float.self, forKey: Key(stringValue: field.name)) else {
                continue
            }
            guard field.range.contains(found) else {
                throw Problem(
                    description: "The preset's \(field.name) is \(found); it must be a number from "
                        + "\(field.range.lowerBound) to \(field.range.upperBound).")
            }
            self[keyPath: field.path] = found
        }
    }
}
