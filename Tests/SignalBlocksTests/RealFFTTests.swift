import Glibc
import Testing

@testable import SignalBlocks

@Suite struct RealFFTTests {
    /// The required precision: relative RMS error of a spectrum, and of a round trip.
    private static let tolerance = 1e-6

    private static let sizes: [Int] = {
        (16...4_096).filter { RealFFT.isSupported($0) }
    }()

    private func transform(_ fft: inout RealFFT, _ signal: [Float]) -> (re: [Float], im: [Float]) {
        var (re, im) = ([Float](repeating: 9, count: fft.bins), [Float](repeating: 9, count: fft.bins))
        var reSpan = re.mutableSpan
        var imSpan = im.mutableSpan
        fft.forward(Samples(signal.span), real: &reSpan, imaginary: &imSpan)
        return (re, im)
    }

    private func back(_ fft: inout RealFFT, _ spectrum: (re: [Float], im: [Float]), count: Int? = nil) -> [Float] {
        var signal = [Float](repeating: 9, count: count ?? fft.size)
        var span = signal.mutableSpan
        fft.inverse(real: Samples(spectrum.re.span), imaginary: Samples(spectrum.im.span), into: &span)
        return signal
    }

    /// Some bins of the transform, from its definition, in double precision.
    private func definition(_ signal: [Float], bin: Int) -> (re: Double, im: Double) {
        let size = signal.count
        let angle = -2 * Double.pi / Double(size)
        let roots = (0..<size).map { (cos(angle * Double($0)), sin(angle * Double($0))) }
        var (re, im, place) = (0.0, 0.0, 0)
        for sample in signal {
            re += Double(sample) * roots[place].0
            im += Double(sample) * roots[place].1
            place += bin
            if place >= size { place -= size }
        }
        return (re, im)
    }

    @Test("The sizes are 2^n, 3*2^n, 5*2^n and 15*2^n, n >= 4")
    func supportedSizes() {
        #expect(Self.sizes.prefix(12) == [16, 32, 48, 64, 80, 96, 128, 160, 192, 240, 256, 320])
        #expect(Self.sizes.count == 9 + 7 + 6 + 5)
        for size in [0, -16, 1, 8, 24, 40, 112, 144, 120, 1 << 21, 3 << 19] { #expect(!RealFFT.isSupported(size)) }
        #expect(RealFFT.isSupported(1 << 20) && RealFFT.isSupported(15 << 16))
        #expect(RealFFT.size(atLeast: 0) == 16 && RealFFT.size(atLeast: 65) == 80)
        #expect(RealFFT.size(atLeast: 241) == 256 && RealFFT.size(atLeast: 4_097) == 5_120)
        #expect(RealFFT.size(atLeast: 1 << 20) == 1 << 20 && RealFFT.size(atLeast: (1 << 20) + 1) == nil)
    }

    @Test("every size up to 4,096 against the definition in double precision", arguments: sizes)
    func againstDefinition(size: Int) {
        var noise = SignalNoise(seed: UInt64(size))
        let signal = noise.samples(size)
        var fft = RealFFT(size: size)
        let spectrum = transform(&fft, signal)
        // All bins of small sizes, the ends and some of large ones.
        var bins = Array(0...min(size / 2, 40)) + Array((size / 2 - 8)...(size / 2))
        bins += (0..<20).map { _ in Int.random(in: 0...(size / 2), using: &noise) }
        let (error, power) = relativeError(spectrum, signal, bins: bins)
        #expect((error / power).squareRoot() <= Self.tolerance)
        #expect(spectrum.im[0] == 0 && spectrum.im[size / 2] == 0)
    }

    private func relativeError(
        _ spectrum: (re: [Float], im: [Float]), _ signal: [Float], bins: [Int]
    ) -> (error: Double, power: Double) {
        var (error, power) = (0.0, 0.0)
        for bin in bins {
            let exact = definition(signal, bin: bin)
            let (re, im) = (Double(spectrum.re[bin]) - exact.re, Double(spectrum.im[bin]) - exact.im)
            error += re * re + im * im
            power += exact.re * exact.re + exact.im * exact.im
        }
        return (error, power)
    }

    @Test("large sizes against the definition, at random bins", arguments: [3 << 12, 1 << 14, 15 << 10, 5 << 13])
    func large(size: Int) {
        var noise = SignalNoise(seed: UInt64(size))
        let signal = noise.samples(size)
        var fft = RealFFT(size: size)
        let spectrum = transform(&fft, signal)
        let bins = [0, 1, size / 4, size / 2] + (0..<6).map { _ in Int.random(in: 0...(size / 2), using: &noise) }
        let (error, power) = relativeError(spectrum, signal, bins: bins)
        #expect((error / power).squareRoot() <= Self.tolerance)
    }

    @Test("there and back, and Parseval's theorem, at every size", arguments: sizes + [1 << 15, 15 << 11])
    func roundTrip(size: Int) {
        var noise = SignalNoise(seed: UInt64(size + 1))
        let signal = noise.samples(size)
        var fft = RealFFT(size: size)
        let spectrum = transform(&fft, signal)
        let again = back(&fft, spectrum)
        let energy = signal.reduce(0.0) { $0 + Double($1) * Double($1) }
        let error = zip(signal, again).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        #expect((error / energy).squareRoot() <= Self.tolerance)
        var power = 0.0
        for bin in 0...(size / 2) {
            let weight = bin == 0 || bin == size / 2 ? 1.0 : 2.0
            power += weight * (pow(Double(spectrum.re[bin]), 2) + pow(Double(spectrum.im[bin]), 2))
        }
        #expect(abs(power / Double(size) / energy - 1) <= Self.tolerance)
    }

    @Test("known answers: an impulse is flat, a cosine is one bin of half the size, DC and Nyquist are ends")
    func knownAnswers() {
        for size in [16, 48, 240, 1_024] {
            var fft = RealFFT(size: size)
            var impulse = [Float](repeating: 0, count: size)
            impulse[0] = 1
            let flat = transform(&fft, impulse)
            #expect(flat.re.allSatisfy { $0 == 1 } && flat.im.allSatisfy { $0 == 0 })
            let cosine = (0..<size).map { Float(cos(2 * Double.pi * 3 * Double($0) / Double(size))) }
            let line = transform(&fft, cosine)
            let expected = (0...(size / 2)).map { $0 == 3 ? Double(size) / 2 : 0 }
            #expect(largestError(line.re, expected) <= Double(size) * 1e-6)
            #expect(largestError(line.im, expected.map { _ in 0 }) <= Double(size) * 1e-6)
            let ends = transform(&fft, (0..<size).map { $0 % 2 == 0 ? 1.5 : 0.5 })
            #expect(ends.re[0] == Float(size) && ends.re[size / 2] == Float(size) / 2)
        }
    }

    @Test("shorter blocks are filled with silence, shorter results are beginnings, imaginary ends do not count")
    func lengths() {
        var noise = SignalNoise(seed: 3)
        let signal = noise.samples(101)
        for size in [96, 128, 240] {
            var fft = RealFFT(size: size)
            let padded = Array((signal + [Float](repeating: 0, count: size)).prefix(size))
            var whole = transform(&fft, padded)
            let short = transform(&fft, Array(signal.prefix(size)))
            #expect(whole.re == short.re && whole.im == short.im)
            let block = back(&fft, whole)
            for count in [0, 1, 2, 7, 8, 9, 15, size - 1] {
                #expect(back(&fft, whole, count: count).elementsEqual(block[..<count]))
            }
            let end: [Float] = [block[size - 1], 9, 9, 9]
            #expect(back(&fft, whole, count: size + 3).suffix(4) == end[...])
            whole.im[0] = 7
            whole.im[size / 2] = 7
            #expect(back(&fft, whole) == block)
            var part: [Float] = [9, 9, 9]
            var imaginaryPart: [Float] = []
            var span = part.mutableSpan
            var imaginarySpan = imaginaryPart.mutableSpan
            fft.forward(Samples(padded.span), real: &span, imaginary: &imaginarySpan)
            #expect(part.elementsEqual(whole.re[..<3]))
        }
    }

    @Test("nothing is remembered from one block to the next")
    func independent() {
        var noise = SignalNoise(seed: 4)
        for size in [64, 128, 480] {
            var fft = RealFFT(size: size)
            let signal = noise.samples(size)
            let first = transform(&fft, signal)
            _ = transform(&fft, noise.samples(size).map { $0 * 1e30 })
            _ = back(&fft, transform(&fft, [Float](repeating: .nan, count: size)))
            let second = transform(&fft, signal)
            #expect(first.re == second.re && first.im == second.im)
        }
    }
}
