internal import CKernels

/// Reads a sound that lies in memory at another pitch: frames between its frames, band-limited to what the output can carry.
///
/// Up to a pitch of 1 a frame is made of 64 frames of the sound; above, the band ends lower, and the filter is longer
/// in proportion. From a pitch of 8 on it grows no longer than 512 frames: to keep out frequencies that would fold
/// back, it gets duller instead. That bounds the work of one frame at every pitch.
///
/// There is one filter for each semitone above 1. They are made on the control side when they are first asked for, 16 to 32 kB
/// each, and never freed, so that the render thread can hold one as a plain value.
@safe package struct PitchFilter: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because of the pointer: it leads to a table that is not written after it was made, and never freed.

    private let coefficients: UnsafePointer<Float>
    private let groups: Int
    private let partBits: Int

    private static let tables = Lock<[Int: ResamplerTable]>([:])

    /// Returns the filter for a pitch, 64 at most. On the control side.
    package static func filter(for pitch: Double) -> PitchFilter {
        // A pitch slightly above a semitone, as by rounding, has that one's filter.
        let semitones = pitch > 1 ? Int((12 * RenderMath.log2(min(pitch, 64)) - 0.04).rounded(.up)) : 0
        let table = tables.withLock { tables in
            if let table = tables[semitones] { return table }
            let table = PitchPrototype.table(for: RenderMath.exp2(Double(semitones) / 12))
            tables[semitones] = table
            return table
        }
        return PitchFilter(table)
    }

    private init(_ table: ResamplerTable) {
        unsafe coefficients = UnsafePointer(table.coefficients.base)
        groups = table.halfLength / 4
        partBits = table.partBits
    }

    /// Returns eight frames of a sound, or fewer: the others are zero.
    ///
    /// - Parameters:
    ///   - samples: The sound. It is silent before its first frame and behind its last.
    ///   - position: The place of the first frame, in units of 2⁻³² frames; not negative.
    ///   - step: The distance to the next.
    ///   - count: The number of frames, up to eight.
    @_noLocks @_noAllocation
    package func read(_ samples: borrowing Samples, at position: Int64, step: Int64, count: Int) -> SIMD8<Float> {
        precondition(position >= 0 && step >= 0 && count >= 0 && count <= 8)
        return unsafe Kernel.read(
            kernel_pitch_filter(table: coefficients, groups: groups, partBits: partBits), samples.base, samples.count,
            UInt64(bitPattern: position), UInt64(bitPattern: step), count)
    }

    /// Reads two channels, which costs less than twice as much as one.
    @_noLocks @_noAllocation
    package func read(
        _ left: borrowing Samples, _ right: borrowing Samples, at position: Int64, step: Int64, count: Int
    ) -> (SIMD8<Float>, SIMD8<Float>) {
        precondition(position >= 0 && step >= 0 && count >= 0 && count <= 8 && left.count == right.count)
        return unsafe Kernel.read(
            kernel_pitch_filter(table: coefficients, groups: groups, partBits: partBits), left.base, right.base,
            left.count, UInt64(bitPattern: position), UInt64(bitPattern: step), count)
    }
}
