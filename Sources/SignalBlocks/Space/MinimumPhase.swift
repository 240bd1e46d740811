/// A pair of responses, one for each ear, without its delay: filters that answer at once, and the time
/// between the ears.
package struct MinimumPhase: ~Copyable {
    private var fft: RealFFT
    /// Of correlations, in which a response needs room once: the lags that are looked at are short.
    private var lagFFT: RealFFT
    private let lagLimit: Int
    private let sampleRate: Double

    /// Creates a workplace for responses of a length. On the control side: it allocates.
    ///
    /// - Parameters:
    ///   - length: The samples of the longest response, 1…65,536.
    ///   - sampleRate: In hertz.
    package init(length: Int, sampleRate: Double) {
        demand((1...65_536).contains(length), "MinimumPhase: a response of \(length) samples; it must have 1…65,536")
        // Behind `??` stands a closure: with optimisation Swift 6.3.1 frees what is not there yet, if one reads a value of an
        // initialiser that cannot be copied.
        let size = RealFFT.size(atLeast: max(4_096, 4 * length)) ?? 1 << 18
        let limit = min(Int(0.001_2 * sampleRate) + 1, size / 4)
        fft = RealFFT(size: size)
        lagFFT = RealFFT(size: RealFFT.size(atLeast: max(4_096, length + limit + 1)) ?? size)
        lagLimit = limit
        self.sampleRate = sampleRate
    }

    /// Returns the first samples of the filter with the same levels whose answer comes as early as possible: by its cepstrum.
    /// Levels that are 100 dB below the highest count as that; a response of zeros remains one.
    ///
    /// - Parameters:
    ///   - response: The samples.
    ///   - taps: The number of samples of the filter.
    ///   - levels: The correction of its levels, which comes first.
    package mutating func filter(_ response: [Float], taps: Int, levels: HeadLevels) -> [Float] {
        var (re, im) = MinimumPhase.spectrum(response, &fft)
        var largest: Float = 0
        for k in re.indices {
            re[k] = (re[k] * re[k] + im[k] * im[k]).squareRoot()
            largest = max(largest, re[k])
        }
        guard largest > 0, largest.isFinite else { return Array(repeating: 0, count: taps) }
        for k in re.indices {
            let own = RenderMath.log(max(re[k], largest * 1e-5)) + levels.factors[k]
            (re[k], im[k]) = (levels.sphere + (own - levels.sphere) * levels.shares[k], 0)
        }
        let cepstrum = MinimumPhase.signal(re, im, &fft)
        // Folded onto the times from 0 on, the cepstrum c is that of the filter h: n h(n) is the sum of k c(k) h(n - k). The filter is
        // made from its end towards its beginning in memory, so that both factors are read forwards.
        let count = min(taps, fft.size / 2)
        let weights = (0..<count).map { 2 * Double($0) * Double(cepstrum[$0]) }
        var reversed = [Double](repeating: 0, count: taps)
        reversed[taps - 1] = Double(RenderMath.exp(cepstrum[0]))
        for n in 1..<max(count, 1) {
            let place = taps - 1 - n
            reversed[place] = MinimumPhase.product(weights[1...n], reversed[(place + 1)...(place + n)]) / Double(n)
        }
        return reversed.reversed().map { Float($0) }
    }

    /// Returns the levels for pairs of responses.
    package mutating func levels(_ pairs: [HeadTable.Measurement]) -> HeadLevels {
        var powers = [Double](repeating: 0, count: fft.bins)
        let share = 1 / Double(max(pairs.count, 1))
        for pair in pairs {
            for response in [pair.left, pair.right] {
                let (re, im) = MinimumPhase.spectrum(response, &fft)
                for k in re.indices { powers[k] += share * Double(re[k] * re[k] + im[k] * im[k]) }
            }
        }
        return HeadLevels(powers, sampleRate: sampleRate)
    }

    /// Returns how much later a sound is in the right ear than in the left, in frames: the place of the highest correlation of
    /// what is below 2 kHz, within 1.2 ms.
    package mutating func delay(left: [Float], right: [Float]) -> Double {
        let size = lagFFT.size
        let (leftRe, leftIm) = MinimumPhase.spectrum(left, &lagFFT)
        let (rightRe, rightIm) = MinimumPhase.spectrum(right, &lagFFT)
        var (re, im) = (leftRe, leftIm)
        for k in re.indices {
            let frequency = Double(k) * sampleRate / Double(size) / 2_000
            let share = frequency < 1 ? Float(0.5 + 0.5 * RenderMath.cos(.pi * frequency)) : 0
            re[k] = share * (rightRe[k] * leftRe[k] + rightIm[k] * leftIm[k])
            im[k] = share * (rightIm[k] * leftRe[k] - rightRe[k] * leftIm[k])
        }
        let correlation = MinimumPhase.signal(re, im, &lagFFT)
        func at(_ lag: Int) -> Double { Double(correlation[(lag + size) % size]) }
        var best = 0
        for lag in -lagLimit...lagLimit where at(lag) > at(best) { best = lag }
        let (before, here, after) = (at(best - 1), at(best), at(best + 1))
        let bend = before - 2 * here + after
        let shift = bend < 0 ? min(max(0.5 * (before - after) / bend, -0.5), 0.5) : 0
        return Double(best) + shift
    }

    /// Returns the sum of the products of as many numbers. Four sums run side by side, since each waits for itself.
    private static func product(_ a: ArraySlice<Double>, _ b: ArraySlice<Double>) -> Double {
        let (a, b) = (a.span, b.span)
        var sums = SIMD4<Double>(repeating: 0)
        let whole = a.count & ~3
        for i in stride(from: 0, to: whole, by: 4) {
            let one: SIMD4<Double> = SIMD4(a[i], a[i + 1], a[i + 2], a[i + 3])
            let other: SIMD4<Double> = SIMD4(b[i], b[i + 1], b[i + 2], b[i + 3])
            sums += one * other
        }
        var sum = sums.sum()
        for i in whole..<a.count { sum += a[i] * b[i] }
        return sum
    }

    private static func spectrum(_ signal: [Float], _ fft: inout RealFFT) -> ([Float], [Float]) {
        var re = [Float](repeating: 0, count: fft.bins)
        var im = [Float](repeating: 0, count: fft.bins)
        var reSpan = re.mutableSpan
        var imSpan = im.mutableSpan
        fft.forward(Samples(signal.span), real: &reSpan, imaginary: &imSpan)
        return (re, im)
    }

    private static func signal(_ re: [Float], _ im: [Float], _ fft: inout RealFFT) -> [Float] {
        var result = [Float](repeating: 0, count: fft.size)
        var span = result.mutableSpan
        fft.inverse(real: Samples(re.span), imaginary: Samples(im.span), into: &span)
        return result
    }
}
