// Logarithms and powers of Floats.
extension RenderMath {
    /// The natural logarithm.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log(_ x: Float) -> Float {
        Kernel.logarithm(x, of2: Kernel.lnOf2, ofE: 1)
    }

    /// The natural logarithm, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.logarithm(x, of2: Kernel.lnOf2, ofE: 1)
    }

    /// The natural logarithm, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log(x.lowHalf), highHalf: log(x.highHalf))
    }

    /// The logarithm to base 2; exact for powers of two.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log2(_ x: Float) -> Float {
        Kernel.logarithm(x, of2: 1, ofE: Kernel.log2OfE)
    }

    /// The logarithm to base 2, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log2(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.logarithm(x, of2: 1, ofE: Kernel.log2OfE)
    }

    /// The logarithm to base 2, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log2(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log2(x.lowHalf), highHalf: log2(x.highHalf))
    }

    /// The logarithm to base 10; exact for powers of ten.
    ///
    /// Error below 0.501 ulp, also for denormal arguments. Of zero -infinity, of negative numbers not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func log10(_ x: Float) -> Float {
        Kernel.logarithm(x, of2: Kernel.log10Of2, ofE: Kernel.log10OfE)
    }

    /// The logarithm to base 10, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log10(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.logarithm(x, of2: Kernel.log10Of2, ofE: Kernel.log10OfE)
    }

    /// The logarithm to base 10, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func log10(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: log10(x.lowHalf), highHalf: log10(x.highHalf))
    }

    /// `base` raised to `exponent`.
    ///
    /// Error below 0.502 ulp. All special cases as in the C library: negative bases have whole powers only (else
    /// not-a-number), and anything to the power of 0, and 1 to the power of anything, is 1.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func pow(_ base: Float, _ exponent: Float) -> Float {
        Float(Kernel.power(Double(base), Double(Kernel.clamp(exponent, -1e30, 1e30))))
    }

    /// `base` raised to `exponent`, four at a time, with the same bits as from the `Float` form.
    @_transparent @_noLocks @_noAllocation
    public static func pow(_ base: SIMD4<Float>, _ exponent: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.power(Kernel.widen(base), Kernel.widen(Kernel.clamp(exponent, -1e30, 1e30))))
    }

    /// `base` raised to `exponent`, eight at a time, with the same bits as from the `Float` form.
    @_transparent @_noLocks @_noAllocation
    public static func pow(_ base: SIMD8<Float>, _ exponent: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(
            lowHalf: pow(base.lowHalf, exponent.lowHalf),
            highHalf: pow(base.highHalf, exponent.highHalf))
    }
}

extension RenderMath.Kernel {
    @inlinable static var log10Of2: Double { @_noLocks @_noAllocation get { 0.3010299956639812 } }
    @inlinable static var log10OfE: Double { @_noLocks @_noAllocation get { 0.4342944819032518 } }
}
