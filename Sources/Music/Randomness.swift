/// Random numbers that depend on a seed, a purpose and an exact position alone, on every machine alike and for ever.
struct Randomness: Sendable {
    private let key: UInt64

    /// - Parameters:
    ///   - seed: That of the user.
    ///   - purpose: What the numbers are for: other purposes have other numbers.
    init(seed: UInt64, purpose: UInt64) {
        key = Randomness.mixed(Randomness.mixed(seed &+ 0x9E37_79B9_7F4A_7C15) ^ purpose)
    }

    /// Returns the number for a position: 0…1, without 1.
    func number(at place: Fraction) -> Double {
        var word = Randomness.mixed(key ^ UInt64(bitPattern: Int64(place.numerator)))
        word = Randomness.mixed(word &+ UInt64(bitPattern: Int64(place.denominator)) &* 0x9E37_79B9_7F4A_7C15)
        return Double(word >> 11) * 0x1p-53
    }

    /// Returns the choice for a position among so many.
    func index(at place: Fraction, of count: Int) -> Int { min(Int(number(at: place) * Double(count)), count - 1) }

    /// The last step of SplitMix64 (Steele, Lea and Flood, 2014): each bit of the result depends on each of the word.
    private static func mixed(_ word: UInt64) -> UInt64 {
        var z = word
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
