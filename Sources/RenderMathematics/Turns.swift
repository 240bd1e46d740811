// Sine and cosine of a phase counted in turns: for oscillators. All in single precision, so that eight lanes are two
// registers of the oldest 64-bit processor.
extension RenderMath {
    /// Returns the sine of a phase in turns (1 is a full circle, whole turns do not matter), for any finite phase.
    ///
    /// Error below 2.2 ulp and 1.3e-7; the harmonics of a rendered sine stay below -140 dB. Infinities give
    /// not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func sin(turns: Float) -> Float {
        let phase = Approximation.wrapped(turns.magnitude)
        let shifted = 2 * phase + Approximation.floatBias
        let quarters = 2 * (2 * phase - (shifted - Approximation.floatBias))
        let sign = (shifted.bitPattern &<< 31) ^ (turns.bitPattern & 0x8000_0000)
        return Float(bitPattern: Approximation.quarterSine(quarters).bitPattern ^ sign)
    }

    /// Returns the sines of eight phases in turns; the same bits as from ``sin(turns:)-(Float)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(turns: SIMD8<Float>) -> SIMD8<Float> {
        let pattern = Approximation.bits(turns)
        let phase = Approximation.wrapped(Approximation.value(pattern & 0x7FFF_FFFF))
        let shifted = 2 * phase + Approximation.floatBias
        let quarters = 2 * (2 * phase - (shifted - Approximation.floatBias))
        let sign = (Approximation.bits(shifted) &<< 31) ^ (pattern & 0x8000_0000)
        return Approximation.value(Approximation.bits(Approximation.quarterSine(quarters)) ^ sign)
    }

    /// Returns the cosine of a phase in turns (1 is a full circle, whole turns do not matter), for any finite phase.
    ///
    /// Error below 1.3e-7; exact at quarter turns. Infinities give not-a-number.
    @inlinable @_noLocks @_noAllocation
    public static func cos(turns: Float) -> Float {
        Approximation.quarterSine(1 - 4 * Approximation.wrapped(turns.magnitude).magnitude)
    }

    /// Returns the cosines of eight phases in turns; the same bits as from ``cos(turns:)-(Float)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(turns: SIMD8<Float>) -> SIMD8<Float> {
        let phase = Approximation.wrapped(Approximation.value(Approximation.bits(turns) & 0x7FFF_FFFF))
        return Approximation.quarterSine(1 - 4 * Approximation.value(Approximation.bits(phase) & 0x7FFF_FFFF))
    }

    /// Returns the sine of an integer phase: 2³² is a full circle, and `&+` wraps exactly there.
    ///
    ///     phase &+= increment     // frequency / sampleRate · 2³²
    ///
    /// Error below 1.3e-7; the harmonics of a rendered sine stay below -140 dB.
    @inlinable @_noLocks @_noAllocation
    public static func sin(phase: UInt32) -> Float {
        // Goes to the nearest half turn: the rest lies between two quarters, the sign is that of the half.
        let half = (phase &+ 0x4000_0000) & 0x8000_0000
        let quarters = Float(Int32(bitPattern: phase &- half)) * 0x1p-30
        return Float(bitPattern: Approximation.quarterSine(quarters).bitPattern ^ half)
    }

    /// Returns the sines of eight integer phases; the same bits as from ``sin(phase:)-(UInt32)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func sin(phase: SIMD8<UInt32>) -> SIMD8<Float> {
        let half = (phase &+ 0x4000_0000) & 0x8000_0000
        let quarters = SIMD8<Float>(SIMD8<Int32>(truncatingIfNeeded: phase &- half)) * 0x1p-30
        return Approximation.value(Approximation.bits(Approximation.quarterSine(quarters)) ^ half)
    }

    /// Returns the cosine of an integer phase: 2³² is a full circle. A quarter ahead of ``sin(phase:)-(UInt32)``.
    @inlinable @_noLocks @_noAllocation
    public static func cos(phase: UInt32) -> Float { sin(phase: phase &+ 0x4000_0000) }

    /// Returns the cosines of eight integer phases; the same bits as from ``cos(phase:)-(UInt32)``.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func cos(phase: SIMD8<UInt32>) -> SIMD8<Float> { sin(phase: phase &+ 0x4000_0000) }
}

extension RenderMath.Approximation {
    /// 1.5 · 2²³: added to a small number it rounds it to an integer, which then stands in the low bits.
    @inlinable static var floatBias: Float { @_noLocks @_noAllocation get { 0x1.8p23 } }

    // sin(πq/2) = q + q (t0 + t1 z + …), z = q², |q| ≤ 1. Own minimax fit of the relative error (Remez exchange in
    // 220-bit arithmetic), 2^-27.5. The leading q is apart so that the rounding of the rest counts little.
    @inlinable static var t0: Float { @_noLocks @_noAllocation get { 0.5707963184479123 } }
    @inlinable static var t1: Float { @_noLocks @_noAllocation get { -0.6459637105972021 } }
    @inlinable static var t2: Float { @_noLocks @_noAllocation get { 0.0796896789306073 } }
    @inlinable static var t3: Float { @_noLocks @_noAllocation get { -0.0046737665849350225 } }
    @inlinable static var t4: Float { @_noLocks @_noAllocation get { 0.00015148511747278685 } }

    /// Returns the sine of an angle in quarter turns, from -1 to 1.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func quarterSine(_ q: Float) -> Float {
        let z = q * q
        var p = t4 * z + t3
        p = p * z + t2
        p = p * z + t1
        p = p * z + t0
        return q + q * p
    }

    /// Returns the sine of angles in quarter turns, from -1 to 1.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func quarterSine(_ q: SIMD8<Float>) -> SIMD8<Float> {
        let z = q * q
        var p = t4 * z + t3
        p = p * z + t2
        p = p * z + t1
        p = p * z + t0
        return q + q * p
    }

    /// Returns a phase without its whole turns, exactly, from -½ to ½; the phase is not negative.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func wrapped(_ turns: Float) -> Float {
        // From 2^23 on every Float is whole.
        turns < 0x1p23 ? turns - ((turns + 0x1p23) - 0x1p23) : turns - turns
    }

    /// Phases without their whole turns, exactly, from -½ to ½; the phases are not negative.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func wrapped(_ turns: SIMD8<Float>) -> SIMD8<Float> {
        (turns - turns).replacing(with: turns - ((turns + 0x1p23) - 0x1p23), where: turns .< 0x1p23)
    }
}
