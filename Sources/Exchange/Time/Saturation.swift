// Arithmetic that ends at the largest number where Swift's would end the program. Times, durations and numbers of frames come
// from users and files, and may be anything.

extension FixedWidthInteger where Self: SignedInteger {
    /// Creates a whole number from one with a fraction: the nearest that there is, 0 for a value that is not a number.
    @inlinable package init(saturating number: Double) {
        self =
            number.isNaN ? 0 : Self(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}

extension Double {
    /// The nearest sample rate that a renderer can have, 1…1,000,000; 1 for a value that is not a number.
    package var asSampleRate: Double {
        @_noLocks @_noAllocation get { self >= 1 ? self < 1_000_000 ? self : 1_000_000 : 1 }
    }
}

extension Int64 {
    /// Returns the sum, or the largest number of its sign.
    @_noLocks @_noAllocation
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the largest number of its sign.
    @_noLocks @_noAllocation
    package func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, isOver) = subtractingReportingOverflow(other)
        return isOver ? (other < 0 ? .max : .min) : difference
    }
}

extension Duration {
    /// The duration in seconds. `components` ends the program beyond 2⁶³ seconds.
    package var inSeconds: Double { self / .seconds(1) }

    /// The duration in nanoseconds; durations longer than 292 years become so many.
    package var inNanoseconds: Int64 {
        let longest = Duration.nanoseconds(Int64.max)
        let (seconds, attoseconds) = max(.zero - longest, min(self, longest)).components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}
