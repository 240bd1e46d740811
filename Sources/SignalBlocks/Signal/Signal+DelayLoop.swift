extension Signal {
    /// Sums of neighbouring samples, the oldest with the last weight: `output[start + i]` is the sum of
    /// `weights[t] * past[first + i + taps - 1 - t]`.
    ///
    /// - Precondition: There are so many taps, and samples.
    @_noLocks @_noAllocation
    package static func combine(
        _ weights: SIMD16<Float>, taps: Int, _ past: borrowing Samples, from first: Int = 0,
        into output: inout MutableSpan<Float>, at start: Int, count: Int
    ) {
        precondition(taps >= 1 && taps <= 16 && count >= 0)
        precondition(first >= 0 && first <= past.count &- (count &+ taps &- 1))
        precondition(start >= 0 && start <= output.count &- count)
        guard let target = unsafe output.address() else { return }
        let base = unsafe past.base + first
        var weights = weights
        unsafe withUnsafeMutableBytes(of: &weights) { bytes in
            if let weights = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe Kernel.combine(weights, taps, base, target + start, count)
            }
        }
    }

    /// Computes the sound that goes into a delay's line, and the sound that is heard of it.
    ///
    /// - Parameters:
    ///   - echo: The samples that have come out of the line, from `start` on.
    ///   - round: The same samples behind the filter of the loop.
    ///   - gains: From `feedback` on the share of `round` that goes in again, from `mix` on the share of `echo` that is
    ///     heard, frame by frame.
    ///   - samples: The samples that come in, from `first` on, which are replaced by those that are heard.
    ///   - line: The memory that receives the samples going in, from `place` on.
    /// - Precondition: All of them have so many samples.
    @_noLocks @_noAllocation
    package static func feed(
        _ echo: borrowing Samples, _ round: borrowing Samples, at start: Int, _ gains: borrowing Samples,
        feedback: Int, mix: Int, _ samples: inout MutableSpan<Float>, from first: Int,
        _ line: inout MutableSpan<Float>, at place: Int, count: Int
    ) {
        if count == 0 { return }
        precondition(count > 0 && start >= 0 && start <= echo.count &- count && start <= round.count &- count)
        precondition(feedback >= 0 && feedback <= gains.count &- count && mix >= 0 && mix <= gains.count &- count)
        precondition(first >= 0 && first <= samples.count &- count && place >= 0 && place <= line.count &- count)
        guard let target = unsafe samples.address(), let memory = unsafe line.address() else { return }
        unsafe Kernel.feed(
            echo: echo.base + start, round: round.base + start, feedback: gains.base + feedback, mix: gains.base + mix,
            target + first, memory + place, count)
    }
}
