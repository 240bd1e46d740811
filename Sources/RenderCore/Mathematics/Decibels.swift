// Decibels of amplitude: 20 dB are a factor of ten.
extension RenderMath {
    /// The factor that a level in decibels stands for: 10^(dB/20); -infinity gives 0.
    ///
    /// Error below 0.502 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func amplitude(decibels: Float) -> Float {
        Float(Kernel.exp2(Double(Kernel.clamp(decibels, -1000, 1000)) * Kernel.octavesPerDecibel))
    }

    /// The factors that levels in decibels stand for, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func amplitude(decibels: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.narrow(Kernel.exp2(Kernel.widen(Kernel.clamp(decibels, -1000, 1000)) * Kernel.octavesPerDecibel))
    }

    /// The factors that levels in decibels stand for, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func amplitude(decibels: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: amplitude(decibels: decibels.lowHalf), highHalf: amplitude(decibels: decibels.highHalf))
    }

    /// The level of an amplitude in decibels: 20 log₁₀ a; 0 gives -infinity, a negative amplitude not-a-number.
    ///
    /// Error below 0.501 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func decibels(amplitude: Float) -> Float {
        Kernel.logarithm(amplitude, of2: 20 * Kernel.log10Of2, ofE: 20 * Kernel.log10OfE)
    }

    /// The levels of amplitudes in decibels, four at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func decibels(amplitude: SIMD4<Float>) -> SIMD4<Float> {
        Kernel.logarithm(amplitude, of2: 20 * Kernel.log10Of2, ofE: 20 * Kernel.log10OfE)
    }

    /// The levels of amplitudes in decibels, eight at a time, with the same bits as from the `Float` form.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public static func decibels(amplitude: SIMD8<Float>) -> SIMD8<Float> {
        SIMD8(lowHalf: decibels(amplitude: amplitude.lowHalf), highHalf: decibels(amplitude: amplitude.highHalf))
    }

    /// The factor that a level in decibels stands for, and silence at or below `floor`.
    @inlinable @_noLocks @_noAllocation
    public static func amplitude(decibels: Float, floor: Float) -> Float {
        decibels <= floor ? 0 : amplitude(decibels: decibels)
    }

    /// The level of an amplitude in decibels, but never below `floor`: what a meter shows.
    @inlinable @_noLocks @_noAllocation
    public static func decibels(amplitude: Float, floor: Float) -> Float {
        let level = decibels(amplitude: amplitude)
        return level < floor ? floor : level
    }
}

extension RenderMath.Kernel {
    /// log₂(10)/20.
    @inlinable static var octavesPerDecibel: Double { @_noLocks @_noAllocation get { 0.16609640474436813 } }
}
