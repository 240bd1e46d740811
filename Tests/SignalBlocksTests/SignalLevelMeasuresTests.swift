import Testing

@testable import SignalBlocks

@Suite struct SignalLevelMeasuresTests {
    @Test("peak, energy and RMS against naive loops, at every length and alignment")
    func againstNaiveLoops() {
        let tolerance = 1e-6
        var noise = SignalNoise(seed: 1)
        for count in signalLengths + [10_000] {
            let start = Int.random(in: 0...9, using: &noise)
            let array = noise.samples(count + start)
            let part = array[start...]
            let energy = part.reduce(0.0) { $0 + Double($1) * Double($1) }
            let peak = part.map(\.magnitude).max() ?? 0
            #expect(reading(array, from: start, Signal.peak) == peak)
            #expect(abs(reading(array, from: start, Signal.sumOfSquares) - energy) <= tolerance * energy)
            let rms = count == 0 ? 0 : (energy / Double(count)).squareRoot()
            #expect(abs(Double(reading(array, from: start, Signal.rms)) - rms) <= tolerance)
        }
    }

    @Test("the level of a long steady signal is exact")
    func steady() {
        let array = [Float](repeating: -0.5, count: 1_000_000)
        #expect(reading(array, Signal.rms) == 0.5)
        #expect(reading(array, Signal.sumOfSquares) == 250_000)
        #expect(reading(array, Signal.peak) == 0.5)
    }

    @Test("the square root agrees with the processor's", arguments: [0, 1e-300, 1e-90, 0.3, 2, 1e300, .infinity])
    func squareRoot(x: Double) {
        let (root, exact) = (Signal.squareRoot(x), x.squareRoot())
        #expect(root == exact || abs(root / exact - 1) < 1e-15)
    }

    @Test(
        "one sample that is not finite is found wherever it is",
        arguments: [.nan, .infinity, -.infinity, .signalingNaN] as [Float])
    func finite(value: Float) {
        var noise = SignalNoise(seed: 2)
        for count in signalLengths where count > 0 {
            var array = noise.samples(count)
            array[count / 2] = .greatestFiniteMagnitude
            #expect(reading(array, Signal.isFinite))
            for place in [0, count / 3, count - 1] {
                var broken = array
                broken[place] = value
                #expect(!reading(broken, Signal.isFinite))
                #expect(reading(broken, to: place, Signal.isFinite))
                #expect(!reading(broken) { Signal.isSilent($0, threshold: .greatestFiniteMagnitude) })
            }
        }
        let none: [Float] = []
        #expect(reading(none, Signal.isFinite))
    }

    @Test("One loud sample is found wherever it is; the threshold itself is silent")
    func silent() {
        for count in signalLengths where count > 0 {
            var array = [Float](repeating: -0.25, count: count)
            #expect(reading(array) { Signal.isSilent($0, threshold: 0.25) })
            #expect(!reading(array) { Signal.isSilent($0) })
            array[count - 1] = Float(0.25).nextUp
            #expect(!reading(array) { Signal.isSilent($0, threshold: 0.25) })
            array = .init(repeating: -0.0, count: count)
            #expect(reading(array) { Signal.isSilent($0) })
            #expect(!reading(array) { Signal.isSilent($0, threshold: -1) })
        }
        let none: [Float] = []
        #expect(reading(none) { Signal.isSilent($0, threshold: -1) })
    }
}
