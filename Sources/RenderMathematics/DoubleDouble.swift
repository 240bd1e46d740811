// Sums and products of doubles with their errors, and powers of two: the tools of the Double functions.
extension RenderMath.Approximation {
    /// Returns the error of `difference`, the rounded a - b. (Knuth's exact sum.)
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func differenceError(_ a: Double, _ b: Double, _ difference: Double) -> Double {
        let minusB = difference - a
        return (a - (difference - minusB)) - (b + minusB)
    }

    /// Returns the error of `sum`, the rounded a + b.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func sumError(_ a: Double, _ b: Double, _ sum: Double) -> Double { differenceError(a, -b, sum) }

    /// Returns the upper 26 bits of a number below 2⁹⁹⁵. (Dekker's cut.)
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func upper(_ x: Double) -> Double {
        let scaled = x * 0x8000001p0
        return scaled - (scaled - x)
    }

    /// Returns the error of `product`, the rounded a · b. (Dekker; a fused multiply-add would be a call on older
    /// processors.)
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func productError(_ a: Double, _ b: Double, _ product: Double) -> Double {
        let a1 = upper(a)
        let a2 = a - a1
        let b1 = upper(b)
        let b2 = b - b1
        return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    }

    /// Returns 2ⁿ for n from -1022 to 1023.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func powerOfTwo(_ n: Int) -> Double {
        Double(bitPattern: UInt64(bitPattern: Int64(n &+ 1023)) &<< 52)
    }

    /// Returns x · 2ⁿ, where `shifted` is n plus ``bias``, in two steps: so that results from denormal to infinite come
    /// out.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func scale(_ x: Double, byTwoTo shifted: Double) -> Double {
        let n = Int(Int64(bitPattern: shifted.bitPattern &<< 13) &>> 13)
        let half = n &>> 1
        return x * powerOfTwo(half) * powerOfTwo(n &- half)
    }
}
