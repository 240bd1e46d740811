internal import Music
internal import RenderCore

/// Reads the text of a ``SequencerJournal``.
struct JournalReader {
    private var journal: SequencerJournal?
    private var words: [String] = []
    private var place = 0

    /// Reads a line, and those that belong to it. Returns how many.
    mutating func read(_ lines: ArraySlice<Substring>) throws -> Int {
        guard let line = lines.first else { return 1 }
        (words, place) = (try Self.words(line), 0)
        if words.isEmpty { return 1 }
        let kind = try word("a word")
        guard var journal = self.journal else {
            guard kind == "journal", try word("a number") == "1" else {
                throw SequencerJournalError("A journal begins with the line: journal 1")
            }
            self.journal = SequencerJournal(capacity: 64)
            return 1
        }
        // The only reference, or each line would copy all that were before it.
        self.journal = nil
        var taken = 1
        switch kind {
        case "rate": journal.sampleRate = try number("the sample rate", in: 1...1e7)
        case "room": journal.capacity = try whole("the number of tracks", in: 1...65_536)
        case "frames":
            let (first, end) = (try frame(), try frame())
            guard first <= end else { throw SequencerJournalError("The frames end before they begin.") }
            journal.frames = first..<end
        case "remark": journal.remarks.append(try word("a sentence"))
        case "track":
            let stay = try whole("the stay"), channel = try whole("the channel", in: 0...15)
            var track = SequencerJournal.TrackName(name: try word("the name"), channel: channel)
            track.repeats = !passes("once")
            journal.tracks[stay] = track
        case "pattern": try readPattern(&journal)
        case "clip": taken += try readClip(&journal, lines.dropFirst())
        case "map": taken += try readMap(&journal, lines.dropFirst())
        case "at":
            let frame = try frame()
            journal.entries.append(SequencerJournal.Entry(frame: frame, act: try act(journal)))
        default: throw SequencerJournalError("\"\(kind)\" is nothing that a journal has.")
        }
        if place < words.count { throw SequencerJournalError("\"\(words[place])\" is one word too many.") }
        self.journal = journal
        return taken
    }

    func finished() throws -> SequencerJournal {
        guard let journal else { throw SequencerJournalError("A journal begins with the line: journal 1") }
        return journal
    }

    private mutating func readPattern(_ journal: inout SequencerJournal) throws {
        let number = try whole("the number of the pattern")
        let word = try word("the beats of a cycle")
        let parts = word.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard let above = parts[0], parts.count < 3, let below = parts.count > 1 ? parts[1] : 1, above > 0, below > 0
        else { throw SequencerJournalError("\"\(word)\" is no number of beats: write one such as 4 or 7/2.") }
        let seed = UInt64(try self.word("the seed"))
        guard let seed else { throw SequencerJournalError("The seed of a pattern is a whole number.") }
        let text = try self.word("the text of the pattern")
        journal.contents[number] = .pattern(Pattern(text, cycle: Fraction(above, below), seed: seed))
    }

    private mutating func readClip(_ journal: inout SequencerJournal, _ lines: ArraySlice<Substring>) throws -> Int {
        let (number, count) = (try whole("the number of the clip"), try whole("the number of lines", in: 0...1 << 30))
        guard count <= lines.count else {
            throw SequencerJournalError("The clip has \(count) lines, and not all follow.")
        }
        do {
            journal.contents[number] = .clip(try Clip(text: lines.prefix(count).joined(separator: "\n")))
        } catch { throw SequencerJournalError("In the clip that follows, \(error)") }
        return count
    }

    private mutating func readMap(_ journal: inout SequencerJournal, _ lines: ArraySlice<Substring>) throws -> Int {
        let (number, count) = (try whole("the number of the map"), try whole("the number of lines", in: 0...1 << 30))
        guard place == words.count, count <= lines.count else {
            throw SequencerJournalError("The map has \(count) lines, and not all follow.")
        }
        var (points, metres): ([TempoMap.Point], [TempoMap.MetreChange]) = ([], [])
        for line in lines.prefix(count) {
            (words, place) = (try Self.words(line), 0)
            let kind = try word("point or metre"), beat = try self.number("the beat", in: 0...1e9)
            switch kind {
            case "point":
                let tempo = try self.number("the tempo", in: 1...10_000)
                points.append(TempoMap.Point(at: beat, tempo, try shape()))
            case "metre":
                let metre = Metre(try whole("the beats of a bar", in: 1...1_024), try whole("the beat", in: 1...1_024))
                let bar = try self.number("the length of a bar", in: 1.0 / 64...1_024)
                metres.append(TempoMap.MetreChange(at: beat, metre, bar: bar))
            default: throw SequencerJournalError("\"\(kind)\" is nothing that a map has.")
            }
            if place < words.count {
                throw SequencerJournalError("In the map, \"\(words[place])\" is one word too many.")
            }
        }
        journal.maps[number] = TempoMap(points, metres: metres)
        return count
    }

    private mutating func shape() throws -> TempoMap.Shape {
        let word = try word("the shape")
        guard let shape = TempoMap.Shape(rawValue: word) else {
            throw SequencerJournalError("\"\(word)\" is no shape: write step, line or exponential.")
        }
        return shape
    }

    private mutating func map(_ journal: SequencerJournal) throws -> Int {
        let number = try whole("the number of a map")
        guard journal.maps[number] != nil else {
            throw SequencerJournalError("No line before says what the map \(number) is.")
        }
        return number
    }

    private mutating func act(_ journal: SequencerJournal) throws -> SequencerJournal.Act {
        let kind = try word("what happened")
        switch kind {
        case "clock": return try clock(journal)
        case "own":
            return passes("map") ? .ownMap(try map(journal)) : .ownTempo(try number("the tempo", in: 1...999, or: 0))
        case "loop": return .loop(SongLoop(try number("a beat", in: -1e9...1e9), try number("a beat", in: -1e9...1e9)))
        case "follow": return .follows(try whole("0 or 1", in: 0...1) == 1)
        case "join":
            let place = try trackPlace(), stay = try whole("the stay")
            guard journal.tracks[stay] != nil else {
                throw SequencerJournalError("No line before says what track \(stay) is.")
            }
            return .joins(place: place, stay: stay, content: try content(journal))
        case "leave": return .leaves(place: try trackPlace())
        case "content": return .content(place: try trackPlace(), content: try content(journal))
        case "settings":
            let place = try trackPlace()
            var settings = TrackSettings()
            settings.isMuted = try whole("0 or 1", in: 0...1) == 1
            settings.isSoloed = try whole("0 or 1", in: 0...1) == 1
            settings.offset = try number("the offset", in: -1e6...1e6)
            settings.rate = try number("the rate", in: 1.0 / 64...64)
            settings.loop = try number("the loop", in: Performance.shortestLoop...1e6, or: 0)
            return .settings(place: place, settings)
        case "start": return try command(SequencerCommand(.start, beat: try beat()))
        case "locate": return try command(SequencerCommand(.locate, beat: try number("the beat", in: -1e9...1e9)))
        case "stop": return try command(SequencerCommand(.stop))
        case "launch": return try trackCommand(.launch)
        case "halt": return try trackCommand(.halt)
        case "rejoin": return try trackCommand(.rejoin)
        case "reset": return .reset
        default: throw SequencerJournalError("\"\(kind)\" is nothing that happens.")
        }
    }

    /// Reads the numbers of a clock, and its map if it has one.
    private mutating func clock(_ journal: SequencerJournal) throws -> SequencerJournal.Act {
        var numbers: [Double] = []
        while place < words.count, let number = Double(words[place]) {
            numbers.append(number)
            place += 1
        }
        guard journal.sampleRate > 0 else { throw SequencerJournalError("No line before says the sample rate.") }
        guard let clock = BeatClock(numbers, sampleRate: journal.sampleRate) else {
            throw SequencerJournalError("These are not the numbers of a clock.")
        }
        return .clock(clock, map: passes("map") ? try map(journal) : 0)
    }

    private mutating func trackCommand(_ action: SequencerCommand.Action) throws -> SequencerJournal.Act {
        let track = try trackPlace(), stay = try whole("the stay")
        return try command(SequencerCommand(action, track: track, stay: stay))
    }

    /// Reads the grid of a command, and the bars after that.
    private mutating func command(_ command: SequencerCommand) throws -> SequencerJournal.Act {
        var command = command
        command.grid = try grid()
        if place < words.count { command.bars = try whole("the bars after that", in: 0...4_096) }
        return .command(command)
    }

    private mutating func trackPlace() throws -> Int { try whole("the place of a track", in: 0...65_535) }

    private mutating func content(_ journal: SequencerJournal) throws -> Int {
        let number = try whole("the number of a content")
        guard journal.contents[number] != nil else {
            throw SequencerJournalError("No line before says what the content \(number) is.")
        }
        return number
    }

    private mutating func beat() throws -> Double {
        passes("-") ? .nan : try number("the beat, or -", in: -1e9...1e9)
    }

    /// 0 for at once, -1 for bars.
    private mutating func grid() throws -> Double {
        if place < words.count && Double(words[place]) == -1 {
            place += 1
            return -1
        }
        return try number("the grid", in: 1.0 / 64...4_096, or: 0)
    }

    private mutating func frame() throws -> Int64 { Int64(try whole("a frame", in: 0...1 << 60)) }

    private mutating func whole(_ what: String, in range: ClosedRange<Int> = 0...1 << 60) throws -> Int {
        let word = try word(what)
        guard let number = Int(word), range.contains(number) else {
            throw SequencerJournalError(
                "\"\(word)\" is not \(what): write a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    private mutating func number(_ what: String, in range: ClosedRange<Double>, or other: Double? = nil) throws
        -> Double
    {
        let word = try word(what)
        let number = Double(word)
        if let number, number == other || range.contains(number) { return number }
        throw SequencerJournalError(
            "\"\(word)\" is not \(what): write \(other.map { "\($0) or " } ?? "")a number from \(range.lowerBound) to \(range.upperBound)."
        )
    }

    /// Goes on behind a word, if it comes next. Returns whether it did.
    private mutating func passes(_ word: String) -> Bool {
        guard place < words.count, words[place] == word else { return false }
        place += 1
        return true
    }

    private mutating func word(_ what: String) throws -> String {
        guard place < words.count else { throw SequencerJournalError("The line ends where \(what) should be.") }
        place += 1
        return words[place - 1]
    }

    /// Returns the words of a line; those in quotation marks without them.
    private static func words(_ line: Substring) throws -> [String] {
        var words: [String] = []
        var rest = line.unicodeScalars[...]
        while let first = rest.first {
            if first.properties.isWhitespace {
                rest.removeFirst()
            } else if first == "\"" {
                rest.removeFirst()
                words.append(try quoted(&rest))
            } else {
                let word = rest.prefix { !$0.properties.isWhitespace }
                words.append(String(String.UnicodeScalarView(word)))
                rest = rest.dropFirst(word.count)
            }
        }
        return words
    }

    private static func quoted(_ rest: inout Substring.UnicodeScalarView) throws -> String {
        var result = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == "\"" { return String(result) }
            guard next == "\\" else {
                result.append(next)
                continue
            }
            let digits = rest.prefix { $0.properties.numericType != nil }
            if digits.isEmpty {
                if let sign = rest.popFirst() { result.append(sign) }
            } else {
                guard let value = UInt32(String(String.UnicodeScalarView(digits))), let sign = Unicode.Scalar(value)
                else { break }
                result.append(sign)
                rest = rest.dropFirst(digits.count + 1)
            }
        }
        throw SequencerJournalError("The text in quotation marks has no end.")
    }
}
