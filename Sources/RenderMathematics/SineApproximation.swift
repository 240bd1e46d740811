// Sine, cosine and tangent in double precision, good to 35 bits, for the Float forms.
//
// An angle is taken to the nearest multiple of π (tangent: π/2), which is subtracted in two parts. The first part has
// 31 bits, so that its product with the multiple is exact up to 2²¹ radians; what remains is right to 2⁻⁶⁴, and no
// Float in that range comes nearer than 2⁻²⁹ to a zero.
extension RenderMath.Approximation {
    /// The first 31 bits of π/2.
    @inlinable static var halfPiHigh: Double { @_noLocks @_noAllocation get { 0x1.921fb544p0 } }
    /// π/2 less its first 31 bits.
    @inlinable static var halfPiLow: Double { @_noLocks @_noAllocation get { 0x1.0b4611a626331p-34 } }

    // sin(r) = r (1 + z (s0 + s1 z + …)), z = r², |r| ≤ π/2. Own minimax fit of the relative error (Remez exchange in
    // 220-bit arithmetic), 2^-35.3; coefficients rounded to Double.
    @inlinable static var s0: Double { @_noLocks @_noAllocation get { -0.16666666626149196 } }
    @inlinable static var s1: Double { @_noLocks @_noAllocation get { 0.008333331108583713 } }
    @inlinable static var s2: Double { @_noLocks @_noAllocation get { -0.000198408682072743 } }
    @inlinable static var s3: Double { @_noLocks @_noAllocation get { 2.752538428463121e-06 } }
    @inlinable static var s4: Double { @_noLocks @_noAllocation get { -2.3888906716628426e-08 } }

    /// Returns the sine of an angle between -π/2 and π/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func centralSine(_ r: Double) -> Double {
        let z = r * r
        var p = s4 * z + s3
        p = p * z + s2
        p = p * z + s1
        p = p * z + s0
        return r * (p * z + 1)
    }

    /// Returns the sine of angles between -π/2 and π/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func centralSine(_ r: SIMD4<Double>) -> SIMD4<Double> {
        let z = r * r
        var p = s4 * z + s3
        p = p * z + s2
        p = p * z + s1
        p = p * z + s0
        return r * (p * z + 1)
    }

    /// Computes sin(x) = (-1)ⁿ sin(x - nπ).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func sine(_ x: Double) -> Double {
        let shifted = x * (0.5 * twoOverPi) + bias
        let n = shifted - bias
        let r = (x - n * (2 * halfPiHigh)) - n * (2 * halfPiLow)
        return Double(bitPattern: centralSine(r).bitPattern ^ (shifted.bitPattern &<< 63))
    }

    /// Computes sin(x) = (-1)ⁿ sin(x - nπ).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func sine(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let shifted = x * (0.5 * twoOverPi) + bias
        let n = shifted - bias
        let r = (x - n * (2 * halfPiHigh)) - n * (2 * halfPiLow)
        return value(bits(centralSine(r)) ^ (bits(shifted) &<< 63))
    }

    /// Computes cos(x) = -(-1)ⁿ sin(x - (2n + 1)π/2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func cosine(_ x: Double) -> Double {
        let shifted = (x * (0.5 * twoOverPi) - 0.5) + bias
        let n = shifted - bias
        let odd = n + n + 1
        let r = (x - odd * halfPiHigh) - odd * halfPiLow
        return Double(bitPattern: centralSine(r).bitPattern ^ ((shifted.bitPattern &+ 1) &<< 63))
    }

    /// Computes cos(x) = -(-1)ⁿ sin(x - (2n + 1)π/2).
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func cosine(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let shifted = (x * (0.5 * twoOverPi) - 0.5) + bias
        let n = shifted - bias
        let odd = n + n + 1
        let r = (x - odd * halfPiHigh) - odd * halfPiLow
        return value(bits(centralSine(r)) ^ ((bits(shifted) &+ 1) &<< 63))
    }

    // tan(r) = r (10395 - 1260 z + 21 z²) / (10395 - 4725 z + 210 z² - z³): Lambert's continued fraction
    // r/(1 - z/(3 - z/(5 - … z/11))), which is right to 2^-34.6 up to π/4.

    /// Computes tan(x) = tan(r) or -1/tan(r), where r = x - kπ/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func tangent(_ x: Double) -> Double {
        let shifted = x * twoOverPi + bias
        let k = shifted - bias
        let r = (x - k * halfPiHigh) - k * halfPiLow
        let z = r * r
        let over = r * ((21 * z - 1260) * z + 10395)
        let under = ((210 - z) * z - 4725) * z + 10395
        return shifted.bitPattern & 1 == 0 ? over / under : -under / over
    }

    /// Computes tan(x) = tan(r) or -1/tan(r), where r = x - kπ/2.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func tangent(_ x: SIMD4<Double>) -> SIMD4<Double> {
        let shifted = x * twoOverPi + bias
        let k = shifted - bias
        let r = (x - k * halfPiHigh) - k * halfPiLow
        let z = r * r
        let overR = (21 * z - 1260) * z + 10395
        let over = bits(r * overR)
        let underZ = (210 - z) * z - 4725
        let under = bits(underZ * z + 10395)
        // All ones where k is odd; SSE2 has no comparison of 64-bit integers.
        let odd = SIMD4<UInt64>.zero &- (bits(shifted) & 1)
        let numerator = (over & ~odd) | ((under ^ signBit) & odd)
        let denominator = (under & ~odd) | (over & odd)
        return value(numerator) / value(denominator)
    }

    /// Returns the angles, with 0 for finite ones beyond ``RenderMath/largestPackedAngle`` and not-a-number for
    /// infinite ones.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func packedAngle(_ x: SIMD4<Float>) -> SIMD4<Double> {
        widen((x - x).replacing(with: x, where: magnitude(x) .<= RenderMath.largestPackedAngle))
    }
}
