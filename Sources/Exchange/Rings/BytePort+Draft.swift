extension BytePort {
    /// A message that is being written, in the port's memory. What does not fit is left out, from there on.
    ///
    /// Threads: any.
    @safe public struct Draft: ~Copyable {
        private let place: UnsafeMutablePointer<UInt8>
        private let room: Int
        /// The bytes so far.
        public private(set) var count = 0
        /// Indicates whether something did not fit.
        public private(set) var isCut = false

        @_noLocks @_noAllocation
        @usableFromInline init(_ claim: ByteRing.Claim, room: Int) {
            unsafe (place, self.room) = (claim.place, room)
        }

        /// Appends a byte.
        @_noLocks @_noAllocation
        public mutating func append(byte: UInt8) {
            guard makeRoom(1) else { return }
            unsafe place[count] = byte
            count &+= 1
        }

        /// Appends bytes, all or none.
        @_noLocks @_noAllocation
        public mutating func append(_ bytes: Span<UInt8>) {
            guard makeRoom(bytes.count) else { return }
            for index in 0..<bytes.count { unsafe place[count &+ index] = bytes[index] }
            count &+= bytes.count
        }

        /// Appends a text, or as many of its characters' code points as there is room for.
        @_noLocks @_noAllocation
        public mutating func append(_ text: StaticString) {
            guard text.hasPointerRepresentation else { return append(scalar: text.unicodeScalar) }
            var length = isCut ? 0 : text.utf8CodeUnitCount
            if length > room &- count {
                length = room &- count
                // A byte that goes on with a code point is not its first.
                while unsafe length > 0 && text.utf8Start[length] & 0xC0 == 0x80 { length &-= 1 }
                isCut = true
            }
            for index in 0..<length { unsafe place[count &+ index] = text.utf8Start[index] }
            count &+= length
        }

        /// Appends the digits of a whole number.
        @_noLocks @_noAllocation
        public mutating func append(_ number: Int) {
            let digits = BytePort.digits(number.magnitude)
            guard makeRoom(digits &+ (number < 0 ? 1 : 0)) else { return }
            if number < 0 { append(byte: 0x2D) }
            append(number.magnitude, digits: digits)
        }

        /// Appends a number, rounded to the nearest with that many decimals; from 1e15 on with an exponent.
        ///
        /// - Parameters:
        ///   - number: The number.
        ///   - decimals: 0…9, to which others are held.
        @_noLocks @_noAllocation
        public mutating func append(_ number: Double, decimals: Int = 3) {
            if number.isNaN { return append("nan") }
            if number.isInfinite { return append(number < 0 ? "-inf" : "inf") }
            let decimals = min(max(0, decimals), 9)
            var (value, exponent) = (number.magnitude, 0)
            if value >= 1e15 {
                while value >= 1e16 { (value, exponent) = (value / 10, exponent &+ 1) }
                while value >= 10 { (value, exponent) = (value / 10, exponent &+ 1) }
            }
            var (whole, part) = BytePort.split(value, decimals)
            if exponent > 0 && whole == 10 { (whole, part, exponent) = (1, 0, exponent &+ 1) }
            let digits = BytePort.digits(whole)
            let tail = exponent > 0 ? 2 &+ BytePort.digits(UInt(exponent)) : 0
            let isNegative = number.sign == .minus
            guard makeRoom((isNegative ? 1 : 0) &+ digits &+ (decimals > 0 ? 1 &+ decimals : 0) &+ tail) else { return }
            if isNegative { append(byte: 0x2D) }
            append(whole, digits: digits)
            if decimals > 0 {
                append(byte: 0x2E)
                append(part, digits: decimals)
            }
            if exponent > 0 {
                append(byte: 0x65)
                append(byte: 0x2B)
                append(UInt(exponent), digits: tail &- 2)
            }
        }

        /// Appends a number, rounded to the nearest with that many decimals; from 1e15 on with an exponent.
        @_noLocks @_noAllocation
        public mutating func append(_ number: Float, decimals: Int = 3) { append(Double(number), decimals: decimals) }

        /// Returns whether there is room for that many bytes, which come whole or not at all.
        @_noLocks @_noAllocation
        private mutating func makeRoom(_ bytes: Int) -> Bool {
            if isCut || bytes > room &- count { isCut = true }
            return !isCut
        }

        /// Appends a number's last digits, for which there is room.
        @_noLocks @_noAllocation
        private mutating func append(_ number: UInt, digits: Int) {
            var rest = number
            var index = digits &- 1
            while index >= 0 {
                unsafe place[count &+ index] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
                index &-= 1
            }
            count &+= digits
        }

        @_noLocks @_noAllocation
        private mutating func append(scalar: Unicode.Scalar) {
            let value = scalar.value
            let length = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x1_0000 ? 3 : 4
            guard makeRoom(length) else { return }
            if length == 1 { return append(byte: UInt8(truncatingIfNeeded: value)) }
            let lead: UInt32 = length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0
            append(byte: UInt8(truncatingIfNeeded: lead | value &>> UInt32(6 &* (length &- 1))))
            var index = length &- 2
            while index >= 0 {
                append(byte: UInt8(truncatingIfNeeded: 0x80 | (value &>> UInt32(6 &* index)) & 0x3F))
                index &-= 1
            }
        }
    }

    /// The number of a number's digits.
    @_noLocks @_noAllocation
    private static func digits(_ number: UInt) -> Int {
        var (count, rest) = (1, number)
        while rest >= 10 { (count, rest) = (count &+ 1, rest / 10) }
        return count
    }

    /// A number's whole and the digits behind its point, rounded as exact arithmetic does: to even in the middle.
    @_noLocks @_noAllocation
    private static func split(_ value: Double, _ decimals: Int) -> (whole: UInt, part: UInt) {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        var whole = UInt(value)
        let fraction = value - Double(whole)
        let product = fraction * scale
        let error = (-product).addingProduct(fraction, scale)
        var part = UInt(product)
        let rest = product - Double(part)
        // In the middle the rounding of the product decides, and without one the even neighbour.
        let last = decimals == 0 ? whole : part
        if rest > 0.5 || rest == 0.5 && (error > 0 || error == 0 && last & 1 == 1) { part &+= 1 }
        if Double(part) >= scale { (whole, part) = (whole &+ 1, 0) }
        return (whole, part)
    }
}
