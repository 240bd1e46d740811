// Sine, cosine and tangent in double precision.
extension RenderMath.Approximation {
    /// Returns sin(high + low), |high| ≤ π/4. Own minimax fit (Remez exchange in 220-bit arithmetic), relative error
    /// 2^-57.9.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func sine(_ high: Double, _ low: Double) -> Double {
        let z = high * high
        var p = 1.5896229805898233e-10 * z - 2.505074775704214e-08
        p = p * z + 2.7557313621350575e-06
        p = p * z - 0.00019841269829589444
        p = p * z + 0.008333333333322118
        p = p * z - 0.1666666666666663
        return high + (high * z * p + low * (1 - 0.5 * z))
    }

    /// Returns cos(high + low), |high| ≤ π/4. The fit is of (cos r - 1 + r²/2)/r⁴, with an absolute error of 2^-64 in
    /// cos r.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func cosine(_ high: Double, _ low: Double) -> Double {
        let z = high * high
        var p = -1.1359669691889913e-11 * z + 2.087572368128688e-09
        p = p * z - 2.755731435522074e-07
        p = p * z + 2.4801587289491763e-05
        p = p * z - 0.0013888888888874138
        p = p * z + 0.0416666666666666
        let half = 0.5 * z
        let rough = 1 - half
        return rough + (((1 - rough) - half) + (z * z * p - high * low))
    }

    /// Returns tan(high + low) for an even `quadrant`, -1/tan(high + low) for an odd one; |high| ≤ π/4.
    ///
    /// Lambert's continued fraction down to z/17, right to 2^-60.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func tangent(_ high: Double, _ low: Double, quadrant: UInt64) -> Double {
        let z = high * high
        let over = ((12870 - 44 * z) * z - 810_810) * z + 11_486_475
        var under = (45 * z - 13860) * z + 945_945
        under = (under * z - 16_216_200) * z + 34_459_425
        let rough = high * z * over / under
        let slope = 1 + (high + rough) * (high + rough)
        let rest = rough + low * slope
        let tangent = high + rest
        if quadrant & 1 == 0 { return tangent }
        // -1/(tangent + lost), with one exact residual.
        let lost = (high - tangent) + rest
        let quotient = -1 / tangent
        let product = quotient * tangent
        let residual = ((1 + product) + productError(quotient, tangent, product)) + quotient * lost
        return quotient + quotient * residual
    }

    /// Returns the sine or the cosine, by quadrant.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func wave(_ reduced: Reduced, quadrant: UInt64) -> Double {
        let isOdd = quadrant & 1 != 0
        let y = isOdd ? cosine(reduced.high, reduced.low) : sine(reduced.high, reduced.low)
        return quadrant & 2 == 0 ? y : -y
    }
}

extension RenderMath {
    /// Returns the sine of an angle in radians, over the whole range.
    ///
    /// Error below 0.85 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func sin(_ x: Double) -> Double {
        if x.magnitude < 0x1p-27 { return x }
        guard x.magnitude < .infinity else { return x - x }
        let reduced = Approximation.reduce(x)
        return Approximation.wave(reduced, quadrant: reduced.quadrant)
    }

    /// Returns the cosine of an angle in radians, over the whole range.
    ///
    /// Error below 0.85 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func cos(_ x: Double) -> Double {
        guard x.magnitude < .infinity else { return x - x }
        let reduced = Approximation.reduce(x)
        return Approximation.wave(reduced, quadrant: reduced.quadrant &+ 1)
    }

    /// Returns sine and cosine of an angle in radians together, for the price of little more than one.
    ///
    /// They have the same bits as from ``sin(_:)-(Double)`` and ``cos(_:)-(Double)``.
    @inlinable @_noLocks @_noAllocation
    public static func sincos(_ x: Double) -> (sin: Double, cos: Double) {
        guard x.magnitude < .infinity else { return (x - x, x - x) }
        let reduced = Approximation.reduce(x)
        let sine = x.magnitude < 0x1p-27 ? x : Approximation.wave(reduced, quadrant: reduced.quadrant)
        return (sine, Approximation.wave(reduced, quadrant: reduced.quadrant &+ 1))
    }

    /// Returns the tangent of an angle in radians, over the whole range.
    ///
    /// Error below 1.5 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func tan(_ x: Double) -> Double {
        if x.magnitude < 0x1p-27 { return x }
        guard x.magnitude < .infinity else { return x - x }
        let reduced = Approximation.reduce(x)
        return Approximation.tangent(reduced.high, reduced.low, quadrant: reduced.quadrant)
    }
}
