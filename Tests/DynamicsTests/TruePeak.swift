import RenderStack

/// The true peak at 16 times the rate, with a sinc of 512 samples in a Kaiser window.
enum TruePeak {
    private static let half = 256
    private static let rows: [[Float]] = (1..<16).map(row)

    private static func row(_ place: Int) -> [Float] {
        (0..<512).map { (tap: Int) -> Float in
            let x: Double = Double(tap - half + 1) - Double(place) / 16
            let share: Double = x / Double(half)
            let window: Double = bessel(9 * (1 - share * share).squareRoot()) / bessel(9)
            let angle: Double = .pi * x
            return Float(window * RenderMath.sin(angle) / angle)
        }
    }

    private static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        for k in 1...40 {
            term *= (x / 2 / Double(k)) * (x / 2 / Double(k))
            sum += term
        }
        return sum
    }

    /// The true peak by an interpolation that is right up to half of the rate: 16 times as many samples have the same spectrum.
    static func idealDecibels(_ samples: [Float]) -> Double {
        var forward = RealFFT(size: 1 << 16)
        var inverse = RealFFT(size: 1 << 20)
        var re = [Float](repeating: 0, count: forward.bins)
        var im = re
        var reSpan = re.mutableSpan
        var imSpan = im.mutableSpan
        forward.forward(Samples(samples.span), real: &reSpan, imaginary: &imSpan)
        let nothing = [Float](repeating: 0, count: inverse.bins - forward.bins)
        (re, im) = (re + nothing, im + nothing)
        // Half of it is at the frequency with a minus.
        re[1 << 15] /= 2
        var finer = [Float](repeating: 0, count: 1 << 20)
        var finerSpan = finer.mutableSpan
        inverse.inverse(real: Samples(re.span), imaginary: Samples(im.span), into: &finerSpan)
        return Double(RenderMath.decibels(amplitude: 16 * finer.reduce(0) { max($0, abs($1)) }))
    }

    static func decibels(_ samples: [Float]) -> Double {
        let nothing = [Float](repeating: 0, count: half)
        let padded = nothing + samples + nothing
        let signal = Samples(padded.span)
        var highest = samples.reduce(0) { max($0, abs($1)) }
        for row in rows {
            let weights = Samples(row.span)
            for i in 0..<samples.count {
                var sum = SIMD8<Float>(repeating: 0)
                for group in stride(from: 0, to: 512, by: 8) {
                    sum += weights.vector8(at: group) * signal.vector8(at: i + 1 + group)
                }
                highest = max(highest, abs(sum.sum()))
            }
        }
        return Double(RenderMath.decibels(amplitude: highest))
    }
}
