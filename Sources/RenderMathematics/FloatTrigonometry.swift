// Sine, cosine and tangent of Floats.
extension RenderMath {
    /// Returns the sine of an angle in radians, over the whole range.
    ///
    /// Error below 0.501 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func sin(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Approximation.largeSine(x) }
        return Float(Approximation.sine(Double(x)))
    }

    /// Returns the sines of four angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(Approximation.sine(Approximation.packedAngle(x)))
    }

    /// Returns the sines of eight angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: sin(x.lowHalf), highHalf: sin(x.highHalf))
    }

    /// Returns the cosine of an angle in radians, over the whole range.
    ///
    /// Error below 0.501 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func cos(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Approximation.largeCosine(x) }
        return Float(Approximation.cosine(Double(x)))
    }

    /// Returns the cosines of four angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(Approximation.cosine(Approximation.packedAngle(x)))
    }

    /// Returns the cosines of eight angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: cos(x.lowHalf), highHalf: cos(x.highHalf))
    }

    /// Returns the tangent of an angle in radians, over the whole range.
    ///
    /// Error below 0.502 ulp. Infinite angles give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func tan(_ x: Float) -> Float {
        guard x.magnitude <= largestPackedAngle else { return Approximation.largeTangent(x) }
        return Float(Approximation.tangent(Double(x)))
    }

    /// Returns the tangents of four angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tan(_ x: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(Approximation.tangent(Approximation.packedAngle(x)))
    }

    /// Returns the tangents of eight angles in radians: the same bits as from the `Float` form up to
    /// ``largestPackedAngle``.
    ///
    /// Beyond it a finite angle counts as 0.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func tan(_ x: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: tan(x.lowHalf), highHalf: tan(x.highHalf))
    }

    /// Returns sine and cosine of an angle in radians together.
    ///
    /// They have the same bits as from ``sin(_:)-(Float)`` and ``cos(_:)-(Float)``.
    @inlinable @_noLocks @_noAllocation
    public static func sincos(_ x: Float) -> (sin: Float, cos: Float) { (sin(x), cos(x)) }

    /// Returns sines and cosines of four angles in radians together.
    ///
    /// They have the same bits as from ``sin(_:)-(SIMD4<Float>)`` and ``cos(_:)-(SIMD4<Float>)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sincos(_ x: SIMD4<Float>) -> (sin: SIMD4<Float>, cos: SIMD4<Float>) { (sin(x), cos(x)) }

    /// Returns sines and cosines of eight angles in radians together.
    ///
    /// They have the same bits as from ``sin(_:)-(SIMD8<Float>)`` and ``cos(_:)-(SIMD8<Float>)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sincos(_ x: SIMD8<Float>) -> (sin: SIMD8<Float>, cos: SIMD8<Float>) { (sin(x), cos(x)) }
}

extension RenderMath.Approximation {
    // Out of line: angles so large are rare, and their reduction is long.

    /// Returns the sine of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeSine(_ x: Float) -> Float { Float(RenderMath.sin(Double(x))) }

    /// Returns the cosine of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeCosine(_ x: Float) -> Float { Float(RenderMath.cos(Double(x))) }

    /// Returns the tangent of any angle.
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func largeTangent(_ x: Float) -> Float { Float(RenderMath.tan(Double(x))) }
}
