internal import CKernels

extension Signal {
    /// Writes a channel as 16-bit integers: full scale is 32,768, rounded to the nearest (to even in the middle).
    ///
    /// +1.0, which 16 bits just do not reach, becomes 32,767 without being called a clip. Integers that are read and
    /// written again are the same.
    ///
    /// - Returns: The number of samples that were clipped: those outside of -1...1. One that is not a number is written
    ///   as 0 and counted too.
    @_noLocks @_noAllocation
    @discardableResult
    public static func convert(_ source: borrowing Samples, into output: inout MutableSpan<Int16>) -> Int {
        let count = min(source.count, output.count)
        guard let integers = unsafe output.address() else { return 0 }
        return unsafe kernel_to_int16(source.base, integers, count)
    }

    /// Writes one channel of interleaved frames of 16-bit integers, scaled and rounded as a channel alone is.
    ///
    /// - Parameters:
    ///   - source: The channel.
    ///   - channel: Its place in a frame. A place that does not exist writes nothing.
    ///   - channelCount: Samples in a frame.
    ///   - output: The interleaved frames; an incomplete last one is left as it is.
    /// - Returns: The number of samples that were clipped.
    @_noLocks @_noAllocation
    @discardableResult
    public static func convert(
        _ source: borrowing Samples, channel: Int, of channelCount: Int, into output: inout MutableSpan<Int16>
    ) -> Int {
        guard channel >= 0, channel < channelCount else { return 0 }
        let count = min(source.count, output.count / channelCount)
        var fine: Int32 = 0
        for i in 0..<count {
            fine &+= isWithinScale(source[i])
            output[i &* channelCount &+ channel] = integer(source[i])
        }
        return count &- Int(fine)
    }

    @_noLocks @_noAllocation
    @inline(__always) private static func isWithinScale(_ sample: Float) -> Int32 { abs(sample) <= 1 ? 1 : 0 }

    @_noLocks @_noAllocation
    @inline(__always) private static func integer(_ sample: Float) -> Int16 {
        let scaled = sample * 32_768
        // Written so that what is not a number passes neither comparison, and becomes 0.
        let lower = scaled > -32_768 ? scaled : (scaled <= -32_768 ? -32_768 : 0)
        let held = lower < 32_767 ? lower : 32_767
        // 1.5 * 2^23: the sum has no bits left for fractions, so that the processor rounds, and its lowest bits are the
        // integer.
        return Int16(truncatingIfNeeded: (held + 12_582_912).bitPattern)
    }

    /// Reads 16-bit integers: 32,768 is full scale, every value exact.
    @_noLocks @_noAllocation
    public static func convert(_ source: borrowing MutableSpan<Int16>, into output: inout MutableSpan<Float>) {
        let count = min(source.count, output.count)
        guard let samples = unsafe output.address(), let integers = unsafe place(source) else { return }
        unsafe kernel_from_int16(integers, samples, count)
    }

    /// Reads 16-bit integers: 32,768 is full scale, every value exact.
    @_noLocks @_noAllocation
    public static func convert(_ source: Span<Int16>, into output: inout MutableSpan<Float>) {
        let count = min(source.count, output.count)
        guard let samples = unsafe output.address() else { return }
        unsafe source.withUnsafeBufferPointer {
            if let integers = $0.baseAddress { unsafe kernel_from_int16(integers, samples, count) }
        }
    }

    /// Reads one channel of interleaved frames of 16-bit integers.
    ///
    /// - Parameters:
    ///   - source: The interleaved frames; an incomplete last one is not looked at.
    ///   - channel: The channel's place in a frame. A place that does not exist reads nothing.
    ///   - channelCount: Samples in a frame.
    ///   - output: Receives the channel.
    @_noLocks @_noAllocation
    public static func convert(
        _ source: borrowing MutableSpan<Int16>, channel: Int, of channelCount: Int,
        into output: inout MutableSpan<Float>
    ) {
        guard channel >= 0, channel < channelCount else { return }
        let count = min(source.count / channelCount, output.count)
        for i in 0..<count { output[i] = Float(source[i &* channelCount &+ channel]) * 0x1p-15 }
    }

    /// Returns the integer of a sample, by full scale: to the nearest (to even in the middle), clipped; 0 for a sample
    /// that is not a number.
    ///
    /// - Parameters:
    ///   - scale: The integer that 1.0 would be; the largest one is 1 less.
    ///   - noise: The noise that is added before rounding: see ``Dither``.
    ///   - clipped: Counts samples outside of -1...1, and those that are not a number.
    @_noLocks @_noAllocation
    package static func integer(_ sample: Float, scale: Double, noise: Double = 0, clipped: inout Int) -> Int32 {
        if !(abs(sample) <= 1) { clipped &+= 1 }
        if sample.isNaN { return 0 }
        let value = Double(sample) * scale + noise
        let lower = value > -scale ? value : -scale
        let held = lower < scale - 1 ? lower : scale - 1
        // 1.5 * 2^52: the processor rounds the sum, as above.
        return Int32(truncatingIfNeeded: (held + 6_755_399_441_055_744).bitPattern)
    }
}
