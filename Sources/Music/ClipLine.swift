internal import RenderCore

/// Reads a line of a clip's text.
struct ClipLine {
    private let scalars: [Unicode.Scalar]
    private let number: Int
    private var position = 0
    /// The place at which the last word began.
    private var place = 0

    init(_ line: Substring, number: Int) {
        scalars = Array(line.unicodeScalars)
        self.number = number
    }

    private func fault(_ reason: String) -> ClipError { ClipError(line: number, column: place + 1, reason: reason) }

    /// Passes over spaces, and says whether a word follows.
    mutating func hasMore() throws(ClipError) -> Bool {
        while position < scalars.count, scalars[position].properties.isWhitespace { position += 1 }
        place = position
        return position < scalars.count && scalars[position] != "#"
    }

    mutating func header() throws(ClipError) -> Fraction {
        guard try word("the word clip") == "clip" else {
            throw fault("The first line has to be the length of the clip: write one such as “clip 4”.")
        }
        let length = try beats("the length of the clip")
        try end()
        return length
    }

    mutating func event() throws(ClipError) -> MusicEvent {
        let start = try beats("the beat at which the event begins"), length = try beats("the length of the event")
        let kind = try word("what it is: note, controller and others")
        let content: MusicEvent.Content = kind == "note" ? .note(try note()) : .message(try message(kind))
        try end()
        return MusicEvent(content, at: start, length: length)
    }

    private mutating func note() throws(ClipError) -> Note {
        let word = try word("the word of the note")
        guard let velocity = Double(try self.word("the velocity")) else {
            throw fault("This is no velocity: write a number from 0 to 1.")
        }
        var note = Note(word, velocity: velocity)
        guard try hasMore() else { return note }
        let text = try self.word("the number")
        note.number = Double(text)
        guard text == "none" || note.number != nil else {
            throw fault("This is no number of a note: write one such as 60, or none.")
        }
        return note
    }

    private mutating func message(_ kind: String) throws(ClipError) -> MIDIMessage {
        let kindPlace = place
        switch kind {
        case "noteOn": return .noteOn(channel: try byte(), note: try byte(), velocity: try byte())
        case "noteOff": return .noteOff(channel: try byte(), note: try byte(), velocity: try byte())
        case "keyPressure": return .keyPressure(channel: try byte(), note: try byte(), pressure: try byte())
        case "controller": return .controller(channel: try byte(), number: try byte(), value: try byte())
        case "program": return .program(channel: try byte(), number: try byte())
        case "pressure": return .pressure(channel: try byte(), pressure: try byte())
        case "bend": return .bend(channel: try byte(), value: try whole("a value from -8192 to 8191"))
        case "exclusive": return .systemExclusive(try chunk())
        case "timeCode": return .timeCode(try byte())
        case "songPosition": return .songPosition(try whole("a position from 0 to 16383"))
        case "songSelect": return .songSelect(try byte())
        case "tuneRequest": return .tuneRequest
        case "clock": return .clock
        case "start": return .start
        case "continue": return .continue
        case "stop": return .stop
        case "activeSensing": return .activeSensing
        case "reset": return .reset
        default:
            place = kindPlace
            throw fault(
                "No event is called “\(kind.prefix(40))”: write note, controller, program, bend or another message.")
        }
    }

    private mutating func chunk() throws(ClipError) -> MIDIChunk {
        let first = try word("begins or goes-on")
        guard first == "begins" || first == "goes-on" else {
            throw fault("Write begins for the first part of a message, else goes-on.")
        }
        let last = try word("ends or continues")
        guard last == "ends" || last == "continues" else {
            throw fault("Write ends for the last part of a message, else continues.")
        }
        var bytes = SIMD16<UInt8>(repeating: 0)
        var count = 0
        while try hasMore() {
            guard count < 16 else {
                throw fault("A part of a message has 16 bytes at most: write the others into a line of their own.")
            }
            bytes[count] = try byte()
            count += 1
        }
        return MIDIChunk(bytes: bytes, count: count, isFirst: first == "begins", isLast: last == "ends")
    }

    // MARK: Words

    private mutating func end() throws(ClipError) {
        if try hasMore() {
            throw fault("The line is complete before this: take it away, or put it into a line of its own.")
        }
    }

    private mutating func beats(_ name: String) throws(ClipError) -> Fraction {
        let text = try word(name)
        guard let beats = Fraction(text) else {
            throw fault("“\(text.prefix(40))” is no number of beats; write \(name) as 2, 1/3 or 0.5.")
        }
        return beats
    }

    private mutating func byte() throws(ClipError) -> UInt8 { try whole("a number from 0 to 127") }

    private mutating func whole<Number: FixedWidthInteger>(_ name: String) throws(ClipError) -> Number {
        let text = try word(name)
        guard let number = Number(text) else { throw fault("“\(text.prefix(40))” is not \(name), which belongs here.") }
        return number
    }

    /// Reads a word, which may be in quotes.
    private mutating func word(_ name: String) throws(ClipError) -> String {
        guard try hasMore() else { throw fault("The line ends here; \(name) is missing.") }
        var result = String.UnicodeScalarView()
        guard scalars[position] == "\"" else {
            while position < scalars.count, !scalars[position].properties.isWhitespace, scalars[position] != "#" {
                result.append(scalars[position])
                position += 1
            }
            return String(result)
        }
        position += 1
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            if scalar == "\"" { return String(result) }
            result.append(scalar == "\\" ? try escaped() : scalar)
        }
        throw fault("This word in quotes has no end: write a quote behind it.")
    }

    /// Reads the number of a character in braces.
    private mutating func escaped() throws(ClipError) -> Unicode.Scalar {
        let first = position
        while position < scalars.count, scalars[position] != "}", position - first < 10 { position += 1 }
        if position < scalars.count, scalars[position] == "}", scalars[first] == "{" {
            var digits = String.UnicodeScalarView()
            digits.append(contentsOf: scalars[(first + 1)..<position])
            if let scalar = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init) {
                position += 1
                return scalar
            }
        }
        place = first - 1
        throw fault("A \\ in a word in quotes stands before the number of a character, as in \\{22} for a quote.")
    }
}
