// Conversions of vectors that the standard library lacks: reinterpreting their bits, and conversions that stay packed.
extension RenderMath.Approximation {
    /// Returns the bit patterns of the lanes.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func bits(_ x: SIMD4<Double>) -> SIMD4<UInt64> { unsafe unsafeBitCast(x, to: SIMD4<UInt64>.self) }

    /// Returns the numbers that have these bit patterns.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func value(_ x: SIMD4<UInt64>) -> SIMD4<Double> { unsafe unsafeBitCast(x, to: SIMD4<Double>.self) }

    /// Returns the bit patterns of the lanes.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func bits(_ x: SIMD4<Float>) -> SIMD4<UInt32> { unsafe unsafeBitCast(x, to: SIMD4<UInt32>.self) }

    /// Returns the numbers that have these bit patterns.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func value(_ x: SIMD4<UInt32>) -> SIMD4<Float> { unsafe unsafeBitCast(x, to: SIMD4<Float>.self) }

    /// Returns the bit patterns of the lanes.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func bits(_ x: SIMD8<Float>) -> SIMD8<UInt32> { unsafe unsafeBitCast(x, to: SIMD8<UInt32>.self) }

    /// Returns the numbers that have these bit patterns.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func value(_ x: SIMD8<UInt32>) -> SIMD8<Float> { unsafe unsafeBitCast(x, to: SIMD8<Float>.self) }

    /// Returns the lanes without their signs.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func magnitude(_ x: SIMD4<Double>) -> SIMD4<Double> { value(bits(x) & ~signBit) }

    /// Returns the lanes without their signs.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func magnitude(_ x: SIMD4<Float>) -> SIMD4<Float> { value(bits(x) & 0x7FFF_FFFF) }

    /// Converts exactly; becomes two `cvtps2pd`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func widen(_ x: SIMD4<Float>) -> SIMD4<Double> {
        SIMD4<Double>(Double(x[0]), Double(x[1]), Double(x[2]), Double(x[3]))
    }

    /// Converts to the nearest `Float`; becomes two `cvtpd2ps`.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func narrow(_ x: SIMD4<Double>) -> SIMD4<Float> {
        SIMD4<Float>(Float(x[0]), Float(x[1]), Float(x[2]), Float(x[3]))
    }

    /// Returns the lanes kept within `low...high`; a lane that is not a number stays so.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func clamp(_ x: SIMD4<Float>, _ low: Float, _ high: Float) -> SIMD4<Float> {
        x.replacing(with: low, where: x .< low).replacing(with: high, where: x .> high)
    }

    /// Returns `x` kept within `low...high`; not-a-number stays so.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func clamp(_ x: Float, _ low: Float, _ high: Float) -> Float { x < low ? low : x > high ? high : x }
}
