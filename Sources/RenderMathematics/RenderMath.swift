/// Mathematics that a `process` may call: sine to power, oscillator phases, decibels, notes.
///
/// The compiler refuses calls into the C library where nothing may lock or allocate, so these are written out here.
/// All are `@inlinable`, free of global state, and carry `@_noLocks @_noAllocation`.
///
///     let gain = RenderMath.amplitude(decibels: -6)
///     output.store(RenderMath.tanh(input.vector8(at: frame) * drive), at: frame)
///
/// A `SIMD4<Float>` or `SIMD8<Float>` form gives, lane by lane, the very bits of the `Float` form (for angles: up to
/// ``largestPackedAngle``), so that a loop with a vector body and a scalar tail sounds the same wherever it is cut.
/// The `Double` forms are meant for coefficients of filters.
///
/// Not-a-number in gives not-a-number out, infinities and signed zeros follow the C library. On a thread that flushes
/// denormals to zero (as the render thread does) denormal arguments count as zero and denormal results are zero.
///
/// The measured errors stand in <doc:Mathematics> and with each function; "ulp" is the spacing of floating-point
/// numbers at the exact result.
///
/// Threads: any.
public enum RenderMath {
    /// The largest magnitude, in radians, for which the SIMD forms of sine, cosine and tangent reduce an angle: 2²¹.
    ///
    /// Beyond it, where two neighbouring `Float` values are a quarter of a radian or more apart, they take a finite
    /// angle for 0; the `Float` forms are right for all angles.
    @inlinable public static var largestPackedAngle: Float { @_noLocks @_noAllocation get { 0x1p21 } }

    /// The arithmetic behind the functions: ranges already checked, special values not yet looked at.
    @usableFromInline enum Approximation {
        /// 1.5 · 2⁵²: added to a number up to 2⁵¹ it rounds it to an integer, which then stands in the low bits.
        ///
        /// `rounded()` would be a call into the C library on processors without SSE 4.1.
        @inlinable static var bias: Double { @_noLocks @_noAllocation get { 0x1.8p52 } }

        /// The sign bit of a `Double`.
        @inlinable static var signBit: UInt64 { @_noLocks @_noAllocation get { 0x8000_0000_0000_0000 } }
    }
}
