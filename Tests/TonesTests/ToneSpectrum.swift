import RenderStack

/// The amplitudes in a signal by frequency: a transform of the whole, in a Kaiser window whose side lobes are at -155 dB.
struct ToneSpectrum {
    /// The amplitude of a sine at a bin, for each bin.
    let bins: [Double]
    let binWidth: Double
    /// The number of bins to either side over which a sine spreads.
    let lobe = 7

    /// The window's side lobes are below what single precision can tell from 0.
    private static let beta = 20.0

    /// Of 16,384 or 65,536 samples.
    init(_ samples: [Float], sampleRate: Double) {
        precondition(samples.count == 65_536 || samples.count == 16_384)
        var fft = RealFFT(size: samples.count)
        let window = samples.count == 65_536 ? Self.longWindow : Self.shortWindow
        let windowed = zip(samples, window).map { Float(Double($0) * $1) }
        var (real, imaginary) = ([Float](repeating: 0, count: fft.bins), [Float](repeating: 0, count: fft.bins))
        var realSpan = real.mutableSpan
        var imaginarySpan = imaginary.mutableSpan
        fft.forward(Samples(windowed.span), real: &realSpan, imaginary: &imaginarySpan)
        let sum = window.reduce(0, +)
        bins = real.indices.map { k in
            let (re, im) = (Double(real[k]), Double(imaginary[k]))
            return 2 * (re * re + im * im).squareRoot() / sum
        }
        binWidth = sampleRate / Double(samples.count)
        // The power of a sine is spread over its lobe: this much more than at its top.
        spread = Double(samples.count) * window.reduce(0) { $0 + $1 * $1 } / (sum * sum)
    }

    private let spread: Double

    /// The amplitude of the sine at a frequency, from the power of its lobe.
    func amplitude(at frequency: Double) -> Double {
        let center = Int((frequency / binWidth).rounded())
        let range = max(0, center - lobe)...min(bins.count - 1, center + lobe)
        return (range.reduce(0) { $0 + bins[$1] * bins[$1] } / spread).squareRoot()
    }

    /// The largest amplitude outside of the lobes of a tone's harmonics, and of DC.
    func largest(besideHarmonicsOf frequency: Double) -> Double {
        var largest = 0.0
        for (bin, amplitude) in bins.enumerated() {
            let nearest = (Double(bin) * binWidth / frequency).rounded() * frequency
            if abs(Double(bin) * binWidth - nearest) > Double(lobe) * binWidth { largest = max(largest, amplitude) }
        }
        return largest
    }

    private static let longWindow = window(65_536)
    private static let shortWindow = window(16_384)

    private static func window(_ count: Int) -> [Double] {
        (0..<count).map { i in
            let x = 2 * (Double(i) + 0.5) / Double(count) - 1
            return bessel(beta * (1 - x * x).squareRoot()) / bessel(beta)
        }
    }

    /// The modified Bessel function of order 0.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term, k) = (1.0, 1.0, 1.0)
        while term > sum * 1e-15 {
            term *= x * x / (4 * k * k)
            sum += term
            k += 1
        }
        return sum
    }
}

/// An amplitude ratio in decibels.
func decibels(_ ratio: Double) -> Double { 20 * RenderMath.log2(max(ratio, 1e-30)) / RenderMath.log2(10) }
