extension TimeStretch {
    /// The rates that there are: input frames per output frame.
    ///
    /// Threads: control.
    public static var rates: ClosedRange<Double> { 0.03125...32 }

    /// The changes that a sound gets: numbers, or glides from frame to frame.
    ///
    /// Threads: any.
    public struct Settings: Sendable, BitwiseCopyable {
        let rateGlide: Glide
        let rateFactor: Double
        let cents: Glide
        let fixedCents: Double
        /// Indicates whether formants stay where they are while the pitch changes: one voice then keeps its vowels, and of all
        /// else the averaged spectrum stays.
        public var keepsFormants: Bool

        /// Creates settings that are the same for all frames.
        ///
        /// - Parameters:
        ///   - rate: Input frames per output frame, 1/32…32: 2 is twice as fast.
        ///   - cents: The pitch in hundredths of a semitone, -2,400…2,400.
        ///   - keepsFormants: Indicates whether formants stay.
        @_noLocks @_noAllocation
        public init(rate: Double = 1, cents: Double = 0, keepsFormants: Bool = false) {
            (rateGlide, rateFactor, self.cents, fixedCents) = (Glide(1), rate, Glide(0), cents)
            self.keepsFormants = keepsFormants
        }

        /// Creates settings that glide.
        ///
        /// - Parameters:
        ///   - rate: The rate, 1/32…32.
        ///   - factor: A number that the rate is multiplied with, such as the ratio of two sample rates.
        ///   - cents: The pitch in hundredths of a semitone.
        ///   - keepsFormants: Indicates whether formants stay.
        @_noLocks @_noAllocation
        public init(rate: Glide, times factor: Double = 1, cents: Glide, keepsFormants: Bool = false) {
            (rateGlide, rateFactor, self.cents, fixedCents) = (rate, factor, cents, 0)
            self.keepsFormants = keepsFormants
        }

        /// Returns the rate at a frame.
        @_noLocks @_noAllocation
        package func pace(_ frame: Int) -> Double { rate(frame) }

        /// Returns the rate at a frame, kept in its range; 1 for what is not a number.
        @_noLocks @_noAllocation
        func rate(_ frame: Int) -> Double {
            let rate = Double(rateGlide.isFlat ? rateGlide.end : rateGlide[frame]) * rateFactor
            return rate >= 0.03125 ? (rate <= 32 ? rate : 32) : (rate < 0.03125 ? 0.03125 : 1)
        }

        /// Returns the input frames for a frame of the line: the ratio of the new pitch to the old one.
        @_noLocks @_noAllocation
        func step(_ frame: Int) -> Double {
            let cents = Double(self.cents.isFlat ? self.cents.end : self.cents[frame]) + fixedCents
            if cents >= -2_400 && cents <= 2_400 { return RenderMath.exp2(cents / 1_200) }
            return cents > 2_400 ? 4 : (cents < -2_400 ? 0.25 : 1)
        }
    }
}

extension Resampler {
    /// Indicates whether the next output frame lies on an input frame.
    var isOnFrame: Bool { @_noLocks @_noAllocation get { position.fraction == 0 } }

    /// Gives out input frames as they are, where a step of 1 stays and frames lie on frames: without the filter, but with
    /// its delay.
    @_noLocks @_noAllocation
    mutating func copy(_ frames: Int, into block: inout AudioBlock, from first: Int) -> Int {
        let there = filled &- lookAhead &- position.whole
        let count = frames < there ? frames : there
        if count <= 0 { return 0 }
        block.copy(from: line, sourceOffset: position.whole, to: first, frames: count)
        position.whole &+= count
        return count
    }
}
