// Decibels of amplitude: 20 dB are a factor of ten.
extension RenderMath {
    /// Returns the factor that a level in decibels stands for: 10^(dB/20); -infinity gives 0.
    ///
    /// Error below 0.502 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func amplitude(decibels: Float) -> Float {
        Float(Approximation.exp2(Double(Approximation.clamp(decibels, -1000, 1000)) * Approximation.octavesPerDecibel))
    }

    /// Returns the factors that levels in decibels stand for, four at a time, with the same bits as from the `Float`
    /// form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func amplitude(decibels: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.narrow(
            Approximation.exp2(
                Approximation.widen(Approximation.clamp(decibels, -1000, 1000)) * Approximation.octavesPerDecibel))
    }

    /// Returns the factors that levels in decibels stand for, eight at a time, with the same bits as from the `Float`
    /// form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func amplitude(decibels: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: amplitude(decibels: decibels.lowHalf), highHalf: amplitude(decibels: decibels.highHalf))
    }

    /// Returns the level of an amplitude in decibels: 20 log₁₀ a; 0 gives -infinity, a negative amplitude not-a-number.
    ///
    /// Error below 0.501 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func decibels(amplitude: Float) -> Float {
        Approximation.logarithm(amplitude, of2: 20 * Approximation.log10Of2, ofE: 20 * Approximation.log10OfE)
    }

    /// Returns the levels of amplitudes in decibels, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func decibels(amplitude: SIMD4<Float>) -> SIMD4<Float> {
        Approximation.logarithm(amplitude, of2: 20 * Approximation.log10Of2, ofE: 20 * Approximation.log10OfE)
    }

    /// Returns the levels of amplitudes in decibels, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func decibels(amplitude: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: decibels(amplitude: amplitude.lowHalf), highHalf: decibels(amplitude: amplitude.highHalf))
    }

    /// Returns the factor that a level in decibels stands for, and silence at or below `floor`.
    @inlinable @_noLocks @_noAllocation
    public static func amplitude(decibels: Float, floor: Float) -> Float {
        decibels <= floor ? 0 : amplitude(decibels: decibels)
    }

    /// Returns the level of an amplitude in decibels, but never below `floor`, for meters.
    @inlinable @_noLocks @_noAllocation
    public static func decibels(amplitude: Float, floor: Float) -> Float {
        let level = decibels(amplitude: amplitude)
        return level < floor ? floor : level
    }
}

extension RenderMath.Approximation {
    /// log₂(10)/20.
    @inlinable static var octavesPerDecibel: Double { @_noLocks @_noAllocation get { 0.16609640474436813 } }
}
