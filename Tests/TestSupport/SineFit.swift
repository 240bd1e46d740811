import Foundation

/// A sine of known frequency in a signal, found by least squares in double precision, and what else is in there.
public struct SineFit {
    /// Its amplitude.
    public let amplitude: Double
    /// Its phase at time 0, in turns, -0.5 to 0.5.
    public let turns: Double
    /// The root of the mean square of everything else.
    public let rest: Double

    /// - Parameters:
    ///   - samples: The signal.
    ///   - frequency: Cycles per frame.
    ///   - first: The time of the first sample, in frames.
    public init(_ samples: some Sequence<Float>, frequency: Double, from first: Int) {
        var (ss, sc, cc, ys, yc) = (0.0, 0.0, 0.0, 0.0, 0.0)
        var waves: [(y: Double, s: Double, c: Double)] = []
        for (index, sample) in samples.enumerated() {
            let cycles = frequency * Double(first + index)
            let angle = 2 * Double.pi * (cycles - cycles.rounded())
            let wave = (y: Double(sample), s: sin(angle), c: cos(angle))
            ss += wave.s * wave.s
            sc += wave.s * wave.c
            cc += wave.c * wave.c
            ys += wave.y * wave.s
            yc += wave.y * wave.c
            waves.append(wave)
        }
        let determinant = ss * cc - sc * sc
        let (a, b) = ((ys * cc - yc * sc) / determinant, (yc * ss - ys * sc) / determinant)
        amplitude = (a * a + b * b).squareRoot()
        turns = atan2(b, a) / (2 * Double.pi)
        var sum = 0.0
        for wave in waves {
            let error = wave.y - a * wave.s - b * wave.c
            sum += error * error
        }
        rest = (sum / Double(waves.count)).squareRoot()
    }

    /// The sine's level over that of the rest, in decibels.
    public var signalToNoise: Double { 20 * log10(amplitude / 2.0.squareRoot() / rest) }

    /// The sine's level over that of one with this amplitude, in decibels.
    public func gain(over original: Double) -> Double { 20 * log10(amplitude / original) }
}
