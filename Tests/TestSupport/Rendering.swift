public import RenderStack

/// Renders frames in cycles of the given lengths, over and over, and returns the channels of the first output.
public func render(_ renderer: Renderer, frames: Int, cycles: [Int] = [512]) -> [[Float]] {
    var block = AudioBlock(channels: renderer.channelCount, frames: frames)
    var done = 0
    var turn = 0
    while done < frames {
        let count = min(cycles[turn % cycles.count], frames - done)
        renderer.render(into: &block, from: done, frames: count, hostTime: 0, isOffline: true)
        done += count
        turn += 1
    }
    return (0..<block.channelCount).map { block.array($0) }
}

/// Cycle lengths that every module is tried with: they must make no difference.
public let cycleLengths: [[Int]] = [[1], [7], [64], [100], [512], [4096], [10_000], [3, 500, 1, 64, 2000, 17]]

/// The largest difference between two runs of samples.
public func largestDifference(_ a: [Float], _ b: [Float]) -> Float {
    zip(a, b).reduce(a.count == b.count ? 0 : .infinity) { max($0, abs($1.0 - $1.1)) }
}

/// The amplitude at a frequency, in dB of full scale, through a window that keeps neighbours 90 dB apart.
public func level(_ samples: [Float], frequency: Double, sampleRate: Double = 48_000) -> Double {
    let count = Double(samples.count)
    var (re, im, sum) = (0.0, 0.0, 0.0)
    for (i, sample) in samples.enumerated() {
        let turn = 2 * Double.pi * Double(i) / count
        let window =
            0.35875 - 0.48829 * RenderMath.cos(turn) + 0.14128 * RenderMath.cos(2 * turn)
            - 0.01168 * RenderMath.cos(3 * turn)
        let angle = 2 * Double.pi * (frequency / sampleRate * Double(i)).truncatingRemainder(dividingBy: 1)
        re += Double(sample) * window * RenderMath.cos(angle)
        im += Double(sample) * window * RenderMath.sin(angle)
        sum += window
    }
    let amplitude = 2 * (re * re + im * im).squareRoot() / sum
    return amplitude > 0 ? 20 * RenderMath.log2(amplitude) / RenderMath.log2(10) : -.infinity
}

/// A mono buffer of one value: something to edit.
public final class Constant: Generator {
    /// The value of every sample.
    public let value: Float
    /// Channels of the buffer.
    public let channels: Int
    /// A generator of one value.
    public init(_ value: Float, channels: Int = 1) {
        self.value = value
        self.channels = channels
    }
    /// Pushes the value.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        var top = context.top
        for channel in 0..<channels {
            var samples = top[channel]
            for i in samples.indices { samples[i] = value }
        }
    }
}
