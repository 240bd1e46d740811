// Exponentials and logarithms in double precision, good to 33 and 44 bits, for the Float forms.
extension RenderMath.Approximation {
    @inlinable static var log2OfE: Double { @_noLocks @_noAllocation get { 1.4426950408889634 } }
    @inlinable static var lnOf2: Double { @_noLocks @_noAllocation get { 0x1.62e42fefa39efp-1 } }
    /// The first 41 bits of ln 2.
    @inlinable static var lnOf2High: Double { @_noLocks @_noAllocation get { 0x1.62e42fefa3p-1 } }
    /// ln 2 less its first 41 bits.
    @inlinable static var lnOf2Low: Double { @_noLocks @_noAllocation get { 0x1.3de6af278ece6p-42 } }

    // eʳ - 1 = r (e0 + e1 r + …), |r| ≤ ln2/2. Own minimax fit of the relative error (Remez exchange in 220-bit
    // arithmetic), 2^-32.0; in eʳ that is 2^-33.3.
    @inlinable static var e0: Double { @_noLocks @_noAllocation get { 1.0000000000311944 } }
    @inlinable static var e1: Double { @_noLocks @_noAllocation get { 0.5000000046652024 } }
    @inlinable static var e2: Double { @_noLocks @_noAllocation get { 0.16666666249666098 } }
    @inlinable static var e3: Double { @_noLocks @_noAllocation get { 0.041666354449415056 } }
    @inlinable static var e4: Double { @_noLocks @_noAllocation get { 0.008333402890673473 } }
    @inlinable static var e5: Double { @_noLocks @_noAllocation get { 0.0013941004981242956 } }
    @inlinable static var e6: Double { @_noLocks @_noAllocation get { 0.00019841255021810762 } }

    // ln((1 + s)/(1 - s)) = 2s (1 + z (l0 + l1 z + …)), z = s², |s| ≤ 0.1716. Own minimax fit, 2^-44.9.
    @inlinable static var l0: Double { @_noLocks @_noAllocation get { 0.33333333337900656 } }
    @inlinable static var l1: Double { @_noLocks @_noAllocation get { 0.19999997810998466 } }
    @inlinable static var l2: Double { @_noLocks @_noAllocation get { 0.14286054557881475 } }
    @inlinable static var l3: Double { @_noLocks @_noAllocation get { 0.11088095701984028 } }
    @inlinable static var l4: Double { @_noLocks @_noAllocation get { 0.09792050346852034 } }

    /// Returns eʳ - 1 for r between -ln2/2 and ln2/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func centralExpMinus1(_ r: Double) -> Double {
        var p = e6 * r + e5
        p = p * r + e4
        p = p * r + e3
        p = p * r + e2
        p = p * r + e1
        p = p * r + e0
        return p * r
    }

    /// Returns eʳ - 1 for r between -ln2/2 and ln2/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func centralExpMinus1(_ r: SIMD4<Double>) -> SIMD4<Double> {
        var p = e6 * r + e5
        p = p * r + e4
        p = p * r + e3
        p = p * r + e2
        p = p * r + e1
        p = p * r + e0
        return p * r
    }

    /// Returns 2ⁿ, where `shifted` is n plus ``bias``; n from -1022 to 1023.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func powerOfTwo(shifted: Double) -> Double {
        Double(bitPattern: (shifted.bitPattern &<< 52) &+ 0x3FF0_0000_0000_0000)
    }

    /// Returns 2ⁿ, where `shifted` is n plus ``bias``; n from -1022 to 1023.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func powerOfTwo(shifted: SIMD4<Double>) -> SIMD4<Double> {
        value((bits(shifted) &<< 52) &+ 0x3FF0_0000_0000_0000)
    }

    /// Returns 2ˣ for x from -1022 to 1023: 2ⁿ e^((x - n) ln 2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func exp2(_ x: Double) -> Double {
        let shifted = x + bias
        let r = (x - (shifted - bias)) * lnOf2
        return (centralExpMinus1(r) + 1) * powerOfTwo(shifted: shifted)
    }

    /// Returns 2ˣ for x from -1022 to 1023: 2ⁿ e^((x - n) ln 2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func exp2(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let shifted = x + bias
        let r = (x - (shifted - bias)) * lnOf2
        return (centralExpMinus1(r) + 1) * powerOfTwo(shifted: shifted)
    }

    /// Returns eˣ for x from -700 to 700: 2ⁿ e^(x - n ln 2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func exp(_ x: Double) -> Double {
        let shifted = x * log2OfE + bias
        let n = shifted - bias
        let r = (x - n * lnOf2High) - n * lnOf2Low
        return (centralExpMinus1(r) + 1) * powerOfTwo(shifted: shifted)
    }

    /// Returns eˣ for x from -700 to 700: 2ⁿ e^(x - n ln 2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func exp(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let shifted = x * log2OfE + bias
        let n = shifted - bias
        let r = (x - n * lnOf2High) - n * lnOf2Low
        return (centralExpMinus1(r) + 1) * powerOfTwo(shifted: shifted)
    }

    /// Computes tanh(x) = (e²ˣ - 1)/(e²ˣ + 1) for x from 0 to 300, with a numerator that is right however small x is.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func tanh(_ x: Double) -> Double {
        let twice = x + x
        let shifted = twice * log2OfE + bias
        let n = shifted - bias
        let r = (twice - n * lnOf2High) - n * lnOf2Low
        let power = powerOfTwo(shifted: shifted)
        let minus1 = centralExpMinus1(r) * power + (power - 1)
        return minus1 / (minus1 + 2)
    }

    /// Computes tanh(x) = (e²ˣ - 1)/(e²ˣ + 1) for x from 0 to 300, with a numerator that is right however small x is.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func tanh(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let twice = x + x
        let shifted = twice * log2OfE + bias
        let n = shifted - bias
        let r = (twice - n * lnOf2High) - n * lnOf2Low
        let power = powerOfTwo(shifted: shifted)
        let minus1 = centralExpMinus1(r) * power + (power - 1)
        return minus1 / (minus1 + 2)
    }

    /// Returns log(x) to a base, given as the logarithms of 2 and of e to that base; x positive, finite, not denormal.
    ///
    /// x = 2ᵏ m with m from √½ to √2, and ln m from s = (m - 1)/(m + 1).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func logarithm(_ x: Double, of2: Double, ofE: Double) -> Double {
        // Moved by √½, the exponent field counts from 0 where x is 2^-1024 √½.
        let moved = x.bitPattern &+ 0x0019_5F61_9980_C433
        let m = Double(bitPattern: x.bitPattern &- (moved & 0xFFF0_0000_0000_0000) &+ 0x4000_0000_0000_0000)
        let k = Double(bitPattern: (moved &>> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_371_520  // 2^52 + 1024
        let s = (m - 1) / (m + 1)
        let z = s * s
        var p = l4 * z + l3
        p = p * z + l2
        p = p * z + l1
        p = p * z + l0
        return (s + s) * ofE * (p * z + 1) + k * of2
    }

    /// Returns log(x) to a base, given as the logarithms of 2 and of e to that base; x positive, finite, not denormal.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func logarithm(_ x: SIMD4<Double>, of2: Double, ofE: Double) -> SIMD4<Double> {
        let moved = bits(x) &+ 0x0019_5F61_9980_C433
        let m = value(bits(x) &- (moved & 0xFFF0_0000_0000_0000) &+ 0x4000_0000_0000_0000)
        let k = value((moved &>> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_371_520
        let s = (m - 1) / (m + 1)
        let z = s * s
        var p = l4 * z + l3
        p = p * z + l2
        p = p * z + l1
        p = p * z + l0
        return (s + s) * ofE * (p * z + 1) + k * of2
    }

    /// Returns the logarithm of any `Float`: -infinity of zero, not-a-number of a negative number.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func logarithm(_ x: Float, of2: Double, ofE: Double) -> Float {
        // Selections and not branches: a loop of calls can become packed code.
        let y = Float(logarithm(Double(x), of2: of2, ofE: ofE))
        let special: Float = x == 0 ? -.infinity : x < 0 ? .nan : x
        return x > 0 && x < .infinity ? y : special
    }

    /// Returns the logarithms of any `Float`s: -infinity of zero, not-a-number of a negative number.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func logarithm(_ x: SIMD4<Float>, of2: Double, ofE: Double) -> SIMD4<Float> {
        // If x is infinite or not a number, the answer is x.
        x.replacing(with: narrow(logarithm(widen(x), of2: of2, ofE: ofE)), where: x .< .infinity)
            .replacing(with: .nan, where: x .< 0)
            .replacing(with: -.infinity, where: x .== 0)
    }
}
