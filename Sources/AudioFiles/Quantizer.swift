internal import RenderCore

/// Makes integers of float samples: rounds, clips, counts clipped samples, and dithers if asked.
struct Quantizer: Sendable {
    private let scale: Double
    private let shift: Int32
    private let isDithered: Bool

    init(bits: Int, dither: Bool) {
        scale = Double(1 << (bits - 1))
        shift = Int32(32 - bits)
        isDithered = dither
    }

    /// Writes one channel of interleaved frames, as integers that begin at the highest bit.
    ///
    /// +1.0, which integers just do not reach, does not count as a clip. A sample that is not a number becomes 0 and
    /// does.
    ///
    /// - Parameter frame: The number of the first frame in the file. The dither follows from it, so that the same
    ///   samples make the same file however they were cut into blocks.
    /// - Returns: The number of samples that were clipped.
    func convert(
        _ source: borrowing Samples, channel: Int, of channels: Int, frame: Int64, into integers: inout [Int32]
    ) -> Int {
        var clipped = 0
        var output = integers.mutableSpan
        for i in 0..<min(source.count, output.count / channels) {
            let noise = isDithered ? Dither.noise((frame &+ Int64(i)) &* Int64(channels) &+ Int64(channel)) : 0
            let value = Signal.integer(source[i], scale: scale, noise: noise, clipped: &clipped)
            output[i * channels + channel] = value << shift
        }
        return clipped
    }
}
