/// A line of a session, which is read word by word.
struct SessionLine {
    private let place: String
    private var words: ArraySlice<String>

    /// - Parameter place: The file and the number of the line, for mistakes.
    init(_ text: some StringProtocol, place: String) {
        self.place = place
        words = ArraySlice(text.split { " \t\r".contains($0) }.map { String($0) })
    }

    /// Returns the next word; `nil` at the end.
    mutating func next() -> String? { words.popFirst() }

    /// Returns a mistake in this line.
    func mistake(_ text: String) -> Session.Mistake { Session.Mistake(description: "\(place): \(text)") }

    /// Reads the rest of a line that begins with `track`.
    mutating func track(in folder: String) throws -> Session.Track {
        guard let name = next(), let file = next() else {
            throw mistake("it must be \"track NAME FILE\", and then settings such as \"gain -3\"")
        }
        var track = Session.Track(name: name, path: file.hasPrefix("/") ? file : folder + file)
        while let setting = next() {
            switch setting {
            case "start": track.start = try number(setting, in: 0...999_999)
            case "gain": track.gain = try number(setting, in: -120...12)
            case "pan": track.pan = try number(setting, in: -1...1)
            case "compress":
                track.compression = Session.Compression(
                    threshold: try number(setting, in: Self.thresholds), ratio: try ratio(setting), attack: 10,
                    release: 150)
            case "attack", "release":
                guard track.compression != nil else {
                    throw mistake("\(setting): it belongs to a compressor, and must come after \"compress DB RATIO\"")
                }
                try readTime(setting, &track.compression)
            default:
                throw mistake("\(setting): it must be start, gain, pan, compress, attack or release")
            }
        }
        return track
    }

    /// Reads the rest of a line that begins with `duck`.
    mutating func duck(_ names: [String]) throws -> Session.Duck {
        guard let track = next(), next() == "by", let key = next() else {
            throw mistake("it must be \"duck NAME by NAME DB RATIO\", and then attack or release")
        }
        let numbers = (track: try index(of: track, names), key: try index(of: key, names))
        if numbers.track == numbers.key {
            throw mistake("\(track) cannot make way for itself; it must be another track, or \"compress\" in its line")
        }
        var compression: Session.Compression? = Session.Compression(
            threshold: try number("duck", in: Self.thresholds), ratio: try ratio("duck"), attack: 20, release: 400)
        while let setting = next() {
            guard setting == "attack" || setting == "release" else {
                throw mistake("\(setting): it must be attack or release")
            }
            try readTime(setting, &compression)
        }
        return Session.Duck(track: numbers.track, key: numbers.key, compression: compression!)
    }

    private static let thresholds = -80.0...12.0

    private func index(of name: String, _ names: [String]) throws -> Int {
        let found = names.indices.filter { names[$0] == name }
        guard found.count == 1 else {
            throw mistake("\(found.count == 0 ? "no track" : "more than one track") is called \(name)")
        }
        return found[0]
    }

    private mutating func readTime(_ name: String, _ compression: inout Session.Compression?) throws {
        if name == "attack" {
            compression?.attack = try number(name, in: 0.02...1_000)
        } else {
            compression?.release = try number(name, in: 1...10_000)
        }
    }

    private mutating func number(_ name: String, in range: ClosedRange<Double>) throws -> Double {
        let word = next()
        guard let word, let number = Double(word), range.contains(number) else {
            let what = name == "compress" || name == "duck" ? "the threshold in decibels" : "it"
            let ends = [range.lowerBound, range.upperBound].map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }
            throw mistake("\(name) \(word ?? "ends there"): \(what) must be \(ends[0])…\(ends[1])")
        }
        return number
    }

    /// Reads a ratio, as 4:1 or 4.
    private mutating func ratio(_ name: String) throws -> Double {
        let word = next()
        guard let word, let ratio = Double(word.hasSuffix(":1") ? String(word.dropLast(2)) : word),
            (1...100).contains(ratio)
        else { throw mistake("\(name) \(word ?? "ends there"): the ratio must be 1:1…100:1, such as 4:1") }
        return ratio
    }
}
