// Logarithms and powers in double precision.
extension RenderMath.Approximation {
    /// x = 2ᵏ m with m from √½ to √2; x positive and finite.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func split(_ x: Double) -> (k: Double, m: Double) {
        let isDenormal = x < 0x1p-1022
        let pattern = isDenormal ? (x * 0x1p54).bitPattern : x.bitPattern
        let moved = pattern &- 0x3FE6_A09E_667F_3BCD
        let k = Int64(bitPattern: moved) &>> 52
        let m = Double(bitPattern: pattern &- (moved & 0xFFF0_0000_0000_0000))
        return (Double(isDenormal ? k &- 54 : k), m)
    }

    /// Returns ln x in two parts, right to 2⁻⁶⁵; x positive and finite.
    ///
    /// With s = (m - 1)/(m + 1): 2s and 2s³/3 as pairs of doubles, s⁵(…) as one.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func logarithm(_ x: Double) -> (high: Double, low: Double) {
        let (k, m) = split(x)
        let over = m - 1
        let under = m + 1
        let underLow = m - (under - 1)
        let s = over / under
        let product = s * under
        let sLow = (((over - product) - productError(s, under, product)) - s * underLow) / under

        let z = s * s
        let zLow = productError(s, s, z) + 2 * s * sLow
        let cube = z * s
        let cubeLow = productError(z, s, cube) + (z * sLow + zLow * s)
        let third = cube * 0x1.5555555555555p-1
        let thirdLow =
            productError(cube, 0x1.5555555555555p-1, third)
            + (cube * 0x1.5555555555555p-55 + cubeLow * 0x1.5555555555555p-1)

        // 2 artanh(s) = 2s + 2s³/3 + s⁵ (p0 + p1 s² + …). Own minimax fit (Remez exchange in 220-bit arithmetic) with
        // an error of 2^-66 in the whole.
        var p = 0.13196262069901232 * z + 0.1325682442227911
        p = p * z + 0.1538675706883259
        p = p * z + 0.18181784372222295
        p = p * z + 0.22222222519872406
        p = p * z + 0.28571428570099805
        p = p * z + 0.40000000000002256
        let rest = cube * z * p

        let whole = k * lnOf2High
        let sum = whole + 2 * s
        let total = sum + third
        let low =
            sumError(whole, 2 * s, sum) + sumError(sum, third, total)
            + ((2 * sLow + thirdLow) + (rest + k * lnOf2Low))
        let high = total + low
        return (high, (total - high) + low)
    }

    /// Returns the product of two pairs, rounded.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func product(_ a: (high: Double, low: Double), _ high: Double, _ low: Double) -> Double {
        let rough = a.high * high
        return rough + (productError(a.high, high, rough) + (a.high * low + a.low * high))
    }
}

extension RenderMath {
    /// Returns the natural logarithm.
    ///
    /// Error below 1 ulp. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log(_ x: Double) -> Double {
        if x == 0 { return -.infinity }
        if x < 0 { return .nan }
        guard x < .infinity else { return x }
        let (k, m) = Approximation.split(x)
        let f = m - 1
        let s = f / (2 + f)
        let z = s * s
        // ln((1 + s)/(1 - s)) = 2s + 2s³ (q0 + q1 s² + …). Own minimax fit (Remez exchange in 220-bit arithmetic),
        // 2^-59.5.
        var q = 0.07397998446523225 * z + 0.07657023047455266
        q = q * z + 0.09091782244880145
        q = q * z + 0.1111109928512465
        q = q * z + 0.14285714371207012
        q = q * z + 0.19999999999707285
        q = q * z + 0.3333333333333367
        // 2s = f - s f, and s f = f²/2 - s f²/2: the large terms stay exact.
        let half = 0.5 * f * f
        let small = s * (half + 2 * z * q) + k * Approximation.lnOf2Low
        return k * Approximation.lnOf2High - ((half - small) - f)
    }

    /// Returns the natural logarithm of 1 + x, precise near 0 too.
    ///
    /// Error below 2 ulp. Of -1 -infinity, of numbers below it not-a-number.
    @inlinable @_noLocks @_noAllocation
    package static func log(onePlus x: Double) -> Double {
        let sum = 1 + x
        let whole = log(sum)
        return sum > 0 && sum < .infinity ? whole + Approximation.sumError(1, x, sum) / sum : whole
    }

    /// Returns the logarithm to base 2; exact for powers of two.
    ///
    /// Error below 0.51 ulp. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log2(_ x: Double) -> Double {
        if x == 0 { return -.infinity }
        if x < 0 { return .nan }
        guard x < .infinity else { return x }
        return Approximation.product(Approximation.logarithm(x), Approximation.log2OfE, 0x1.777d0ffda0d24p-56)
    }

    /// Returns `base` raised to `exponent`.
    ///
    /// Error below 1.1 ulp. All special cases as in the C library: negative bases have whole powers only (else
    /// not-a-number), and anything to the power of 0, and 1 to the power of anything, is 1.
    @inlinable @_noLocks @_noAllocation
    public static func pow(_ base: Double, _ exponent: Double) -> Double {
        if base == 1 || exponent == 0 { return 1 }
        let size = base.magnitude
        guard size <= .infinity, exponent.magnitude <= .infinity else { return base + exponent }

        // From 2^53 on every number is an even integer.
        let length = exponent.magnitude < 0x1p53 ? exponent.magnitude : 0x1p53
        let isWhole = length >= 0x1p52 || (length + 0x1p52) - 0x1p52 == length
        let isOdd = isWhole && (length >= 0x1p52 ? length : length + 0x1p52).bitPattern & 1 == 1 && length < 0x1p53
        if base < 0, !isWhole, size < .infinity { return .nan }
        let sign: Double = isOdd && base.sign == .minus ? -1 : 1

        if exponent.magnitude == .infinity {
            if size == 1 { return 1 }
            return (size > 1) == (exponent > 0) ? .infinity : 0
        }
        if size == 0 || size == .infinity {
            return (size == 0) == (exponent > 0) ? 0 * sign : .infinity * sign
        }
        // Beyond 2^64 every power is 0, 1 or infinite: the products must not overflow.
        let y = exponent < -0x1p64 ? -0x1p64 : exponent > 0x1p64 ? 0x1p64 : exponent
        let logarithm = Approximation.logarithm(size)
        let high = y * logarithm.high
        guard high.magnitude < 1000 else { return high > 0 ? .infinity * sign : 0 * sign }
        return Approximation.exp(high, Approximation.productError(y, logarithm.high, high) + y * logarithm.low) * sign
    }
}
