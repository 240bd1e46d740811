extension Resampler {
    /// The number of input frames for an output frame: one number, or one that glides from frame to frame.
    ///
    ///     .init(44_100 / 48_000)                                   // a fixed ratio
    ///     .init(speed.glide(context), times: 44_100 / 48_000)      // varispeed
    ///
    /// Threads: any.
    public struct Step: Sendable, BitwiseCopyable {
        package let glide: Glide
        let factor: Double

        /// Creates a step that is the same for all frames.
        @_noLocks @_noAllocation
        public init(_ step: Double) {
            glide = Glide(1)
            factor = step
        }

        /// Creates a step that glides: `factor` times the parameter's value at each frame of the slice.
        @_noLocks @_noAllocation
        public init(_ glide: Glide, times factor: Double) {
            self.glide = glide
            self.factor = factor
        }

        /// Returns the step behind a frame, kept in a range.
        @_noLocks @_noAllocation
        package func length(_ frame: Int, in range: ClosedRange<Double>) -> Double {
            let step = Double(glide.isFlat ? glide.end : glide[frame]) * factor
            // A step that is not a number compares as false.
            return step > range.lowerBound ? (step < range.upperBound ? step : range.upperBound) : range.lowerBound
        }
    }

    /// A number of input frames to 2⁻⁶⁴ of one: additions do not round, so that nothing drifts.
    struct Distance {
        var whole: Int
        var fraction: UInt64

        @_noLocks @_noAllocation
        init(_ frames: Double) {
            whole = Int(frames)
            // A fraction of a Double has fewer than 64 bits: nothing is rounded here.
            fraction = UInt64((frames - Double(whole)) * 0x1p64)
        }

        @_noLocks @_noAllocation
        static func += (sum: inout Distance, other: Distance) {
            let (fraction, carry) = sum.fraction.addingReportingOverflow(other.fraction)
            sum.fraction = fraction
            sum.whole &+= other.whole &+ (carry ? 1 : 0)
        }

        /// Returns so many times the distance.
        @_noLocks @_noAllocation
        func times(_ count: Int) -> Distance {
            let product = fraction.multipliedFullWidth(by: UInt64(count))
            var result = Distance(0)
            result.fraction = product.low
            result.whole = whole &* count &+ Int(product.high)
            return result
        }
    }
}
