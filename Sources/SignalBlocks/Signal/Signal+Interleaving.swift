extension Signal {
    /// Writes two channels as pairs: left, right, left, right.
    ///
    /// - Returns: The frames written.
    @_noLocks @_noAllocation
    @discardableResult
    public static func interleave(
        _ left: borrowing Samples, _ right: borrowing Samples, into output: inout MutableSpan<Float>
    ) -> Int {
        let count = min(min(left.count, right.count), output.count / 2)
        var i = 0
        while i &+ 8 <= count {
            let (l, r) = (left.vector8(at: i), right.vector8(at: i))
            output.store(SIMD8(l[0], r[0], l[1], r[1], l[2], r[2], l[3], r[3]), at: 2 &* i)
            output.store(SIMD8(l[4], r[4], l[5], r[5], l[6], r[6], l[7], r[7]), at: 2 &* i &+ 8)
            i &+= 8
        }
        while i < count {
            output[2 &* i] = left[i]
            output[2 &* i &+ 1] = right[i]
            i &+= 1
        }
        return count
    }

    /// Reads two channels from pairs: left, right, left, right.
    ///
    /// - Returns: The frames written to each.
    @_noLocks @_noAllocation
    @discardableResult
    public static func deinterleave(
        _ source: borrowing Samples, into left: inout MutableSpan<Float>, _ right: inout MutableSpan<Float>
    ) -> Int {
        let count = min(source.count / 2, min(left.count, right.count))
        var i = 0
        while i &+ 8 <= count {
            let (first, second) = (source.vector8(at: 2 &* i), source.vector8(at: 2 &* i &+ 8))
            left.store(SIMD8(lowHalf: first.evenHalf, highHalf: second.evenHalf), at: i)
            right.store(SIMD8(lowHalf: first.oddHalf, highHalf: second.oddHalf), at: i)
            i &+= 8
        }
        while i < count {
            left[i] = source[2 &* i]
            right[i] = source[2 &* i &+ 1]
            i &+= 1
        }
        return count
    }

    /// Writes one channel of interleaved frames; the other channels are left as they are.
    ///
    /// - Parameters:
    ///   - source: The channel.
    ///   - channel: Its place in a frame. A place that does not exist writes nothing.
    ///   - channelCount: Samples in a frame.
    ///   - output: The interleaved frames; an incomplete last one is left as it is.
    /// - Returns: The frames written.
    @_noLocks @_noAllocation
    @discardableResult
    public static func interleave(
        _ source: borrowing Samples, channel: Int, of channelCount: Int, into output: inout MutableSpan<Float>
    ) -> Int {
        guard channel >= 0, channel < channelCount else { return 0 }
        let count = min(source.count, output.count / channelCount)
        for i in 0..<count { output[i &* channelCount &+ channel] = source[i] }
        return count
    }

    /// Reads one channel of interleaved frames.
    ///
    /// - Parameters:
    ///   - source: The interleaved frames; an incomplete last one is not looked at.
    ///   - channel: The channel's place in a frame. A place that does not exist reads nothing.
    ///   - channelCount: Samples in a frame.
    ///   - output: Receives the channel.
    /// - Returns: The frames written.
    @_noLocks @_noAllocation
    @discardableResult
    public static func deinterleave(
        _ source: borrowing Samples, channel: Int, of channelCount: Int, into output: inout MutableSpan<Float>
    ) -> Int {
        guard channel >= 0, channel < channelCount else { return 0 }
        let count = min(source.count / channelCount, output.count)
        for i in 0..<count { output[i] = source[i &* channelCount &+ channel] }
        return count
    }
}
