// Logarithms and powers of Floats.
extension RenderMath {
    /// Returns the natural logarithm.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log(_ x: Float) -> Float {
        Approximation.logarithm(x, of2: Approximation.lnOf2, ofE: 1)
    }

    /// Returns the natural logarithm, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.logarithm(x, of2: Approximation.lnOf2, ofE: 1)
    }

    /// Returns the natural logarithm, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log(x.lowHalf), highHalf: log(x.highHalf))
    }

    /// Returns the logarithm to base 2; exact for powers of two.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log2(_ x: Float) -> Float {
        Approximation.logarithm(x, of2: 1, ofE: Approximation.log2OfE)
    }

    /// Returns the logarithm to base 2, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log2(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.logarithm(x, of2: 1, ofE: Approximation.log2OfE)
    }

    /// Returns the logarithm to base 2, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log2(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log2(x.lowHalf), highHalf: log2(x.highHalf))
    }

    /// Returns the logarithm to base 10; exact for powers of ten.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log10(_ x: Float) -> Float {
        Approximation.logarithm(x, of2: Approximation.log10Of2, ofE: Approximation.log10OfE)
    }

    /// Returns the logarithm to base 10, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log10(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.logarithm(x, of2: Approximation.log10Of2, ofE: Approximation.log10OfE)
    }

    /// Returns the logarithm to base 10, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log10(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log10(x.lowHalf), highHalf: log10(x.highHalf))
    }

    /// Returns `base` raised to `exponent`.
    ///
    /// Error below 0.502 ulp. All special cases as in the C library: negative bases have whole powers only (else
    /// not-a-number), and anything to the power of 0, and 1 to the power of anything, is 1.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func pow(_ base: Float, _ exponent: Float) -> Float {
        Float(Approximation.power(Double(base), Double(Approximation.clamp(exponent, -1e30, 1e30))))
    }

    /// Returns `base` raised to `exponent`, four at a time, with the same bits as from the `Float` form.
    @_transparent @_noLocks @_noAllocation
    public static func pow(_ base: SIMD4<Float>, _ exponent: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(
            Approximation.power(
                Approximation.widen(base), Approximation.widen(Approximation.clamp(exponent, -1e30, 1e30))))
    }

    /// Returns `base` raised to `exponent`, eight at a time, with the same bits as from the `Float` form.
    @_transparent @_noLocks @_noAllocation
    public static func pow(_ base: SIMD8<Float>, _ exponent: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(
            lowHalf: pow(base.lowHalf, exponent.lowHalf),
            highHalf: pow(base.highHalf, exponent.highHalf))
    }
}

extension RenderMath.Approximation {
    @inlinable static var log10Of2: Double { @_noLocks @_noAllocation get { 0.3010299956639812 } }
    @inlinable static var log10OfE: Double { @_noLocks @_noAllocation get { 0.4342944819032518 } }
}
