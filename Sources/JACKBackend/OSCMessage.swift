/// A message of Open Sound Control 1.0: an address and arguments, as far as session management needs them.
struct OSCMessage: Sendable, Hashable {
    enum Argument: Sendable, Hashable {
        case integer(Int32)
        case float(Float)
        case string(String)
    }
    var address: String
    var arguments: [Argument]

    init(_ address: String, _ arguments: Argument...) {
        self.address = address
        self.arguments = arguments
    }

    /// The text arguments, in order.
    var strings: [String] {
        arguments.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    /// The bytes: everything in blocks of four, numbers with the high byte first.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        func append(_ text: String) {
            bytes += Array(text.utf8)
            repeat { bytes.append(0) } while bytes.count % 4 != 0
        }
        func append(_ bits: UInt32) {
            for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
        append(address)
        append(
            ","
                + arguments.map {
                    switch $0 {
                    case .integer: "i"
                    case .float: "f"
                    case .string: "s"
                    }
                }.joined())
        for argument in arguments {
            switch argument {
            case .integer(let number): append(UInt32(bitPattern: number))
            case .float(let number): append(number.bitPattern)
            case .string(let text): append(text)
            }
        }
        return bytes
    }

    /// Creates the message of some bytes; `nil` if they are no message, or have arguments of other kinds.
    init?(bytes: [UInt8]) {
        var position = 0
        func text() -> String? {
            guard let end = bytes[position...].firstIndex(of: 0) else { return nil }
            defer { position = (end / 4 + 1) * 4 }
            return String(validating: bytes[position..<end], as: UTF8.self)
        }
        func bits() -> UInt32? {
            guard position + 4 <= bytes.count else { return nil }
            defer { position += 4 }
            return bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard bytes.first == UInt8(ascii: "/"), let address = text(), position <= bytes.count, let tags = text(),
            tags.first == ","
        else { return nil }
        self.address = address
        arguments = []
        for tag in tags.dropFirst() {
            guard position <= bytes.count else { return nil }
            switch tag {
            case "i":
                guard let bits = bits() else { return nil }
                arguments.append(.integer(Int32(bitPattern: bits)))
            case "f":
                guard let bits = bits() else { return nil }
                arguments.append(.float(Float(bitPattern: bits)))
            case "s":
                guard let text = text() else { return nil }
                arguments.append(.string(text))
            default: return nil
            }
        }
    }
}
