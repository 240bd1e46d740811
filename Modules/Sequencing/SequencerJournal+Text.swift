internal import Music
internal import RenderCore

extension SequencerJournal {
    /// The journal as text, which people can read, and ``init(text:)`` too.
    ///
    ///     journal 1
    ///     rate 48000.0
    ///     room 64
    ///     frames 0 96000
    ///     track 1 0 "bass"
    ///     pattern 1 4 0 "a1 e2"
    ///     at 0 clock 0.0 0.0 0.0 0.0 120.0 4.0 4.0 120.0 120.0 120.0 inf inf 0.0 0.0 0.0 1.0 4.0 4.0 inf 4.0 4.0 0.0 0.0
    ///     at 0 join 0 1 1
    ///     at 24000 start - 0.0
    ///
    /// The lines have: the stay, the channel and the name of a track, and if its clips are played once; the number, the cycle, the seed and the
    /// text of a pattern; the number of a clip or a tempo map and how many lines of it follow; and what happened on a frame. A clock has the beat
    /// and the tempo of the renderer, as numbers that give the same bits again. Empty lines count for nothing.
    ///
    /// - Throws: A ``SequencerJournalError`` that names the track whose pattern has no text, because a closure or a change made it.
    public var text: String {
        get throws {
            var lines = ["journal 1", "rate \(sampleRate)", "room \(capacity)"]
            lines.append("frames \(frames.lowerBound) \(frames.upperBound)")
            for remark in remarks { lines.append("remark \(Self.quoted(remark))") }
            for (stay, track) in tracks.sorted(by: { $0.key < $1.key }) {
                lines.append("track \(stay) \(track.channel) \(Self.quoted(track.name))\(track.repeats ? "" : " once")")
            }
            for (number, stay) in heard().sorted(by: { $0.key < $1.key }) {
                lines += try text(of: number, heardBy: stay)
            }
            for (number, map) in maps.sorted(by: { $0.key < $1.key }) { lines += Self.text(of: map, number) }
            for entry in entries { lines.append("at \(entry.frame) \(Self.text(entry.act))") }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    /// The contents that are played, with the stay of a track that plays each.
    private func heard() -> [Int: Int] {
        var (heard, stays): ([Int: Int], [Int: Int]) = ([:], [:])
        for entry in entries {
            if case .joins(let place, let stay, let number) = entry.act {
                stays[place] = stay
                heard[number] = stay
            }
            if case .content(let place, let number) = entry.act { heard[number] = stays[place] ?? 0 }
        }
        return heard
    }

    private func text(of number: Int, heardBy stay: Int) throws -> [String] {
        switch contents[number] {
        case .clip(let clip):
            let lines = clip.text.split(separator: "\n").map(String.init)
            return ["clip \(number) \(lines.count)"] + lines
        case .pattern(let pattern):
            guard let text = pattern.text else {
                throw SequencerJournalError(
                    "A pattern of the track \"\(tracks[stay]?.name ?? "")\" has no text, because a closure or a change made it: keep the journal in memory, or play a clip of the pattern."
                )
            }
            return ["pattern \(number) \(pattern.cycle) \(pattern.seed) \(Self.quoted(text))"]
        case nil: return []
        }
    }

    private static func text(of map: TempoMap, _ number: Int) -> [String] {
        ["map \(number) \(map.points.count + map.metres.count)"]
            + map.points.map { "point \($0.beat) \($0.beatsPerMinute) \($0.shape.rawValue)" }
            + map.metres.map { "metre \($0.beat) \($0.metre.beatsPerBar) \($0.metre.beatType) \($0.bar)" }
    }

    private static func text(_ act: Act) -> String {
        switch act {
        case .clock(let clock, let map):
            "clock \(clock.numbers.map { "\($0)" }.joined(separator: " "))\(map == 0 ? "" : " map \(map)")"
        case .ownTempo(let tempo): "own \(tempo)"
        case .ownMap(let number): "own map \(number)"
        case .loop(let loop): "loop \(loop.start) \(loop.end)"
        case .follows(let follows): "follow \(follows ? 1 : 0)"
        case .joins(let place, let stay, let content): "join \(place) \(stay) \(content)"
        case .leaves(let place): "leave \(place)"
        case .content(let place, let content): "content \(place) \(content)"
        case .settings(let place, let its):
            "settings \(place) \(its.isMuted ? 1 : 0) \(its.isSoloed ? 1 : 0) \(its.offset) \(its.rate) \(its.loop)"
        case .command(let command): text(command)
        case .reset: "reset"
        }
    }

    private static func text(_ command: SequencerCommand) -> String {
        let moment = command.bars > 0 ? "\(command.grid) \(command.bars)" : "\(command.grid)"
        let track = "\(command.track) \(command.stay) \(moment)"
        let beat = command.beat.isNaN ? "-" : "\(command.beat)"
        return switch command.action {
        case .start: "start \(beat) \(moment)"
        case .locate: "locate \(beat) \(moment)"
        case .stop: "stop \(moment)"
        case .launch: "launch \(track)"
        case .halt: "halt \(track)"
        case .rejoin: "rejoin \(track)"
        }
    }

    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.properties.isWhitespace && scalar != " " || scalar.value < 32:
                result += "\\\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Creates a journal of a text, as ``text`` makes it.
    ///
    /// - Throws: A ``SequencerJournalError`` with the line.
    public init(text: String) throws {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        var number = 0
        var reader = JournalReader()
        do {
            while number < lines.count {
                let taken = try reader.read(lines[number...])
                number += taken
            }
            self = try reader.finished()
        } catch let error as SequencerJournalError {
            throw SequencerJournalError("Line \(min(number + 1, max(lines.count, 1))) of the journal: \(error)")
        }
    }
}
