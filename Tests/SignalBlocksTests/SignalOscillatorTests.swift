import Glibc
import Testing

@testable import SignalBlocks

@Suite struct SignalOscillatorTests {
    /// The wave for a rate, whole.
    private func wave(_ rate: Double, _ count: Int, position: Double = 0) -> [Float] {
        var samples = [Float](repeating: 9, count: count)
        var span = samples.mutableSpan
        _ = Signal.oscillator(rate: rate, position: position, into: &span)
        return samples
    }

    @Test("440 Hz is 440 Hz: a second of it is 440 cycles of a sine, sample by sample")
    func frequency() {
        let samples = wave(440 / 44_100, 44_100)
        let expected = samples.indices.map { sin(2 * .pi * 440 * Double($0) / 44_100) }
        #expect(largestError(samples, expected) <= SignalTolerance.rounding)
        let rises = (1..<samples.count).filter { samples[$0 - 1] < 0 && samples[$0] >= 0 }.count
        #expect(rises == 439)
    }

    @Test("A million samples on, in blocks, nothing has drifted")
    func drift() {
        let rate = 997.3 / 48_000
        var samples = [Float](repeating: 0, count: 480)
        var position = 0.0
        for _ in 0..<2_083 {
            var span = samples.mutableSpan
            position = Signal.oscillator(rate: rate, position: position, into: &span)
        }
        let first = 2_082 * 480
        let expected = samples.indices.map { sin(2 * .pi * (rate * Double(first + $0)).remainder(dividingBy: 1)) }
        #expect(largestError(samples, expected) <= SignalTolerance.rounding)
    }

    @Test("The distortion is below -120 dB, there is no DC")
    func distortion() {
        let (distortionLimit, offsetLimit) = (-120.0, 1e-9)
        // 64 samples a cycle, each a different place: all harmonics up to the 32nd.
        let samples = wave(1.0 / 64, 64).map(Double.init)
        var magnitudes: [Double] = []
        for harmonic in 0...32 {
            var (re, im) = (0.0, 0.0)
            for (n, sample) in samples.enumerated() {
                re += sample * cos(2 * .pi * Double(harmonic * n) / 64)
                im += sample * sin(2 * .pi * Double(harmonic * n) / 64)
            }
            magnitudes.append((re * re + im * im).squareRoot() / 32)
        }
        let harmonics = magnitudes[2...].reduce(0) { $0 + $1 * $1 }.squareRoot()
        #expect(abs(magnitudes[1] - 1) <= SignalTolerance.rounding)
        #expect(20 * log10(harmonics / magnitudes[1]) <= distortionLimit)
        #expect(magnitudes[0] <= offsetLimit)
    }

    @Test("Blocks of any length give the same samples", arguments: [[1], [64, 7, 100], [512]])
    func inAnyBlocks(blocks: [Int]) {
        let rate = 0.1234567891
        let whole = wave(rate, 3_000, position: 0.25)
        var cut = [Float](repeating: 9, count: 3_000)
        var position = 0.25
        inBlocks(&cut, blocks) { position = Signal.oscillator(rate: rate, position: position, into: &$0) }
        #expect(largestError(cut, whole.map(Double.init)) <= SignalTolerance.rounding)
        #expect(abs(whole[0] - 1) <= 1e-6)
    }

    @Test("Negative rates run backwards, whole cycles do not count, nonsense stands still")
    func oddRates() {
        let forward = wave(0.03, 100)
        #expect(largestError(wave(-0.03, 100), forward.map { -Double($0) }) <= SignalTolerance.rounding)
        #expect(largestError(wave(5.03, 100), forward.map(Double.init)) <= SignalTolerance.rounding)
        #expect(largestError(wave(0.03, 100, position: -7), forward.map(Double.init)) <= SignalTolerance.rounding)
        for rate in [Double.nan, .infinity, 1e300, 1, -3] { #expect(wave(rate, 20).allSatisfy { $0 == 0 }) }
        #expect(wave(0.25, 0).isEmpty)
        #expect(wave(0.1, 5_000).allSatisfy { abs($0) <= 1 })
    }
}
