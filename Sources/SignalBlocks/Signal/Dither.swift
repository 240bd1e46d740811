/// The noise that is added before samples are rounded to few bits.
package enum Dither {
    /// Returns noise with a triangular distribution over ±1 step (Lipshitz, Wannamaker, Vanderkooy: "Quantization and
    /// dither", 1992): the difference of two uniform numbers, from one turn of SplitMix64 (Steele, Lea, Flood, 2014).
    ///
    /// - Parameter number: The number in the sequence: the same samples get the same noise however they are cut.
    @_noLocks @_noAllocation
    package static func noise(_ number: Int64) -> Double {
        var z = UInt64(truncatingIfNeeded: number &+ 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        z ^= z &>> 31
        return (Double(z &>> 32) - Double(z & 0xFFFF_FFFF)) * 0x1p-32
    }
}
