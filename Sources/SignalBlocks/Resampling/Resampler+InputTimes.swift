extension Resampler {
    /// The times of the next input frames, one after the other, in output frames: each is first needed for the output frame behind its
    /// time. They do not depend on how the blocks are cut.
    package struct InputTimes {
        /// The time of an input frame: `before` ahead of an output frame of the slice. `step` is that of the frame.
        package struct Time: BitwiseCopyable {
            package let frame: Int
            package let before: Double
            package let step: Double
        }

        private var position: Distance
        private var frame: Int
        private var input: Int
        private let reach: Int
        private let step: Step
        private let range: ClosedRange<Double>

        @_noLocks @_noAllocation
        fileprivate init(
            _ position: Distance, _ frame: Int, _ input: Int, _ reach: Int, _ step: Step, _ range: ClosedRange<Double>
        ) {
            (self.position, self.frame, self.input) = (position, frame, input)
            (self.reach, self.step, self.range) = (reach, step, range)
        }

        /// Returns the time of the next input frame.
        @_noLocks @_noAllocation
        package mutating func next() -> Time {
            var length = step.length(frame, in: range)
            while position.whole &+ reach < input && length > 0 {
                position += Distance(length)
                frame &+= 1
                length = step.length(frame, in: range)
            }
            let before = Double(position.whole &+ reach &- input) + Double(position.fraction) * 0x1p-64
            input &+= 1
            return Time(frame: frame, before: length > 0 ? before / length : 0, step: length)
        }
    }

    /// Returns the times of the frames that are pushed next.
    ///
    /// - Parameters:
    ///   - step: Input frames per output frame.
    ///   - first: The frame of the slice that is pulled next.
    @_noLocks @_noAllocation
    package func inputTimes(at step: Step, from first: Int) -> InputTimes {
        InputTimes(position, first, filled, lookAhead, step, steps)
    }

    /// Goes to a place before the end of what was pushed: whole frames and a part, 0 or more. It stays where there are frames.
    @_noLocks @_noAllocation
    package mutating func seek(before whole: Int, _ part: Double) {
        let more = Int(part)
        let fraction = UInt64((part - Double(more)) * 0x1p64)
        position.whole = filled &- whole &- more &- (fraction > 0 ? 1 : 0)
        position.fraction = 0 &- fraction
        let first = lookAhead > 0 ? lookAhead &- 1 : 0
        if position.whole < first { (position.whole, position.fraction) = (first, 0) }
    }
}
