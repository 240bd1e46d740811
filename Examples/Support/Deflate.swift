/// Makes bytes smaller: one block of DEFLATE (RFC 1951) with codes made for it, in zlib's envelope (RFC 1950), as PNG
/// wants it.
struct Deflate {
    private var bits = BitWriter()

    /// The bytes in zlib's form.
    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        var deflate = Deflate()
        deflate.write(Repetitions.tokens(of: bytes))
        // A window of 32 kB, no dictionary.
        var result: [UInt8] = [0x78, 0x9C] + deflate.bits.finished()
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        result.append(bigEndian: b << 16 | a)
        return result
    }

    private mutating func write(_ tokens: [Repetitions.Token]) {
        var literals = [Int](repeating: 0, count: 286), distances = [Int](repeating: 0, count: 30)
        literals[256] = 1  // the end
        for token in tokens {
            switch token {
            case .byte(let byte): literals[Int(byte)] += 1
            case .repeated(let length, let distance):
                literals[257 + Range.lengths.index(of: length)] += 1
                distances[Range.distances.index(of: distance)] += 1
            }
        }
        let literal = HuffmanCode(literals, limit: 15), distance = HuffmanCode(distances, limit: 15)
        writeHeader(literal, distance)
        for token in tokens {
            switch token {
            case .byte(let byte): bits.write(literal, Int(byte))
            case .repeated(let length, let far):
                write(length, Range.lengths, literal, from: 257)
                write(far, Range.distances, distance, from: 0)
            }
        }
        bits.write(literal, 256)
    }

    private mutating func write(_ value: Int, _ range: Range, _ code: HuffmanCode, from first: Int) {
        let index = range.index(of: value)
        bits.write(code, first + index)
        bits.write(value - range.starts[index], range.extraBits[index])
    }

    /// The lengths of the two codes, themselves in a code.
    private mutating func writeHeader(_ literal: HuffmanCode, _ distance: HuffmanCode) {
        let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
        let lengths = literal.lengths + distance.lengths
        var counts = [Int](repeating: 0, count: 19)
        for length in lengths { counts[length] += 1 }
        let code = HuffmanCode(counts, limit: 7)
        bits.write(1, 1)  // the last block
        bits.write(2, 2)  // with codes of its own
        bits.write(literal.lengths.count - 257, 5)
        bits.write(distance.lengths.count - 1, 5)
        bits.write(order.count - 4, 4)
        for symbol in order { bits.write(code.lengths[symbol], 3) }
        for length in lengths { bits.write(code, length) }
    }

    /// Numbers that share a symbol; the bits behind it tell them apart.
    private struct Range {
        let starts: [Int]
        let extraBits: [Int]

        static let lengths = Range(first: 3, plain: 8, each: 4, count: 29, last: 258)
        static let distances = Range(first: 1, plain: 4, each: 2, count: 30, last: nil)

        init(first: Int, plain: Int, each: Int, count: Int, last: Int?) {
            var starts: [Int] = [], bits: [Int] = [], next = first
            for index in 0..<count {
                starts.append(next)
                bits.append(index < plain ? 0 : (index - plain) / each + 1)
                next += 1 << bits[index]
            }
            if let last {
                starts[count - 1] = last
                bits[count - 1] = 0
            }
            self.starts = starts
            extraBits = bits
        }

        func index(of value: Int) -> Int {
            var (low, high) = (0, starts.count)
            while high - low > 1 {
                let middle = (low + high) / 2
                if starts[middle] <= value { low = middle } else { high = middle }
            }
            return low
        }
    }
}

/// Finds what has been there before: LZ77.
enum Repetitions {
    enum Token {
        case byte(UInt8)
        case repeated(length: Int, distance: Int)
    }

    static func tokens(of bytes: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        // The last place of each three bytes, and the place before that.
        var last = [Int](repeating: -1, count: 1 << 15), before = [Int](repeating: -1, count: bytes.count)
        func note(_ place: Int) {
            guard place + 3 <= bytes.count else { return }
            let key = hash(bytes, place)
            before[place] = last[key]
            last[key] = place
        }
        var place = 0
        while place < bytes.count {
            var (length, distance) = (0, 0)
            if place + 3 <= bytes.count {
                var candidate = last[hash(bytes, place)], tries = 48
                let longest = min(258, bytes.count - place)
                while candidate >= 0 && place - candidate <= 32_768 && tries > 0 && length < longest {
                    var count = 0
                    while count < longest && bytes[candidate + count] == bytes[place + count] { count += 1 }
                    if count > length { (length, distance) = (count, place - candidate) }
                    candidate = before[candidate]
                    tries -= 1
                }
            }
            if length < 3 {
                tokens.append(.byte(bytes[place]))
                length = 1
            } else {
                tokens.append(.repeated(length: length, distance: distance))
            }
            for passed in place..<place + length { note(passed) }
            place += length
        }
        return tokens
    }

    private static func hash(_ bytes: [UInt8], _ place: Int) -> Int {
        let three = UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
        return Int((three &* 2_654_435_761) >> 17)
    }
}

/// Frequent symbols get few bits: a canonical Huffman code.
struct HuffmanCode {
    private(set) var lengths: [Int]
    /// With the bits in the order in which they are written.
    private(set) var codes: [Int]

    init(_ counts: [Int], limit: Int) {
        var counts = counts
        repeat {
            lengths = Self.lengths(counts)
            // Too long for the format: flatter counts give shorter codes.
            counts = counts.map { $0 > 0 ? $0 / 2 + 1 : 0 }
        } while lengths.contains { $0 > limit }
        codes = Array(repeating: 0, count: counts.count)
        var next = 0
        for length in 1...limit {
            for symbol in lengths.indices where lengths[symbol] == length {
                codes[symbol] = (0..<length).reduce(0) { $0 | (next >> $1 & 1) << (length - 1 - $1) }
                next += 1
            }
            next <<= 1
        }
    }

    private static func lengths(_ counts: [Int]) -> [Int] {
        var lengths = [Int](repeating: 0, count: counts.count)
        var trees = counts.indices.filter { counts[$0] > 0 }.map { (count: counts[$0], symbols: [$0]) }
        if trees.count == 1 { lengths[trees[0].symbols[0]] = 1 }
        while trees.count > 1 {
            trees.sort { $0.count > $1.count }
            let (a, b) = (trees.removeLast(), trees.removeLast())
            for symbol in a.symbols + b.symbols { lengths[symbol] += 1 }
            trees.append((a.count + b.count, a.symbols + b.symbols))
        }
        return lengths
    }
}

/// Bits into bytes, the lowest first.
struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending = 0
    private var count = 0

    mutating func write(_ value: Int, _ length: Int) {
        pending |= value << count
        count += length
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            count -= 8
        }
    }

    mutating func write(_ code: HuffmanCode, _ symbol: Int) { write(code.codes[symbol], code.lengths[symbol]) }

    /// All of them, the last byte filled up.
    consuming func finished() -> [UInt8] {
        if count > 0 { write(0, 8 - count) }
        return bytes
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: UInt32) {
        for shift in [24, 16, 8, 0] { append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }
}
