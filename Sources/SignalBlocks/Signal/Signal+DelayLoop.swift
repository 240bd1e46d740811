extension Signal {
    /// Sums of neighbouring samples, the oldest with the last weight: `output[start + i]` is the sum of
    /// `weights[t] * past[first + i + taps - 1 - t]`.
    ///
    /// - Precondition: There are that many taps, and samples.
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

    /// Computes the sum of some voices, each a ring read at delays that move, between two samples by Lagrange's polynomial
    /// through six.
    ///
    /// - Parameters:
    ///   - ring: The ring's `mask + 1` samples, a power of two, from `first` on, and its first five again.
    ///   - position: The place of the first frame in the ring.
    ///   - delays: From `column` on, 64 for each voice: the delay at each frame, less its anchor.
    ///   - anchors: 64 whole frames that are in the delay of all voices.
    ///   - level: The factor of the sum.
    ///   - output: Receives the sum: 64 samples; the first `count` are right.
    /// - Precondition: There are that many samples, delays and anchors, and at most 64 frames.
    @_noLocks @_noAllocation
    package static func sweep(
        _ ring: borrowing Samples, from first: Int, mask: Int, position: Int, _ delays: borrowing Samples,
        from column: Int, voices: Int, anchors: inout MutableSpan<Int32>, level: Float,
        into output: inout MutableSpan<Float>, count: Int
    ) {
        precondition(mask >= 7 && mask < 1 << 30 && mask & (mask &+ 1) == 0)
        precondition(first >= 0 && first <= ring.count &- (mask &+ 6) && position >= 0 && position <= mask)
        precondition(voices >= 0 && voices <= 1 << 16 && column >= 0 && column <= delays.count &- 64 &* voices)
        precondition(anchors.count >= 64 && output.count >= 64 && count >= 0 && count <= 64)
        guard let target = unsafe output.address() else { return }
        let (base, times) = unsafe (ring.base + first, delays.base + column)
        unsafe anchors.withUnsafeMutableBufferPointer { anchors in
            guard let anchors = anchors.baseAddress else { return }
            unsafe Kernel.sweep(
                base, mask: Int32(truncatingIfNeeded: mask), position: Int32(truncatingIfNeeded: position), times,
                voices: voices, anchors: anchors, level: level, target, count)
        }
    }

    /// Computes the sound that goes into a delay's line, and the sound that is heard of it.
    ///
    /// - Parameters:
    ///   - echo: The samples that have come out of the line, from `start` on.
    ///   - round: Those samples, after they have passed the filter of the loop.
    ///   - gains: From `feedback` on the share of `round` that goes in again, from `mix` on the share of `echo` that is
    ///     heard, frame by frame.
    ///   - samples: The samples that come in, from `first` on, which are replaced by those that are heard.
    ///   - line: The memory that receives the samples going in, from `place` on.
    /// - Precondition: All of them have that many samples.
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

    /// The same for samples that come out of the line's own memory, from `echo` on, and pass no filter.
    ///
    /// - Precondition: The places that are read and those that are written have nothing in common.
    @_noLocks @_noAllocation
    package static func feed(
        echoAt echo: Int, _ gains: borrowing Samples, feedback: Int, mix: Int, _ samples: inout MutableSpan<Float>,
        from first: Int, _ line: inout MutableSpan<Float>, at place: Int, count: Int
    ) {
        if count == 0 { return }
        precondition(count > 0 && echo >= 0 && echo <= line.count &- count)
        precondition(place >= 0 && place <= line.count &- count)
        precondition(echo &+ count <= place || place &+ count <= echo)
        precondition(feedback >= 0 && feedback <= gains.count &- count && mix >= 0 && mix <= gains.count &- count)
        precondition(first >= 0 && first <= samples.count &- count)
        guard let target = unsafe samples.address(), let memory = unsafe line.address() else { return }
        unsafe Kernel.feed(
            echo: memory + echo, round: memory + echo, feedback: gains.base + feedback, mix: gains.base + mix,
            target + first, memory + place, count)
    }
}
