/// The imports of a Swift file.
enum Imports {
    /// Returns the names of the modules that a text imports.
    static func of(_ text: String) -> Set<String> {
        var names: Set<String> = []
        for statement in withoutComments(text).split(whereSeparator: { $0.isNewline || $0 == ";" }) {
            var words = statement.split(whereSeparator: \.isWhitespace)[...]
            // An import may begin with attributes and an access level: `@testable`, `@preconcurrency public`.
            while let word = words.first,
                word.hasPrefix("@") || ["public", "package", "internal", "fileprivate", "private"].contains(word)
            {
                words.removeFirst()
            }
            guard words.popFirst() == "import", var name = words.popFirst() else { continue }
            if kinds.contains(name), let next = words.popFirst() { name = next }
            names.insert(String(name.prefix { $0 != "." }))
        }
        return names
    }

    /// The kinds of declarations that an import can name: `import struct Mine.Point`.
    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "protocol", "func", "var", "let", "typealias", "actor",
    ]

    /// Leaves comments out. An import stands before any text in quotation marks that could look like one.
    private static func withoutComments(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var depth = 0
        var isLine = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let pair = (byte, index + 1 < bytes.count ? bytes[index + 1] : 0)
            let isNewline = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            index += 1
            if isLine {
                isLine = !isNewline
                if isNewline { result.append(byte) }
            } else if pair == (UInt8(ascii: "/"), UInt8(ascii: "*")) {
                depth += 1
                index += 1
            } else if depth > 0 {
                if pair == (UInt8(ascii: "*"), UInt8(ascii: "/")) {
                    depth -= 1
                    index += 1
                } else if isNewline {
                    result.append(byte)
                }
            } else if pair == (UInt8(ascii: "/"), UInt8(ascii: "/")) {
                isLine = true
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
