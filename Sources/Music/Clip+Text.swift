internal import RenderCore

extension Clip {
    /// The clip as text, which ``init(text:)`` reads to an equal clip.
    ///
    ///     clip 4
    ///     0 1/2 note A1 0.8
    ///     3/2 1/2 note C2 0.6
    ///     3/2 0 controller 0 7 100
    ///
    /// The first line has the length. Each other line has the beginning and the length of an event in beats, and what it is: a note with its
    /// word and its velocity, or a message with its numbers. A note whose number is not that of its word has the number at the end.
    public var text: String {
        var result = "clip \(length)\n"
        for event in events { result += "\(event.start) \(event.length) \(ClipText.text(event.content))\n" }
        return result
    }

    /// Creates a clip of a text, as ``text`` makes it. Empty lines count for nothing, nor does what follows a `#`.
    ///
    /// - Throws: An error with the line, the column and a sentence.
    public init(text: String) throws(ClipError) {
        var result: Clip?
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            var reader = ClipLine(line, number: index + 1)
            guard try reader.hasMore() else { continue }
            if result != nil {
                result?.events.append(try reader.event())
            } else {
                result = Clip(length: try reader.header())
            }
        }
        guard let result else {
            throw ClipError(line: 1, column: 1, reason: "The text has no first line with the length, such as “clip 4”.")
        }
        self = result
    }
}

/// The words of the text form.
enum ClipText {
    static func text(_ content: MusicEvent.Content) -> String {
        switch content {
        case .note(let note): text(note)
        case .message(let message): text(message)
        }
    }

    private static func text(_ note: Note) -> String {
        var result = "note \(quoted(note.word)) \(note.velocity)"
        if note.number != Note.number(of: note.word) { result += " \(note.number.map { "\($0)" } ?? "none")" }
        return result
    }

    private static func text(_ message: MIDIMessage) -> String {
        switch message {
        case .noteOn(let channel, let note, let velocity): "noteOn \(channel) \(note) \(velocity)"
        case .noteOff(let channel, let note, let velocity): "noteOff \(channel) \(note) \(velocity)"
        case .keyPressure(let channel, let note, let pressure): "keyPressure \(channel) \(note) \(pressure)"
        case .controller(let channel, let number, let value): "controller \(channel) \(number) \(value)"
        case .program(let channel, let number): "program \(channel) \(number)"
        case .pressure(let channel, let pressure): "pressure \(channel) \(pressure)"
        case .bend(let channel, let value): "bend \(channel) \(value)"
        case .systemExclusive(let chunk): text(chunk)
        case .timeCode(let value): "timeCode \(value)"
        case .songPosition(let value): "songPosition \(value)"
        case .songSelect(let value): "songSelect \(value)"
        case .tuneRequest: "tuneRequest"
        case .clock: "clock"
        case .start: "start"
        case .continue: "continue"
        case .stop: "stop"
        case .activeSensing: "activeSensing"
        case .reset: "reset"
        }
    }

    /// A part of a system exclusive message: whether it is the first or the last, and its bytes.
    private static func text(_ chunk: MIDIChunk) -> String {
        let bytes = (0..<min(max(chunk.count, 0), 16)).map { " \(chunk.bytes[$0])" }.joined()
        return "exclusive \(chunk.isFirst ? "begins" : "goes-on") \(chunk.isLast ? "ends" : "continues")\(bytes)"
    }

    /// A word as it is, or in quotes if it has a space, a quote, a `#` or a character that is not seen.
    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.unicodeScalars.allSatisfy {
                $0.value > 32 && $0 != "\"" && $0 != "#" && $0 != "\\" && $0.value != 127 && !$0.properties.isWhitespace
            }
        if isPlain { return word }
        var result = "\""
        for scalar in word.unicodeScalars {
            if scalar.isASCII, scalar.value >= 32, scalar.value != 127, scalar != "\"", scalar != "\\" {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\{\(String(scalar.value, radix: 16))}"
            }
        }
        return result + "\""
    }
}
