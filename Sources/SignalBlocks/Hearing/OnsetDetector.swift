/// Finds attacks: the moments at which something new begins to sound.
///
///     var detector = OnsetDetector(sampleRate: 48_000)             // allocates
///     if let onset = detector.add(samples, from: frame) { … }      // every `hop` frames, the last `frameCount` of them
///
/// The measure is the rise of the spectrum in some 40 bands of a sixth of an octave, on a scale of decibels, from 10 ms
/// before, where falls do not count, and a tone that only wanders to a neighbouring band does not either (spectral flux
/// with a maximum filter, as in S. Böck and G. Widmer, 2013). A peak that stands out of what was before is an attack. Its
/// frame is the one at which the energy of 3 ms after it is the largest multiple of that of 3 ms before, where only what
/// a linear prediction from 30 ms before does not foresee counts as energy.
///
/// It allocates, and is meant for the control side.
///
/// Threads: control.
public struct OnsetDetector: ~Copyable, Sendable {
    /// An attack.
    ///
    /// Threads: any.
    public struct Onset: Sendable, Hashable {
        /// The frame at which it begins, on the clock of ``add(_:from:)``.
        public let frame: Int64
        /// The mean rise of all bands, in dB.
        public let rise: Double
        /// The amplitude (RMS) of 10 ms behind the frame, less that of 10 ms before, and at least 0.
        public let amplitude: Double
    }

    /// Frames per second.
    public let sampleRate: Double
    /// Frames that are looked at: the transform's, and those before in which the attack may lie.
    public let frameCount: Int
    /// Frames from one look to the next: 5 ms.
    public let hop: Int
    private let threshold: Double
    private let size: Int
    private var fft: RealFFT
    private let weights: [Float]
    /// The first bin of each band, and the one behind the last.
    private let edges: [Int]
    /// The bands of the last three looks, and the rise at each of the last.
    private var bands: [[Double]] = []
    private var rises: [Double] = []
    private static var reach: Int { 6 }
    private static var history: Int { 60 }
    private static var order: Int { 32 }

    /// Creates a detector.
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, 1…1,000,000; a rate outside becomes the nearest one, with a notice on standard
    ///     error.
    ///   - threshold: The least rise of an attack above what was usual in the last 300 ms, in dB, 0.1…40; by default 2.5.
    /// - Precondition: The other numbers are in range.
    public init(sampleRate: Double, threshold: Double = 2.5) {
        let sampleRate = nearestSampleRate(to: sampleRate, for: "OnsetDetector")
        demand(threshold >= 0.1 && threshold <= 40, "OnsetDetector: a threshold of \(threshold) dB; it must be 0.1…40")
        self.sampleRate = sampleRate
        self.threshold = threshold
        hop = max(1, Int((sampleRate / 200).rounded()))
        size = RealFFT.size(atLeast: Int(sampleRate / 50)) ?? 1 << 15
        frameCount = size + (Self.reach + 2) * hop + Int(sampleRate * 0.05)
        fft = RealFFT(size: size)
        let count = Double(size)
        let turn: Double = 2 * .pi / count
        weights = (0..<size).map { i in
            let raised: Double = 0.5 - 0.5 * RenderMath.cos(turn * (Double(i) + 0.5))
            return Float(raised * 4 / count)
        }
        var edges = [1]
        // Up to 16 kHz, in steps of a sixth of an octave.
        let end = min(size / 2, Int(16_000 / sampleRate * count))
        while let last = edges.last, last < end {
            edges.append(min(end, max(last + 1, Int((Double(last) * 1.122462).rounded()))))
        }
        self.edges = edges.count > 1 ? edges : [1, max(2, size / 2)]
    }

    /// Looks at the frames up to now.
    ///
    /// - Parameters:
    ///   - samples: The last ``frameCount`` frames.
    ///   - frame: The first one's number: ``hop`` more than at the call before.
    /// - Returns: An attack that lies some 45 ms before the last frame.
    public mutating func add(_ samples: borrowing Samples, from frame: Int64) -> Onset? {
        guard samples.count >= frameCount else { return nil }
        look(samples)
        guard rises.count > Self.reach else { return nil }
        let peak = rises.count - 1 - Self.reach
        let first = max(0, peak - Self.reach)
        for i in first..<rises.count where i < peak ? rises[i] >= rises[peak] : rises[i] > rises[peak] { return nil }
        // The median of what was before, not the mean: attacks would raise that, and hide soft ones between them.
        let usual = first == 0 ? 0 : rises[..<first].sorted()[first / 2]
        guard rises[peak] > usual * 1.5 + threshold else { return nil }
        // The steepest rise is where the attack passes the middle of the transform, between this look and two before.
        let middle = frameCount - size / 2 - (Self.reach + 1) * hop
        let found = steepest(samples, around: middle)
        return Onset(frame: frame + Int64(found), rise: rises[peak], amplitude: amplitude(samples, at: found))
    }

    /// Forgets the sound before.
    public mutating func reset() {
        bands = []
        rises = []
    }

    private mutating func look(_ samples: borrowing Samples) {
        let start = frameCount - size
        let scaled = (0..<size).map { i in
            let sample = samples[start + i]
            return abs(sample) < 1e15 ? sample * weights[i] : 0
        }
        var re = [Float](repeating: 0, count: size / 2 + 1)
        var im = re
        var realSpan = re.mutableSpan
        var imaginarySpan = im.mutableSpan
        fft.forward(Samples(scaled.span), real: &realSpan, imaginary: &imaginarySpan)
        var levels: [Double] = []
        for band in 0..<edges.count - 1 {
            var power = 0.0
            for bin in edges[band]..<edges[band + 1] {
                power += Double(re[bin]) * Double(re[bin]) + Double(im[bin]) * Double(im[bin])
            }
            // Nothing below -80 dB counts.
            levels.append(10 * Self.log10(power + 1e-8))
        }
        if bands.count == 2 {
            let old = bands.removeFirst()
            var sum = 0.0
            for band in levels.indices {
                var highest = old[band]
                if band > 0 { highest = max(highest, old[band - 1]) }
                if band + 1 < old.count { highest = max(highest, old[band + 1]) }
                sum += max(0, levels[band] - highest)
            }
            if rises.count == Self.history { rises.removeFirst() }
            rises.append(sum / Double(levels.count))
        }
        bands.append(levels)
    }

    /// Returns the frame at which the energy behind is the largest multiple of that before, of what the sound before
    /// does not let one expect: tones that ring on are predicted, and what is new is not.
    private func steepest(_ samples: borrowing Samples, around middle: Int) -> Int {
        let width = max(1, Int(sampleRate * 0.003))
        let reach = Int(sampleRate * 0.016)
        let (first, last) = (max(width + Self.order, middle - reach), min(frameCount - width - 1, middle + reach))
        guard first < last else { return middle }
        let predictor = predictor(samples, before: first - width)
        var sums = [0.0]
        for i in first - width..<last + width {
            var error = Self.sample(samples, i)
            for (k, weight) in predictor.enumerated() { error += weight * Self.sample(samples, i - 1 - k) }
            sums.append((sums.last ?? 0) + error * error)
        }
        let total = sums.last ?? 0
        guard total > 0 else { return middle }
        var best = (ratio: 0.0, at: middle)
        for i in first...last {
            let place = i - (first - width)
            let before = sums[place] - sums[place - width]
            let behind = sums[place + width] - sums[place]
            let ratio = (behind + 1e-6 * total) / (before + 1e-3 * total)
            if ratio > best.ratio { best = (ratio, i) }
        }
        return best.at
    }

    private static func sample(_ samples: borrowing Samples, _ place: Int) -> Double {
        let sample = Double(samples[place])
        return abs(sample) < 1e15 ? sample : 0
    }

    /// Returns the weights with which the sound before a frame predicts the next sample, with a minus: J. P. Burg's
    /// method.
    private func predictor(_ samples: borrowing Samples, before end: Int) -> [Double] {
        let count = min(end, Int(sampleRate * 0.03))
        guard count > 4 * Self.order else { return [] }
        var forward = (0..<count).map { Self.sample(samples, end - count + $0) }
        var backward = forward
        var weights: [Double] = []
        for order in 1...Self.order {
            var (product, power) = (0.0, 1e-20)
            for i in order..<count {
                product += forward[i] * backward[i - 1]
                power += forward[i] * forward[i] + backward[i - 1] * backward[i - 1]
            }
            let reflection = -2 * product / power * 0.9999
            for i in (order..<count).reversed() {
                let (a, b) = (forward[i], backward[i - 1])
                forward[i] = a + reflection * b
                backward[i] = b + reflection * a
            }
            weights.append(0)
            let old = weights
            for k in 0..<order - 1 { weights[k] = old[k] + reflection * old[order - 2 - k] }
            weights[order - 1] = reflection
        }
        return weights
    }

    private func amplitude(_ samples: borrowing Samples, at place: Int) -> Double {
        let width = max(1, Int(sampleRate / 100))
        func rms(_ range: Range<Int>, _ samples: borrowing Samples) -> Double {
            var sum = 0.0
            for i in range.clamped(to: 0..<samples.count) { sum += Double(samples[i]) * Double(samples[i]) }
            return (sum / Double(width)).squareRoot()
        }
        let rise = rms(place..<place + width, samples) - rms(place - width..<place, samples)
        return rise > 0 ? rise : 0
    }

    private static func log10(_ x: Double) -> Double { RenderMath.log2(x) * 0.30102999566398120 }
}
