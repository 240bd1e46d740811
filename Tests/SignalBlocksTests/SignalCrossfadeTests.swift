import Glibc
import Testing

@testable import SignalBlocks

@Suite struct SignalCrossfadeTests {
    @Test("Linear, every length and alignment, in and out of place")
    func linear() {
        let t = { (i: Int) in min(max(-0.1 + 0.004 * Double(i), 0), 1) }
        #expect(
            largestErrorOutOfPlace(
                seed: 1,
                { first, second, output in
                    Signal.crossfade(first, to: second, position: -0.1, step: 0.004, into: &output)
                },
                expecting: { i, first, second, _ in first * (1 - t(i)) + second * t(i) }) <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 2, { first, _, output in Signal.crossfade(&output, to: first, position: -0.1, step: 0.004) },
                lengthOfSecondCounts: false,
                expecting: { i, first, _, output in output * (1 - t(i)) + first * t(i) }) <= SignalTolerance.rounding)
    }

    @Test("With equal power, every length and alignment, in and out of place")
    func equalPower() {
        let t = { (i: Int) in min(max(-0.1 + 0.004 * Double(i), 0), 1) * .pi / 2 }
        #expect(
            largestErrorOutOfPlace(
                seed: 3,
                { first, second, output in
                    Signal.equalPowerCrossfade(first, to: second, position: -0.1, step: 0.004, into: &output)
                },
                expecting: { i, first, second, _ in first * cos(t(i)) + second * sin(t(i)) })
                <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 4,
                { first, _, output in Signal.equalPowerCrossfade(&output, to: first, position: -0.1, step: 0.004) },
                lengthOfSecondCounts: false,
                expecting: { i, first, _, output in output * cos(t(i)) + first * sin(t(i)) })
                <= SignalTolerance.rounding)
    }

    @Test("Both ends are exact, in blocks the same", arguments: [[1], [50, 9]])
    func inBlocksAndExact(blocks: [Int]) {
        var noise = SignalNoise(seed: 9)
        let (first, second) = (noise.samples(300), noise.samples(300))
        var (whole, cut) = (first, first)
        var span = whole.mutableSpan
        let end = Signal.crossfade(&span, to: Samples(second.span), position: 0, step: 1 / 256)
        var (position, start) = (0.0, 0)
        inBlocks(&cut, blocks) {
            let part = Samples(second.span.extracting(start..<(start + $0.count)))
            position = Signal.crossfade(&$0, to: part, position: position, step: 1 / 256)
            start += $0.count
        }
        #expect(end == position)
        #expect(largestError(cut, whole.map(Double.init)) <= SignalTolerance.rounding)
        #expect(whole[0] == first[0] && whole[256...].elementsEqual(second[256...]))
    }
}
