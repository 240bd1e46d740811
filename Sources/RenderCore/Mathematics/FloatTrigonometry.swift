// Sine, cosine and tangent of Floats.
extension RenderMath {
    /// The sine of an angle in radians, over the whole range.
    ///
    /// Error below 0.501 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func sin(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Kernel.largeSine(x) }
        return Float(Kernel.sine(Double(x)))
    }

    /// The sines of four angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.sine(Kernel.packedAngle(x)))
    }

    /// The sines of eight angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: sin(x.lowHalf), highHalf: sin(x.highHalf))
    }

    /// The cosine of an angle in radians, over the whole range.
    ///
    /// Error below 0.501 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func cos(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Kernel.largeCosine(x) }
        return Float(Kernel.cosine(Double(x)))
    }

    /// The cosines of four angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.cosine(Kernel.packedAngle(x)))
    }

    /// The cosines of eight angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: cos(x.lowHalf), highHalf: cos(x.highHalf))
    }

    /// The tangent of an angle in radians, over the whole range.
    ///
    /// Error below 0.502 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func tan(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Kernel.largeTangent(x) }
        return Float(Kernel.tangent(Double(x)))
    }

    /// The tangents of four angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tan(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.tangent(Kernel.packedAngle(x)))
    }

    /// The tangents of eight angles in radians: the same bits as from the `Float` form up to ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tan(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: tan(x.lowHalf), highHalf: tan(x.highHalf))
    }

    /// Sine and cosine of an angle in radians together.
    ///
    /// The same bits as from ``sin(_:)-(Float)`` and ``cos(_:)-(Float)``.
    @inlinable @_noLocks @_noAllocation
    public static func sincos(_ x: Float) -> (sin: Float, cos: Float) { (sin(x), cos(x)) }

    /// Sines and cosines of four angles in radians together.
    ///
    /// The same bits as from ``sin(_:)-(SIMD4<Float>)`` and ``cos(_:)-(SIMD4<Float>)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sincos(_ x: SIMD4<Float>) -> (sin: SIMD4<Float>, cos: SIMD4<Float>) { (sin(x), cos(x)) }

    /// Sines and cosines of eight angles in radians together.
    ///
    /// The same bits as from ``sin(_:)-(SIMD8<Float>)`` and ``cos(_:)-(SIMD8<Float>)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sincos(_ x: SIMD8<Float>) -> (sin: SIMD8<Float>, cos: SIMD8<Float>) { (sin(x), cos(x)) }
}

extension RenderMath.Kernel {
    // Out of line: angles so large are rare, and their reduction is long.

    /// The sine of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeSine(_ x: Float) -> Float { Float(RenderMath.sin(Double(x))) }

    /// The cosine of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeCosine(_ x: Float) -> Float { Float(RenderMath.cos(Double(x))) }

    /// The tangent of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeTangent(_ x: Float) -> Float { Float(RenderMath.tan(Double(x))) }
}
