// Integers of 24 and 32 bits, one channel at a time: alone, or interleaved with others.

extension Signal {
    /// Writes a channel as 32-bit integers: full scale is 2,147,483,648, rounded to the nearest (to even in the middle).
    ///
    /// +1.0, which integers just do not reach, becomes the largest of them without being called a clip.
    ///
    /// - Parameters:
    ///   - source: The channel.
    ///   - output: The integers, or interleaved frames of them; an incomplete last frame is left as it is.
    ///   - channel: The channel's place in a frame. A place that does not exist writes nothing.
    ///   - channelCount: The integers in a frame.
    /// - Returns: The number of samples that were clipped: those outside of -1...1. One that is not a number is written
    ///   as 0 and counted too.
    @_noLocks @_noAllocation
    @discardableResult
    public static func convert(
        _ source: borrowing Samples, into output: inout MutableSpan<Int32>, channel: Int = 0, of channelCount: Int = 1
    ) -> Int {
        guard channel >= 0, channel < channelCount else { return 0 }
        let count = min(source.count, output.count / channelCount)
        var clipped = 0
        for i in 0..<count {
            output[i &* channelCount &+ channel] = integer(source[i], scale: 0x1p31, clipped: &clipped)
        }
        return clipped
    }

    /// Writes a channel as 24-bit integers, as it is written with 32: full scale is 8,388,608.
    ///
    /// - Parameters:
    ///   - source: The channel.
    ///   - output: The integers, or interleaved frames of them; an incomplete last frame is left as it is.
    ///   - channel: The channel's place in a frame. A place that does not exist writes nothing.
    ///   - channelCount: The integers in a frame.
    /// - Returns: The number of samples that were clipped.
    @_noLocks @_noAllocation
    @discardableResult
    public static func convert(
        _ source: borrowing Samples, into output: inout MutableSpan<Int24>, channel: Int = 0, of channelCount: Int = 1
    ) -> Int {
        guard channel >= 0, channel < channelCount else { return 0 }
        let count = min(source.count, output.count / channelCount)
        var clipped = 0
        for i in 0..<count {
            output[i &* channelCount &+ channel] = Int24(integer(source[i], scale: 0x1p23, clipped: &clipped))
        }
        return clipped
    }

    /// Reads a channel of 32-bit integers: 2,147,483,648 is full scale. A sample has 24 bits of precision, to which the integer is
    /// rounded.
    ///
    /// - Parameters:
    ///   - source: The integers, or interleaved frames of them; an incomplete last frame is not looked at.
    ///   - channel: The channel's place in a frame. A place that does not exist reads nothing.
    ///   - channelCount: The integers in a frame.
    ///   - output: Receives the channel.
    @_noLocks @_noAllocation
    public static func convert(
        _ source: Span<Int32>, channel: Int = 0, of channelCount: Int = 1, into output: inout MutableSpan<Float>
    ) {
        guard channel >= 0, channel < channelCount else { return }
        for i in 0..<min(source.count / channelCount, output.count) {
            output[i] = Float(source[i &* channelCount &+ channel]) * 0x1p-31
        }
    }

    /// Reads a channel of 24-bit integers: 8,388,608 is full scale, every value exact.
    ///
    /// - Parameters:
    ///   - source: The integers, or interleaved frames of them; an incomplete last frame is not looked at.
    ///   - channel: The channel's place in a frame. A place that does not exist reads nothing.
    ///   - channelCount: The integers in a frame.
    ///   - output: Receives the channel.
    @_noLocks @_noAllocation
    public static func convert(
        _ source: Span<Int24>, channel: Int = 0, of channelCount: Int = 1, into output: inout MutableSpan<Float>
    ) {
        guard channel >= 0, channel < channelCount else { return }
        for i in 0..<min(source.count / channelCount, output.count) {
            output[i] = Float(source[i &* channelCount &+ channel].value) * 0x1p-23
        }
    }
}
