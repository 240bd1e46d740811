// Exponentials and the hyperbolic tangent of Floats.
extension RenderMath {
    /// Returns eˣ.
    ///
    /// Error below 0.502 ulp, also of denormal results. Above 88.72 infinity, below -103.97 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp(_ x: Float) -> Float {
        Float(Approximation.exp(Double(Approximation.clamp(x, -104, 89))))
    }

    /// Returns eˣ, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(Approximation.exp(Approximation.widen(Approximation.clamp(x, -104, 89))))
    }

    /// Returns eˣ, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: exp(x.lowHalf), highHalf: exp(x.highHalf))
    }

    /// Returns 2ˣ; exact for whole numbers.
    ///
    /// Error below 0.502 ulp, also of denormal results. From 128 on infinity, up to -150 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp2(_ x: Float) -> Float {
        Float(Approximation.exp2(Double(Approximation.clamp(x, -151, 129))))
    }

    /// Returns 2ˣ, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp2(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(Approximation.exp2(Approximation.widen(Approximation.clamp(x, -151, 129))))
    }

    /// Returns 2ˣ, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp2(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: exp2(x.lowHalf), highHalf: exp2(x.highHalf))
    }

    /// Returns the hyperbolic tangent: the soft clipper, from -1 to 1 with a slope of 1 at 0.
    ///
    /// Error below 0.505 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func tanh(_ x: Float) -> Float {
        let size = x.magnitude > 10 ? 10 : x.magnitude
        let result = Float(Approximation.tanh(Double(size)))
        return Float(bitPattern: result.bitPattern | (x.bitPattern & 0x8000_0000))
    }

    /// Returns the hyperbolic tangent, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tanh(_ x: SIMD4<Float>) -> SIMD4<Float> {
        let size = Approximation.magnitude(x).replacing(with: 10, where: Approximation.magnitude(x) .> 10)
        let result = Approximation.narrow(Approximation.tanh(Approximation.widen(size)))
        return Approximation.value(Approximation.bits(result) | (Approximation.bits(x) & 0x8000_0000))
    }

    /// Returns the hyperbolic tangent, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tanh(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: tanh(x.lowHalf), highHalf: tanh(x.highHalf))
    }
}
