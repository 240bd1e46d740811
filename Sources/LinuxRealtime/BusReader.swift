/// Reads values as the bus writes them; `nil` if there are none.
struct BusReader {
    let bytes: [UInt8]
    var position = 0

    mutating func align(_ size: Int) { position = (position + size - 1) / size * size }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        position += 1
        return bytes[position - 1]
    }

    mutating func uint32() -> UInt32? {
        align(4)
        return unsigned(4).map { UInt32($0) }
    }

    mutating func uint64() -> UInt64? {
        align(8)
        return unsigned(8)
    }

    private mutating func unsigned(_ count: Int) -> UInt64? {
        guard position + count <= bytes.count else { return nil }
        position += count
        return bytes[position - count..<position].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func string() -> String? {
        guard let count = uint32(), position + Int(count) + 1 <= bytes.count else { return nil }
        defer { position += Int(count) + 1 }
        return String(decoding: bytes[position..<position + Int(count)], as: UTF8.self)
    }

    mutating func signature() -> String? {
        guard let count = byte(), position + Int(count) + 1 <= bytes.count else { return nil }
        defer { position += Int(count) + 1 }
        return String(decoding: bytes[position..<position + Int(count)], as: UTF8.self)
    }
}
