// Exponentials in double precision.
extension RenderMath.Approximation {
    /// Returns e^(high + low) - 1 for |high| ≤ ln2/2 and |low| < 2⁻⁴³.
    ///
    /// Own minimax fit of (eʳ - 1 - r)/r² (Remez exchange in 220-bit arithmetic), with an error of 2^-58 in eʳ.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func centralExpMinus1(_ high: Double, _ low: Double) -> Double {
        var p = 2.5117848514821336e-08 * high + 2.763126585034648e-07
        p = p * high + 2.7557216341841107e-06
        p = p * high + 2.4801489980226675e-05
        p = p * high + 0.00019841269917335677
        p = p * high + 0.0013888888946982023
        p = p * high + 0.008333333333307227
        p = p * high + 0.041666666666515535
        p = p * high + 0.166666666666667
        p = p * high + 0.5000000000000012
        let curve = high * high * p
        return high + (curve + (low + low * (high + curve)))
    }

    /// Returns e^(high + low), from 0 to infinity; |low| is at most an ulp of `high`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func exp(_ high: Double, _ low: Double) -> Double {
        let x = high < -750 ? -750 : high > 720 ? 720 : high
        let shifted = x * log2OfE + bias
        let n = shifted - bias
        let first = x - n * lnOf2High
        let second = n * lnOf2Low
        let r = first - second
        let lost = ((first - r) - second) + low
        return scale(1 + centralExpMinus1(r, lost), byTwoTo: shifted)
    }
}

extension RenderMath {
    /// Returns eˣ.
    ///
    /// Error below 1 ulp, also of denormal results. Above 709.78 infinity, below -745.13 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp(_ x: Double) -> Double { Approximation.exp(x, 0) }

    /// Returns 2ˣ; exact for whole numbers.
    ///
    /// Error below 1.1 ulp, also of denormal results. From 1024 on infinity, below -1075 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp2(_ x: Double) -> Double {
        let y = x < -1100 ? -1100 : x > 1100 ? 1100 : x
        let shifted = y + Approximation.bias
        let r = (y - (shifted - Approximation.bias)) * Approximation.lnOf2
        return Approximation.scale(1 + Approximation.centralExpMinus1(r, 0), byTwoTo: shifted)
    }

    /// Returns eˣ - 1, precise near 0 too.
    ///
    /// Error below 4 ulp.
    @inlinable @_noLocks @_noAllocation
    package static func expMinusOne(_ x: Double) -> Double {
        x.magnitude < 0.34 ? Approximation.centralExpMinus1(x, 0) : exp(x) - 1
    }
}
