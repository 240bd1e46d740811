// Exponentials and the hyperbolic tangent of Floats.
extension RenderMath {
    /// eˣ.
    ///
    /// Error below 0.502 ulp, also of denormal results. Above 88.72 infinity, below -103.97 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp(_ x: Float) -> Float {
        Float(Kernel.exp(Double(Kernel.clamp(x, -104, 89))))
    }

    /// eˣ, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.exp(Kernel.widen(Kernel.clamp(x, -104, 89))))
    }

    /// eˣ, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: exp(x.lowHalf), highHalf: exp(x.highHalf))
    }

    /// 2ˣ; exact for whole numbers.
    ///
    /// Error below 0.502 ulp, also of denormal results. From 128 on infinity, up to -150 zero.
    @inlinable @_noLocks @_noAllocation
    public static func exp2(_ x: Float) -> Float {
        Float(Kernel.exp2(Double(Kernel.clamp(x, -151, 129))))
    }

    /// 2ˣ, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp2(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.exp2(Kernel.widen(Kernel.clamp(x, -151, 129))))
    }

    /// 2ˣ, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func exp2(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: exp2(x.lowHalf), highHalf: exp2(x.highHalf))
    }

    /// The hyperbolic tangent: the soft clipper, from -1 to 1 with a slope of 1 at 0.
    ///
    /// Error below 0.505 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func tanh(_ x: Float) -> Float {
        let size = x.magnitude > 10 ? 10 : x.magnitude
        let result = Float(Kernel.tanh(Double(size)))
        return Float(bitPattern: result.bitPattern | (x.bitPattern & 0x8000_0000))
    }

    /// The hyperbolic tangent, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tanh(_ x: SIMD4<Float>) -> SIMD4<Float> {
        let size = Kernel.magnitude(x).replacing(with: 10, where: Kernel.magnitude(x) .> 10)
        let result = Kernel.narrow(Kernel.tanh(Kernel.widen(size)))
        return Kernel.value(Kernel.bits(result) | (Kernel.bits(x) & 0x8000_0000))
    }

    /// The hyperbolic tangent, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tanh(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: tanh(x.lowHalf), highHalf: tanh(x.highHalf))
    }
}
