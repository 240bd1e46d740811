import Glibc
import Testing

@testable import SignalBlocks

@Suite struct SignalRampTests {
    @Test("A ramp from 1 to 0 over 512 frames, against a naive loop")
    func fadesOut() {
        let tone = testTone()
        var samples = tone
        var span = samples.mutableSpan
        let end = Signal.applyRamp(from: 1, step: -1 / 512, to: &span)
        #expect(end == 0)
        let expected = tone.enumerated().map { Double($1) * (1 - Double($0) / 512) }
        #expect(largestError(samples, expected) <= SignalTolerance.rounding)
    }

    @Test("Every length and alignment, in and out of place")
    func everyLength() {
        let line = { (i: Int) in 0.3 + 0.0007 * Double(i) }
        #expect(
            largestErrorInPlace(
                seed: 1, { Signal.applyRamp(from: 0.3, step: 0.0007, to: &$0) }, expecting: { $1 * line($0) })
                <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 2, { first, _, output in Signal.applyRamp(from: 0.3, step: 0.0007, to: first, into: &output) },
                lengthOfSecondCounts: false, expecting: { i, first, _, _ in first * line(i) })
                <= SignalTolerance.rounding)
    }

    @Test("Cut into blocks of any length, 1 too, a ramp is the same", arguments: [[1], [64, 3, 17]])
    func inAnyBlocks(blocks: [Int]) {
        // A step that no binary fraction holds, over more frames than rounding per block would forgive.
        let tone = [Float](repeating: 1, count: 20_000)
        let step = 1 / 20_001.0
        var (whole, cut, wholePower, cutPower) = (tone, tone, tone, tone)
        var span = whole.mutableSpan
        let end = Signal.applyRamp(from: 0, step: step, to: &span)
        var powerSpan = wholePower.mutableSpan
        let powerEnd = Signal.applyEqualPowerRamp(from: 0, step: step, to: &powerSpan)
        var (position, powerPosition) = (0.0, 0.0)
        inBlocks(&cut, blocks) { position = Signal.applyRamp(from: position, step: step, to: &$0) }
        inBlocks(&cutPower, blocks) {
            powerPosition = Signal.applyEqualPowerRamp(from: powerPosition, step: step, to: &$0)
        }
        #expect(abs(end - position) < 1e-9 && abs(powerEnd - powerPosition) < 1e-9)
        #expect(largestError(cut, whole.map(Double.init)) <= SignalTolerance.rounding)
        #expect(largestError(cutPower, wholePower.map(Double.init)) <= SignalTolerance.rounding)
    }

    @Test("An equal-power ramp follows a quarter of a sine, in and out of place")
    func equalPower() {
        let curve = { (i: Int) in sin(min(max(-0.05 + 0.0013 * Double(i), 0), 1) * .pi / 2) }
        #expect(
            largestErrorInPlace(
                seed: 3, { Signal.applyEqualPowerRamp(from: -0.05, step: 0.0013, to: &$0) },
                expecting: { $1 * curve($0) }) <= SignalTolerance.rounding)
        #expect(
            largestErrorOutOfPlace(
                seed: 4,
                { first, _, output in
                    Signal.applyEqualPowerRamp(from: -0.05, step: 0.0013, to: first, into: &output)
                },
                lengthOfSecondCounts: false, expecting: { i, first, _, _ in first * curve(i) })
                <= SignalTolerance.rounding)
    }

    @Test("The output is what is written, the input is not touched")
    func keepsItsInput() {
        let source = testTone()
        let before = source
        var output = [Float](repeating: 9, count: 512)
        var span = output.mutableSpan
        Signal.applyEqualPowerRamp(from: 1, step: -1 / 512, to: Samples(source.span), into: &span)
        #expect(source == before)
        #expect(
            largestError(output, before.enumerated().map { Double($1) * sin((1 - Double($0) / 512) * .pi / 2) })
                <= SignalTolerance.rounding)
    }

    @Test("0 and 1 are exact, nothing is above 1, opposite gains keep the power")
    func quarterSine() {
        let (errorLimit, powerLimit) = (2e-7, 5e-7)
        #expect(Signal.quarterSine(0) == 0 && Signal.quarterSine(1) == 1)
        #expect(Signal.quarterSine(-3) == 0 && Signal.quarterSine(3) == 1)
        var (error, power, above) = (0.0, 0.0, 0)
        for i in 0...100_000 {
            let x = Float(i) / 100_000
            let gain = Signal.quarterSine(x), opposite = Signal.quarterSine(1 - x)
            error = max(error, abs(Double(gain) - sin(Double(x) * .pi / 2)))
            power = max(power, abs(Double(gain * gain + opposite * opposite) - 1))
            above += gain > 1 ? 1 : 0
        }
        #expect(error <= errorLimit && power <= powerLimit && above == 0)
    }
}
