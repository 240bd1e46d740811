import Testing

@testable import SignalBlocks

@Suite struct SignalGainTests {
    @Test("A gain of 0.5 halves every sample exactly, at every length and alignment")
    func halves() {
        #expect(largestErrorInPlace(seed: 1, { Signal.applyGain(0.5, to: &$0) }, expecting: { $1 * 0.5 }) == 0)
        let error = largestErrorOutOfPlace(
            seed: 2, { first, _, output in Signal.applyGain(0.5, to: first, into: &output) },
            lengthOfSecondCounts: false, expecting: { _, first, _, _ in first * 0.5 })
        #expect(error == 0)
    }

    @Test("A gain of 1 keeps every bit, a negative one turns the phase")
    func identity() {
        let odd: [Float] = [0, -0.0, 1, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity]
        var samples = odd
        var span = samples.mutableSpan
        Signal.applyGain(1, to: &span)
        Signal.applyGain(-1, to: &span)
        #expect(samples.map(\.bitPattern) == odd.map { (-$0).bitPattern })
    }

    @Test("Gains below 1.2e-7 clear, whatever was there", arguments: [0, -0.0, 1.1e-7, -1.1e-7] as [Float])
    func clears(gain: Float) {
        var samples: [Float] = [1, .nan, .infinity, -.infinity, 5]
        var copy: [Float] = [9, 9, 9]
        let source = samples
        var span = samples.mutableSpan
        Signal.applyGain(gain, to: &span)
        var copySpan = copy.mutableSpan
        Signal.applyGain(gain, to: Samples(source.span), into: &copySpan)
        #expect(samples.allSatisfy { $0.bitPattern == 0 })
        #expect(copy == [0, 0, 0])
    }

    @Test("Silence is zeros, and nothing beyond it")
    func silences() {
        #expect(largestErrorInPlace(seed: 3, { Signal.silence(&$0) }, expecting: { _, _ in 0 }) == 0)
    }

    @Test("A copy is exact, the shorter length counts, offsets are kept")
    func copies() {
        let error = largestErrorOutOfPlace(
            seed: 4, { first, _, output in Signal.copy(first, into: &output) }, lengthOfSecondCounts: false,
            expecting: { _, first, _, _ in first })
        #expect(error == 0)
        let source: [Float] = (0..<256).map(Float.init)
        var target = [Float](repeating: -1, count: 256)
        onPart(of: &target, from: 100, count: 50) { Signal.copy(Samples(source.span.extracting(7..<200)), into: &$0) }
        #expect(target[99] == -1 && target[100] == 7 && target[149] == 56 && target[150] == -1)
    }

    @Test("a span is readable as samples, an empty one too")
    func samplesOfSpans() {
        var array: [Float] = [1, 2, 3]
        var span = array.mutableSpan
        let count = span.samples.count
        let last = span.samples[2]
        #expect(count == 3 && last == 3)
        var none: [Float] = []
        var empty = none.mutableSpan
        let emptyCount = empty.samples.count
        let peak = Signal.peak(empty.samples)
        #expect(emptyCount == 0 && peak == 0)
    }
}
