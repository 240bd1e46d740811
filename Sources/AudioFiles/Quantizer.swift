internal import RenderCore

/// Makes integers of float samples: rounds, clips, counts what it clipped, and dithers if asked.
struct Quantizer: Sendable {
    private let scale: Double
    private let highest: Double
    private let shift: Int32
    private let isDithered: Bool

    init(bits: Int, dither: Bool) {
        scale = Double(1 << (bits - 1))
        highest = scale - 1
        shift = Int32(32 - bits)
        isDithered = dither
    }

    /// Writes one channel of interleaved frames, as integers that begin at the highest bit.
    ///
    /// +1.0, which integers just do not reach, is not called a clip. What is not a number becomes 0 and is.
    ///
    /// - Parameter frame: the number of the first frame in the file. The dither follows from it, so that the same samples
    ///   make the same file however they were cut into blocks.
    /// - Returns: how many were clipped.
    func convert(
        _ source: borrowing Samples, channel: Int, of channels: Int, frame: Int64, into integers: inout [Int32]
    ) -> Int {
        var clipped = 0
        var output = integers.mutableSpan
        for i in 0..<min(source.count, output.count / channels) {
            let sample = source[i]
            if !(abs(sample) <= 1) { clipped += 1 }
            var value = sample.isNaN ? 0 : Double(sample) * scale
            if isDithered { value += Dither.noise((frame &+ Int64(i)) &* Int64(channels) &+ Int64(channel)) }
            let held = max(-scale, min(highest, value.rounded(.toNearestOrEven)))
            output[i * channels + channel] = Int32(held) << shift
        }
        return clipped
    }
}
