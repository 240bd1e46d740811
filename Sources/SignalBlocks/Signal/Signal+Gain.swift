extension Signal {
    /// Gains nearer to zero than this are silence, not a number close to it: a channel that is turned off holds zeros.
    static var silentGain: Float { @_noLocks @_noAllocation get { 1.1920929e-07 } }

    /// Makes a channel louder or softer. A gain of 1 leaves every bit as it is; one below 1.2e-7 clears, and so
    /// clears samples that are not finite too.
    @_noLocks @_noAllocation
    public static func applyGain(_ gain: Float, to buffer: inout MutableSpan<Float>) {
        if abs(gain) < silentGain { return silence(&buffer) }
        if gain != 1 { scale(&buffer, by: gain) }
    }

    /// Multiplies every sample, whatever the gain: also by 0, which leaves samples that are not a number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) static func scale(_ buffer: inout MutableSpan<Float>, by gain: Float) {
        let count = buffer.count
        if let samples = unsafe buffer.address() { unsafe Kernel.scale(samples, gain, count) }
    }

    /// Writes a louder or softer copy of a channel.
    @_noLocks @_noAllocation
    public static func applyGain(
        _ gain: Float, to source: borrowing Samples, into output: inout MutableSpan<Float>
    ) {
        let count = min(source.count, output.count)
        if abs(gain) < silentGain {
            for i in 0..<count { output[i] = 0 }
        } else {
            for i in 0..<count { output[i] = source[i] * gain }
        }
    }

    /// Silences a channel: every sample becomes zero.
    @_noLocks @_noAllocation
    public static func silence(_ buffer: inout MutableSpan<Float>) { fill(&buffer, with: 0) }

    /// Fills a channel: every sample becomes the same number.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public static func fill(_ buffer: inout MutableSpan<Float>, with value: Float) {
        let count = buffer.count
        if let samples = unsafe buffer.address() { unsafe Kernel.fill(samples, value, count) }
    }

    /// Copies a channel, bit for bit.
    @_noLocks @_noAllocation
    public static func copy(_ source: borrowing Samples, into output: inout MutableSpan<Float>) {
        copy(source, first: source.count, into: &output)
    }

    /// Copies samples from a place in one channel to a place in another.
    ///
    /// - Precondition: Both places have that many.
    @_noLocks @_noAllocation
    package static func copy(
        _ source: borrowing Samples, from first: Int, into output: inout MutableSpan<Float>, at start: Int, count: Int
    ) {
        precondition(count >= 0 && first >= 0 && first <= source.count &- count)
        precondition(start >= 0 && start <= output.count &- count)
        if let target = unsafe output.address() { unsafe Kernel.copy(source.base + first, to: target + start, count) }
    }

    /// Copies the first `count` samples at most.
    @_noLocks @_noAllocation
    static func copy(_ source: borrowing Samples, first count: Int, into output: inout MutableSpan<Float>) {
        copy(source, from: 0, into: &output, at: 0, count: min(count, min(source.count, output.count)))
    }
}
