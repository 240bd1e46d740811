// Powers of Floats in double precision, with all the special cases of the C library.
//
// The exponent comes clamped to ±10³⁰: beyond, every power is 0, 1 or infinite, and 1 to an infinite power must not
// become 0 · infinity.
extension RenderMath.Approximation {
    /// Returns base^exponent, with the sign of an odd power; the arguments are `Float`s.
    ///
    /// The logarithm has 44 bits, and the exponent of two is at most 150 (8 bits): the power is right to 36 bits.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func power(_ base: Double, _ exponent: Double) -> Double {
        if base == 1 || exponent == 0 { return 1 }
        let size = base.magnitude
        // If the base is infinite or not a number, so is its logarithm.
        var log2 = size < .infinity ? logarithm(size, of2: 1, ofE: log2OfE) : size
        if size == 0 { log2 = -.infinity }
        let product = exponent * log2
        let result = exp2(product < -1000 ? -1000 : product > 1000 ? 1000 : product)

        // From 2^24 on every Float is an even integer.
        let length = exponent.magnitude < 0x1p24 ? exponent.magnitude : 0x1p24
        let shifted = length + bias
        let signed = Double(bitPattern: result.bitPattern ^ ((shifted.bitPattern &<< 63) & base.bitPattern))
        let fractional: Double = base < 0 && size < .infinity ? .nan : result
        return shifted - bias == length ? signed : fractional
    }

    /// Returns base^exponent, with the sign of an odd power; the arguments are `Float`s.
    ///
    /// Transparent, because the inliner takes only one of the two that eight lanes need.
    @_transparent @usableFromInline @_noLocks @_noAllocation
    static func power(_ base: SIMD4<Double>, _ exponent: SIMD4<Double>) -> SIMD4<Double> {
        let size = magnitude(base)
        let exponentSize = magnitude(exponent)
        // If the base is infinite or not a number, so is its logarithm.
        let log2 = size.replacing(with: logarithm(size, of2: 1, ofE: log2OfE), where: size .< .infinity)
            .replacing(with: -.infinity, where: size .== 0)
        let product = exponent * log2
        let clamped = product.replacing(with: -1000, where: product .< -1000)
            .replacing(with: 1000, where: product .> 1000)
        let result = exp2(clamped)

        let length = SIMD4<Double>(repeating: 0x1p24).replacing(with: exponentSize, where: exponentSize .< 0x1p24)
        let shifted = length + bias
        let signed = value(bits(result) ^ ((bits(shifted) &<< 63) & bits(base)))
        return result.replacing(with: .nan, where: base .< 0)
            .replacing(with: result, where: size .== .infinity)
            .replacing(with: signed, where: (shifted - bias) .== length)
            .replacing(with: 1, where: base .== 1)
            .replacing(with: 1, where: exponent .== 0)
    }
}
