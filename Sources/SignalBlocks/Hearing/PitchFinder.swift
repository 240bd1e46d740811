/// Finds the periods at which a stretch of sound is like itself: the candidates for its pitch, each with a weight.
///
///     var finder = PitchFinder(sampleRate: 48_000)                  // allocates
///     let analysis = finder.analyse(samples)                        // `frameCount` of them
///     path.add(analysis)                                            // a PitchPath chooses among the candidates
///
/// The method is YIN's (A. de Cheveigné and H. Kawahara, 2002), with the difference function made by two transforms and
/// taken on both sides of the middle, so that every period is measured at the same time: d(τ) is the sum of
/// (x[i] - x[i + τ])² over all pairs in the window. Each dip of the cumulative mean normalised difference is a
/// candidate. Its weight is the share of all thresholds under which it is the first, as in pYIN (M. Mauch and S. Dixon,
/// 2014), with the thresholds distributed as Beta(2, 8). The place of the dip comes from a parabola through points
/// between the samples, which a windowed sinc finds.
///
/// It allocates, and is meant for the control side.
///
/// Threads: control.
public struct PitchFinder: ~Copyable, Sendable {
    /// A period at which the sound repeats.
    ///
    /// Threads: any.
    public struct Candidate: Sendable, Hashable {
        /// The frequency in hertz.
        public let frequency: Double
        /// The likeness of the sound to itself one period later: 1 is the same, 0 has nothing in common. With white
        /// noise beside a voice it is the voice's share of the power.
        public let clarity: Double
        /// The share of the thresholds that choose it: all weights of a window add up to 1.
        public let weight: Double
    }

    /// The outcome for one window.
    ///
    /// Threads: control.
    public struct Analysis: Sendable, Hashable {
        /// The candidates, the shortest period first; none in silence.
        public let candidates: [Candidate]
        /// The mean power of the window: 0.5 for a sine of amplitude 1.
        public let power: Double
    }

    /// Frames per second.
    public let sampleRate: Double
    /// The frequencies that are looked for, in hertz.
    public let range: ClosedRange<Double>
    /// Frames in a window: 2.6 periods of the lowest frequency, or 5 of the highest where those are more.
    public let frameCount: Int
    private let shortest: Int
    private let longest: Int
    private var fft: RealFFT
    private var difference: [Double]
    /// Frames on either side that an interpolated value is made of.
    private static var reach: Int { 16 }

    /// Creates a finder.
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, 1…1,000,000; a rate outside becomes the nearest one, with a notice on standard
    ///     error.
    ///   - range: The frequencies to look for, in hertz, 10…20,000; by default 40…1,500. Frequencies above a quarter of
    ///     the rate are never found, and none at all at rates below eight times the lowest.
    /// - Precondition: The other numbers are in range.
    public init(sampleRate: Double, range: ClosedRange<Double> = 40...1_500) {
        let sampleRate = nearestSampleRate(to: sampleRate, for: "PitchFinder")
        demand(
            range.lowerBound >= 10 && range.upperBound <= 20_000,
            "PitchFinder: frequencies of \(range) Hz; they must lie in 10…20,000")
        self.sampleRate = sampleRate
        self.range = range
        longest = max(4, Int((sampleRate / range.lowerBound).rounded(.up)) + 2)
        shortest = max(4, Int(sampleRate / range.upperBound) - 1)
        frameCount = max(2 * longest, Int(sampleRate * max(2.6 / range.lowerBound, 5 / range.upperBound)))
        let lags = longest + Self.reach + 2
        let size = RealFFT.size(atLeast: frameCount + lags) ?? 1 << 20
        fft = RealFFT(size: size)
        difference = Array(repeating: 0, count: lags)
    }

    /// Analyses a window.
    ///
    /// - Parameter samples: The window, ``frameCount`` frames. Missing ones count as silence, more are ignored.
    public mutating func analyse(_ samples: borrowing Samples) -> Analysis {
        let count = min(frameCount, samples.count)
        var (sum, squares) = (0.0, 0.0)
        for i in 0..<count {
            sum += Double(samples[i])
            squares += Double(samples[i]) * Double(samples[i])
        }
        let power = squares / Double(frameCount)
        // A steady offset is no sound.
        let mean = sum / Double(frameCount)
        let variance = power - mean * mean
        guard power < 1e30, variance > 1e-20, variance > 1e-9 * power, sampleRate >= 8 * range.lowerBound,
            shortest < longest
        else {
            return Analysis(candidates: [], power: power.isFinite ? power : 0)
        }
        // At an amplitude near 1 the transform keeps the most of a small difference.
        let scale = 1 / variance.squareRoot()
        var scaled = [Float](repeating: 0, count: frameCount)
        for i in 0..<frameCount { scaled[i] = Float(((i < count ? Double(samples[i]) : 0) - mean) * scale) }
        measure(scaled)
        return Analysis(candidates: candidates(), power: power)
    }

    /// Makes the difference function: of each lag the mean square of the difference of all pairs.
    private mutating func measure(_ scaled: [Float]) {
        let window = frameCount
        var re = [Float](repeating: 0, count: fft.bins)
        var im = re
        var realSpan = re.mutableSpan
        var imaginarySpan = im.mutableSpan
        fft.forward(Samples(scaled.span), real: &realSpan, imaginary: &imaginarySpan)
        for i in re.indices { re[i] = re[i] * re[i] + im[i] * im[i] }
        im = Array(repeating: 0, count: fft.bins)
        var correlation = [Float](repeating: 0, count: difference.count)
        var lags = correlation.mutableSpan
        fft.inverse(real: Samples(re.span), imaginary: Samples(im.span), into: &lags)
        var energies = 2 * scaled.reduce(0) { $0 + Double($1) * Double($1) }
        difference[0] = 0
        for lag in 1..<difference.count {
            // Samples that no longer have a counterpart, at either end.
            guard lag < window else {
                difference[lag] = difference[lag - 1]
                continue
            }
            let (first, last) = (Double(scaled[lag - 1]), Double(scaled[window - lag]))
            energies -= first * first + last * last
            difference[lag] = max(0, energies - 2 * Double(correlation[lag])) / Double(window - lag)
        }
    }

    private func candidates() -> [Candidate] {
        var found: [Candidate] = []
        var sum = 0.0
        var normalised = [1.0]
        for lag in 1...longest + 1 {
            sum += difference[lag]
            normalised.append(sum > 0 ? difference[lag] * Double(lag) / sum : 1)
        }
        var dips: [(lag: Int, depth: Double)] = []
        for lag in shortest...longest
        where normalised[lag] < normalised[lag - 1] && normalised[lag] <= normalised[lag + 1] {
            dips.append((lag, min(1, max(0, normalised[lag]))))
        }
        guard let lowest = dips.map(\.depth).min() else { return [] }
        var best = 1.0
        var isFirstLowest = true
        for dip in dips {
            var weight = dip.depth < best ? Self.share(below: best) - Self.share(below: dip.depth) : 0
            if dip.depth == lowest && isFirstLowest {
                weight += Self.share(below: lowest)
                isFirstLowest = false
            }
            best = min(best, dip.depth)
            guard weight >= 1e-4 else { continue }
            let (lag, difference) = refined(dip.lag)
            let frequency = sampleRate / lag
            guard
                range.contains(frequency) || abs(frequency - range.lowerBound) < 0.03 * range.lowerBound
                    || abs(frequency - range.upperBound) < 0.03 * range.upperBound
            else { continue }
            // The window has a mean power of 1, so that the difference of strangers is 2.
            let clarity = min(1, max(0, 1 - difference / 2))
            found.append(Candidate(frequency: frequency, clarity: clarity, weight: weight))
        }
        return found
    }

    /// Returns the share of thresholds below a depth: the integral of Beta(2, 8).
    private static func share(below depth: Double) -> Double {
        let rest = 1 - depth
        let squared = rest * rest
        let eighth = squared * squared * squared * squared
        return 1 - eighth * rest - 9 * depth * eighth
    }

    /// Returns the place of a dip between the samples, and the difference there.
    private func refined(_ lag: Int) -> (lag: Double, difference: Double) {
        var place = Double(lag)
        var lowest = difference[lag]
        // In a long period the neighbours differ by less than the transform's rounding.
        let step = max(0.25, Double(lag) / 1_600)
        for width in [max(1, step), step, step] {
            let (before, here, after) = (value(at: place - width), value(at: place), value(at: place + width))
            lowest = here
            let bend = before - 2 * here + after
            guard bend > 0 else { break }
            place += width * max(-1, min(1, 0.5 * (before - after) / bend))
        }
        return (min(Double(lag) + 1.5, max(Double(lag) - 1.5, place)), lowest)
    }

    /// Returns the difference at a lag between the samples.
    private func value(at lag: Double) -> Double {
        let whole = Int(lag.rounded(.down))
        let part = lag - Double(whole)
        if part < 1e-9 { return value(atWhole: whole) }
        let sine = RenderMath.sin(.pi * part) / .pi
        var sum = 0.0
        var weights = 0.0
        for tap in 1 - Self.reach...Self.reach {
            let distance = Double(tap) - part
            let window = 0.5 + 0.5 * RenderMath.cos(.pi * distance / Double(Self.reach + 1))
            let weight = (tap & 1 == 0 ? -sine : sine) / distance * window
            sum += weight * value(atWhole: whole + tap)
            weights += weight
        }
        return sum / weights
    }

    /// Returns the difference at a lag: the function is even, and is cut off beyond its end.
    private func value(atWhole lag: Int) -> Double { difference[min(abs(lag), difference.count - 1)] }
}
