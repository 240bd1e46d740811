import Testing

@testable import SignalBlocks

@Suite struct SignalMixingTests {
    @Test(
        "Two equal channels at 1 and 0.5 give 1.5, in both orders, exactly",
        arguments: [
            (1 as Float, 0.5 as Float), (0.5, 1),
        ])
    func gainsInBothOrders(first: Float, second: Float) {
        let tone = testTone()
        var sum = tone
        var span = sum.mutableSpan
        Signal.mix(Samples(tone.span), gain: first, Samples(tone.span), gain: second, into: &span)
        #expect(sum == tone.map { $0 * first + $0 * second })
        #expect(largestError(sum, tone.map { Double($0) * 1.5 }) <= SignalTolerance.rounding)
        // The output as one of the inputs.
        var same = tone
        var sameSpan = same.mutableSpan
        Signal.mix(Samples(tone.span), gain: first, into: &sameSpan, gain: second)
        #expect(same == sum)
    }

    @Test("Both channels of a stereo tone into one give twice of it, exactly")
    func stereoToMono() {
        let tone = testTone()
        var mono = tone
        var span = mono.mutableSpan
        Signal.accumulate(Samples(tone.span), into: &span)
        #expect(mono == tone.map { $0 * 2 })
    }

    @Test("A mono tone into both channels of another")
    func monoToStereo() {
        let tone = testTone()
        for _ in 0..<2 {
            var channel = tone
            var span = channel.mutableSpan
            Signal.accumulate(Samples(tone.span), gain: 0.5, into: &span)
            #expect(channel == tone.map { $0 * 1.5 })
        }
    }

    @Test("Every length and alignment; the shortest counts")
    func everyLength() {
        #expect(
            largestErrorOutOfPlace(
                seed: 1,
                { first, second, output in Signal.mix(first, gain: 0.3, second, gain: -0.7, into: &output) },
                expecting: { _, first, second, _ in 0.3 * first - 0.7 * second }) <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 2, { first, _, output in Signal.mix(first, gain: 0.3, into: &output, gain: -0.7) },
                lengthOfSecondCounts: false, expecting: { _, first, _, output in 0.3 * first - 0.7 * output })
                <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 3, { first, _, output in Signal.accumulate(first, into: &output) },
                lengthOfSecondCounts: false, expecting: { _, first, _, output in first + output })
                <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 4, { first, _, output in Signal.accumulate(first, gain: 0.3, into: &output) },
                lengthOfSecondCounts: false, expecting: { _, first, _, output in 0.3 * first + output })
                <= SignalTolerance.rounding)
    }

    @Test("A chain of six with the gains 3, 5, 7, 11, 13, 17 adds up exactly")
    func chain() {
        var sum = [Float](repeating: 0, count: 128)
        var span = sum.mutableSpan
        for (value, gain) in zip(1...6, [3, 5, 7, 11, 13, 17] as [Float]) {
            let channel = [Float](repeating: Float(value), count: 128)
            Signal.accumulate(Samples(channel.span), gain: gain, into: &span)
        }
        #expect(sum.allSatisfy { $0 == 3 + 10 + 21 + 44 + 65 + 102 })
    }
}
