import Testing

@testable import SignalBlocks

@Suite struct SignalFaderTests {
    @Test("From 1 to 0 in exactly 512 frames, stereo, ends at exactly 0")
    func stereo() {
        let tone = testTone()
        var (left, right) = (tone, tone)
        var fader = Signal.Fader(1)
        var leftSpan = left.mutableSpan
        var rightSpan = right.mutableSpan
        Signal.applySmoothedGain(0, fader: &fader, to: &leftSpan, &rightSpan)
        let expected = tone.enumerated().map { Double($1) * (1 - Double($0) / 512) }
        #expect(largestError(left, expected) <= SignalTolerance.rounding)
        #expect(left == right)
        #expect(fader.value == 0 && fader.framesLeft == 0)
    }

    @Test("Mono fades alike, and after the ramp the gain stands")
    func mono() {
        let tone = testTone()
        var samples = tone + tone
        var fader = Signal.Fader(1)
        var span = samples.mutableSpan
        Signal.applySmoothedGain(0, fader: &fader, to: &span)
        let expected = tone.enumerated().map { Double($1) * (1 - Double($0) / 512) }
        #expect(largestError(Array(samples[..<512]), expected) <= SignalTolerance.rounding)
        #expect(samples[512...].allSatisfy { $0 == 0 })
        #expect(fader == Signal.Fader(0) || fader.value == 0)
    }

    @Test(
        "A small change takes a 16th of the speed's time, none more than the frames asked for",
        arguments: [(0.05 as Float, 512, 410), (1, 512, 512), (-0.0625, 512, 512), (0.05, 1_114, 892), (0.5, 1, 1)])
    func durations(change: Float, frames: Int, expected: Int) {
        var fader = Signal.Fader(1)
        fader.head(for: 1 - change, frames: frames)
        // The distance of 1 and 0.95 in single precision decides about the last frame.
        #expect(abs(fader.framesLeft - expected) <= (abs(change) == 0.05 ? 1 : 0))
        fader.advance(by: fader.framesLeft)
        #expect(fader.value == 1 - change)
    }

    @Test(
        "The speed decides, up to a limit; 0 and infinity jump",
        arguments: [
            (0.25 as Float, 100, 4), (0.3, 100, 4), (0.001, 100, 100), (0, 100, 0), (.infinity, 100, 0), (0.25, 0, 0),
            (.nan, 100, 0), (-1, 100, 0),
        ])
    func speeds(speed: Float, limit: Int, frames: Int) {
        var samples = [Float](repeating: 1, count: 200)
        var fader = Signal.Fader(0)
        var span = samples.mutableSpan
        Signal.applyGain(1, fader: &fader, speed: speed, limit: limit, to: &span)
        let expected = (0..<200).map { frames == 0 ? 1 : min(Double($0) / Double(frames), 1) }
        #expect(largestError(samples, expected) <= SignalTolerance.rounding)
        #expect(samples[frames...].allSatisfy { $0 == 1 })
    }

    @Test("Blocks of any length give the same bits", arguments: [[1], [7, 64, 0, 3], [511, 2]])
    func inAnyBlocks(blocks: [Int]) {
        var noise = SignalNoise(seed: 5)
        let source = noise.samples(1_500)
        var (whole, cut) = (source, source)
        var (fader, cutFader) = (Signal.Fader(0.9), Signal.Fader(0.9))
        var span = whole.mutableSpan
        Signal.applySmoothedGain(0.123, fader: &fader, frames: 700, to: &span)
        inBlocks(&cut, blocks.filter { $0 > 0 }) {
            Signal.applySmoothedGain(0.123, fader: &cutFader, frames: 700, to: &$0)
        }
        #expect(whole == cut)
        #expect(fader == cutFader)
    }

    @Test("A new target on the way sets out from where the gain is")
    func retargets() {
        var fader = Signal.Fader(0)
        fader.head(for: 1, frames: 100)
        fader.advance(by: 50)
        #expect(fader.value == 0.5)
        fader.head(for: 0, frames: 100)
        #expect(fader.value == 0.5 && fader.framesLeft == 100)
        fader.advance(by: 1_000)
        #expect(fader.value == 0)
        fader.head(for: .nan, frames: 100)
        #expect(fader.value == 0 && fader.target == 0 && fader.framesLeft == 0)
    }

    @Test("a channel added along a fader is the scaled channel, added")
    func accumulates() {
        var noise = SignalNoise(seed: 6)
        let (source, base) = (noise.samples(300), noise.samples(300))
        var fader = Signal.Fader(1)
        fader.head(for: 0.25, frames: 200)
        var scaled = source
        var scaledSpan = scaled.mutableSpan
        Signal.applyGain(along: fader, to: &scaledSpan)
        var sum = base
        var sumSpan = sum.mutableSpan
        Signal.accumulate(Samples(source.span), along: fader, into: &sumSpan)
        #expect(sum == zip(base, scaled).map { $0 + $1 })
    }
}
