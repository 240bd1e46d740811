extension Kernel {
    /// Returns a sample that goes round in a loop: held below +18 dB. Up to +12 dB it is left as it is.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func heldInLoop(_ sample: Float) -> Float {
        let size = abs(sample)
        if size <= 4 { return sample }
        let excess = (size - 4) * 0.25
        let held = 4 + 4 * (excess / (1 + excess))
        return sample < 0 ? -held : held
    }

    /// Returns a sample for the line of a loop. One that is tiny, or no number, is zero there: the sound ends, and a bad
    /// sample does not come back.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func keptInLoop(_ sample: Float) -> Float {
        let size = abs(sample)
        return size > 1e-30 && size < 1e30 ? sample : 0
    }
}
