/// An opcode of an SFZ file with its place.
struct SFZOpcode {
    let name: String
    let value: String
    let file: String
    let line: Int
}

/// The text of an SFZ file, taken apart: headers and opcodes, without comments, with includes and definitions put in.
struct SFZText {
    /// Sections in their order: the header's name, and its opcodes.
    private(set) var sections: [(header: String, line: Int, opcodes: [SFZOpcode])] = []
    private var definitions: [(name: String, value: String)] = []
    private var depth = 0
    private var characterCount = 0
    private var opcodeCount = 0
    private let read: (String) throws(InstrumentFileError) -> String?
    private let path: String?

    /// The most characters of a file with all that it includes, and the most opcodes.
    static let largest = 16 << 20
    static let mostOpcodes = 1 << 19

    /// - Parameter read: Returns the text of a file that is included; `nil` if there is none.
    init(
        _ text: String, path: String?, read: @escaping (String) throws(InstrumentFileError) -> String?
    ) throws(InstrumentFileError) {
        self.path = path
        self.read = read
        try parse(text, file: path ?? "")
    }

    private func fault(_ line: Int, _ reason: String) -> InstrumentFileError {
        InstrumentFileError(path: path, line: line, reason)
    }

    private mutating func parse(_ text: String, file: String) throws(InstrumentFileError) {
        characterCount += text.utf8.count
        guard characterCount <= Self.largest else {
            throw fault(1, "with what it includes it has more than \(Self.largest >> 20) MB of text")
        }
        var (isComment, number) = (false, 0)
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let bare = Self.bare(Array(line.utf8), &isComment)
            if bare.isEmpty { continue }
            try parse(line: bare, file, number)
        }
        if isComment { throw fault(number, "a comment that begins with “/*” does not end") }
    }

    /// Returns a line without comments and without spaces at its ends.
    private static func bare(_ line: [UInt8], _ isComment: inout Bool) -> [UInt8] {
        var (result, i) = ([UInt8](), 0)
        let (slash, star) = (UInt8(ascii: "/"), UInt8(ascii: "*"))
        while i < line.count {
            let next = i + 1 < line.count ? line[i + 1] : 0
            if isComment {
                if line[i] == star && next == slash { (isComment, i) = (false, i + 1) }
            } else if line[i] == slash && next == slash {
                break
            } else if line[i] == slash && next == star {
                (isComment, i) = (true, i + 1)
            } else {
                result.append(line[i])
            }
            i += 1
        }
        while let last = result.last, last <= 32 { result.removeLast() }
        return Array(result.drop { $0 <= 32 })
    }

    private mutating func parse(line: [UInt8], _ file: String, _ number: Int) throws(InstrumentFileError) {
        if line.first == UInt8(ascii: "#") { return try parse(directive: line, file, number) }
        var rest = line[...]
        while let first = rest.first {
            if first <= 32 {
                rest = rest.dropFirst()
            } else if first == UInt8(ascii: "<") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                    throw fault(number, "a header that begins with “<” does not end")
                }
                let name = String(decoding: rest[rest.startIndex + 1..<end], as: UTF8.self)
                sections.append((name, number, []))
                guard sections.count < Self.mostOpcodes else { throw fault(number, "it has too many headers") }
                rest = rest[(end + 1)...]
            } else {
                guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else {
                    throw fault(number, "“\(Self.short(rest))” is neither a header nor an opcode with “=”")
                }
                let name = String(decoding: rest[..<equals], as: UTF8.self)
                let end = Self.end(of: rest[(equals + 1)...])
                let value = Self.trimmed(rest[equals + 1..<end])
                try add(name, String(decoding: value, as: UTF8.self), file, number)
                rest = rest[end...]
            }
        }
    }

    private mutating func add(
        _ name: String, _ value: String, _ file: String, _ line: Int
    ) throws(InstrumentFileError) {
        opcodeCount += 1
        guard opcodeCount < Self.mostOpcodes else { throw fault(line, "it has too many opcodes") }
        let (name, value) = (replaced(name), replaced(value))
        guard !sections.isEmpty else { throw fault(line, "the opcode “\(name)” stands before any header") }
        sections[sections.count - 1].opcodes.append(
            SFZOpcode(name: name.lowercased(), value: value, file: file, line: line))
    }

    /// Returns a text with the definitions put in, the longest names first.
    private func replaced(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var result = ""
        var rest = Substring(text)
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[dollar...]
            if result.utf8.count < 4_096, let found = definitions.first(where: { rest.hasPrefix($0.name) }) {
                result += found.value
                rest = rest.dropFirst(found.name.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    private mutating func parse(directive line: [UInt8], _ file: String, _ number: Int) throws(InstrumentFileError) {
        let words = line.split(maxSplits: 1) { $0 <= 32 }.map { String(decoding: $0, as: UTF8.self) }
        switch words.first {
        case "#define":
            let parts = (words.count > 1 ? words[1] : "").split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].hasPrefix("$"), parts[0].utf8.count < 256, parts[1].utf8.count < 1_024
            else {
                throw fault(number, "“#define” must have a name with “$” and a value")
            }
            guard definitions.count < 4_096 else { throw fault(number, "it has too many definitions") }
            definitions.removeAll { $0.name == parts[0] }
            let place = definitions.firstIndex { $0.name.utf8.count < parts[0].utf8.count } ?? definitions.count
            definitions.insert((String(parts[0]), parts[1].trimmingSpaces), at: place)
        case "#include":
            let name = replaced((words.count > 1 ? words[1] : "").filter { $0 != "\"" }).trimmingSpaces
            guard depth < 16 else { throw fault(number, "files include each other more than 16 deep") }
            guard !name.isEmpty, let text = try read(name) else {
                throw fault(number, "there is no file “\(name)” to include, or it may not be read")
            }
            depth += 1
            try parse(text, file: name)
            depth -= 1
        default: throw fault(number, "“\(words.first ?? "")” is not a directive; there are #include and #define")
        }
    }

    /// Returns where a value ends: before a header, before the next opcode, or with the line.
    private static func end(of value: ArraySlice<UInt8>) -> Int {
        func isName(_ byte: UInt8) -> Bool {
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 95
                || byte == 36
        }
        var i = value.startIndex
        var word = -1
        // The space before the last word, which is an opcode's name if "=" follows.
        var space = -1
        while i < value.endIndex {
            let byte = value[i]
            if byte == UInt8(ascii: "<") { return i }
            if byte == UInt8(ascii: "="), word >= 0, space >= 0 { return space }
            if byte <= 32 {
                if i == value.startIndex || value[i - 1] > 32 { space = i }
                word = -1
            } else if isName(byte) {
                if word < 0 && (i == value.startIndex || value[i - 1] <= 32) { word = i }
            } else {
                word = -1
            }
            i += 1
        }
        return value.endIndex
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop { $0 <= 32 }
        while let last = bytes.last, last <= 32 { bytes.removeLast() }
        return bytes
    }

    private static func short(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(40), as: UTF8.self)
    }
}

extension StringProtocol {
    /// The text without spaces at its ends.
    var trimmingSpaces: String {
        var rest = Substring(self).drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" || last == "\r" { rest.removeLast() }
        return String(rest)
    }
}
