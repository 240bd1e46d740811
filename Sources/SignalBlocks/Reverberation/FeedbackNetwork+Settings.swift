extension FeedbackNetwork {
    /// The numbers that hold for a block.
    ///
    /// Threads: any.
    public struct Settings: Sendable, BitwiseCopyable {
        /// The share of energy that is lost in a frame, as octaves of amplitude: at middle frequencies, and by how much more
        /// at low and at high ones.
        package var middle: Float = 0
        package var low: Float = 0
        package var high: Float = 0
        /// The tangents of half of the crossovers' angles.
        package var lowTangent: Float = 0.01
        package var highTangent: Float = 0.3
        /// By how much neighbours are turned at most, in turns, and how fast that changes: 2³² in a block to the turn.
        package var swing: Float = 0
        package var step: Float = 0

        /// Creates the settings of a network that loses nothing.
        @_noLocks @_noAllocation
        public init() {}

        /// Creates the settings of a decay.
        ///
        /// - Parameters:
        ///   - decay: The time in seconds in which middle frequencies decay by 60 dB.
        ///   - lowRatio: The decay of low frequencies, as a multiple of that.
        ///   - highRatio: The decay of high frequencies, as a multiple of that.
        ///   - crossovers: The frequencies in hertz at which decay is midway between low and middle, and between middle and high.
        ///   - sampleRate: The sample rate in hertz.
        @_noLocks @_noAllocation
        public init(
            decay: Float, lowRatio: Float = 1, highRatio: Float = 0.5, crossovers: (Float, Float) = (250, 5_000),
            sampleRate: Double
        ) {
            lose(in: decay * Float(sampleRate), lowRatio: lowRatio, highRatio: highRatio)
            lowTangent = Settings.tangent(crossovers.0, Float(sampleRate))
            highTangent = Settings.tangent(max(crossovers.0, crossovers.1), Float(sampleRate))
        }

        /// Sets what is lost: all but 60 dB in so many frames.
        @_noLocks @_noAllocation
        package mutating func lose(in frames: Float, lowRatio: Float, highRatio: Float) {
            // log2(1000): in the time of decay the amplitude falls to a thousandth.
            middle = 9.965_784 / frames
            low = middle * (1 / lowRatio - 1)
            high = middle * (1 / highRatio - 1)
        }

        /// Returns the tangent of half of a crossover's angle.
        @_noLocks @_noAllocation
        package static func tangent(_ frequency: Float, _ sampleRate: Float) -> Float {
            RenderMath.tan(Float.pi * min(frequency / sampleRate, 0.49))
        }
    }

    /// The delays of lines against their mean. They were drawn by chance about a geometric series from 0.4 to 2.5 of its
    /// middle, and chosen by the echo density and the evenness of what they make.
    static func ratios(_ lines: Int) -> [Float] {
        switch lines {
        case 8: return [0.3635, 0.4367, 0.6187, 0.6825, 0.9779, 1.2191, 1.7146, 1.987]
        case 16:
            return [
                0.3456, 0.3778, 0.4182, 0.4717, 0.5738, 0.6546, 0.7195, 0.8227, 0.9143, 1.0715, 1.1981, 1.2569, 1.5371,
                1.6109, 1.9415, 2.0859,
            ]
        default:
            return [
                0.3465, 0.3723, 0.3929, 0.4065, 0.4328, 0.4716, 0.4808, 0.5297, 0.5615, 0.5869, 0.6181, 0.6551, 0.6944,
                0.7434, 0.791, 0.8412, 0.911, 0.9577, 1.0084, 1.0882, 1.1144, 1.1796, 1.278, 1.3212, 1.4014, 1.5203,
                1.6096, 1.7439, 1.8262, 1.9276, 2.0438, 2.1441,
            ]
        }
    }
}
