import Foundation
import RenderStack
import TestSupport
import Testing

/// The attack of a ``Limiter``: how fast the gain goes down within the look-ahead.
@Suite struct LimiterAttackTests {
    private func play(_ limiter: Limiter, _ input: [[Float]]) throws -> [[Float]] {
        try LimiterTests().play(limiter, input)
    }

    @Test(
        "The gain goes down in two boxes as long as the attack, right before the peak",
        arguments: [1, 2, 7, 48, 239, 240])
    func course(frames: Int) throws {
        let attack = Float(frames) / 48_000
        let limiter = Limiter(ceiling: 0, release: 10, attack: attack, isTruePeak: false)
        var input = [Float](repeating: 0.1, count: 4_000)
        input[1_000] = 4
        let output = try play(limiter, [input])[0]
        let peak = 1_000 + limiter.latency(at: 48_000)
        #expect(abs(output[peak] - 1) < 1e-5)
        // How much of the trapezoid of the weights has passed in a frame: the convolution of two boxes, summed up.
        let (one, two) = ((frames + 1) / 2, frames - (frames + 1) / 2 + 1)
        var weights = [Double](repeating: 0, count: frames)
        for i in 0..<one { for j in 0..<two { weights[i + j] += 1 / Double(one * two) } }
        for frame in 0..<peak - 240 where frame > 300 { #expect(output[frame] == 0.1) }
        for frame in peak - 300..<peak {
            let passed = frame - (peak - frames) - 1
            let gone = passed < 0 ? 0 : weights[...passed].reduce(0, +)
            #expect(abs(Double(output[frame]) - 0.1 * (1 - 0.75 * gone)) < 1e-6, "\(frame - peak)")
        }
    }

    @Test("An attack as long as the look-ahead, or longer, is the look-ahead, bit for bit") func whole() throws {
        for lookAhead in [0.001, 0.0051, 0.0123] {
            for isTruePeak in [true, false] {
                let input = LimiterTests.Signal.random.samples(12_000)
                let plain = Limiter(lookAhead: lookAhead, isTruePeak: isTruePeak)
                let longer = Limiter(lookAhead: lookAhead, attack: 0.02, isTruePeak: isTruePeak)
                #expect(try play(plain, input) == play(longer, input))
                #expect(plain.latency(at: 44_100) == longer.latency(at: 44_100))
            }
        }
    }

    @Test("The smoother has the sums of two boxes, bit for bit, and they stay when its length changes") func smoother()
    {
        var random = SplitMix(state: 5)
        for length in [1, 2, 3, 64, 240, 481] {
            let (one, two) = ((length + 1) / 2, length - (length + 1) / 2 + 1)
            var first = BoxSmoother(count: one, rest: 1 << 36)
            var second = BoxSmoother(count: two, rest: (1 << 36) * Int64(one))
            var smoother = TrapezoidSmoother(window: length, rest: 1 << 36)
            let (shape, short) = (
                TrapezoidSmoother.Shape(length, of: length), TrapezoidSmoother.Shape((length + 1) / 2, of: length)
            )
            for i in 0..<5_000 {
                let value = Int64.random(in: 0...1 << 36, using: &random)
                let expected = second.add(first.add(value))
                // A number that is weighed otherwise in between leaves no trace.
                let found = smoother.add(value, i % 7 == 3 ? short : shape)
                if i % 7 != 3 && found != expected {
                    Issue.record("length \(length): \(i)")
                    return
                }
            }
            #expect(shape.scale == 1 / Double(one * two))
        }
    }

    @Test("A true peak is at most 0.1 dB over the ceiling with each attack", arguments: LimiterTests.Signal.allCases)
    func ceiling(signal: LimiterTests.Signal) throws {
        let frames = extent(24_000, inDebug: 6_000)
        for attack: Float in [0, 0.0025] {
            let limiter = Limiter(ceiling: -1, lookAhead: 0.005, attack: attack)
            let over = TruePeak.decibels(try play(limiter, [signal.samples(frames)[0]])[0]) + 1
            #expect(over <= 0.1, "\(attack) s: \(over) dB")
        }
    }

    @Test("And while the attack moves", arguments: LimiterTests.Signal.allCases)
    func moving(signal: LimiterTests.Signal) throws {
        let frames = extent(24_000, inDebug: 6_000)
        let limiter = Limiter(ceiling: -1, lookAhead: 0.01)
        let renderer = try LimiterTests().renderer(limiter, [signal.samples(frames)[0]])
        for i in 1..<14 {
            try renderer.transaction(at: .sample(Int64(1_100 * i))) { limiter.attack.value = i % 2 == 1 ? 0 : 0.01 }
        }
        let over = TruePeak.decibels(render(renderer, frames: frames)[0]) + 1
        #expect(over <= 0.1, "\(over) dB")
    }
}
