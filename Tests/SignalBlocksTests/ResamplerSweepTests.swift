import Foundation
import TestSupport
import Testing

@testable import SignalBlocks

/// Tests of the audible qualities: levels, times, purity. The figures of all frequencies are in the article "Sample
/// rates".
@Suite("Resampler, measured")
struct ResamplerSweepTests {
    @Test("a sine keeps its level, its time and its purity up to 20 kHz", arguments: resamplerRatios)
    func passBand(_ ratio: ResamplerRatio) {
        var resampler = Resampler(channels: 1, steps: ratio.step...ratio.step)
        for part in [0.02, 0.3, 0.7, 0.95, 1] {
            let frequency = ratio.passBandEnd * part
            let skipped = 60 + Int(Double(resampler.lookAhead) / ratio.step)
            let input = sineBlock(frequency / ratio.from, frames: Int(Double(skipped + 1_500) * ratio.step) + 500)
            resampler.reset()
            let result = pullFrames(skipped + 1_000, from: input, with: &resampler, at: .init(ratio.step))[0]
            let fit = SineFit(result[skipped...], frequency: frequency / ratio.to, from: skipped)
            #expect(fit.signalToNoise >= 130, "\(frequency) Hz")
            #expect(abs(fit.gain(over: resamplerAmplitude)) <= 0.01, "\(frequency) Hz")
            // Output frame n lies at input time n · step, to a hundred-thousandth of a frame.
            #expect(abs(fit.turns / frequency * ratio.from) < 1e-5, "\(frequency) Hz")
        }
    }

    @Test("what the lower rate cannot carry is gone", arguments: resamplerRatios.filter { $0.from > $0.to })
    func stopBand(_ ratio: ResamplerRatio) {
        var resampler = Resampler(channels: 1, steps: ratio.step...ratio.step)
        for part in [0.0, 0.01, 0.1, 0.4, 0.95] {
            let frequency = ratio.to / 2 + part * (ratio.from - ratio.to) / 2
            resampler.reset()
            let skipped = 60 + Int(Double(resampler.lookAhead) / ratio.step)
            let input = sineBlock(frequency / ratio.from, frames: Int(Double(skipped + 1_000) * ratio.step) + 500)
            let result = pullFrames(skipped + 600, from: input, with: &resampler, at: .init(ratio.step))[0]
            let power = result[skipped...].reduce(0) { $0 + Double($1) * Double($1) } / 600
            #expect(10 * log10(power * 2) - 20 * log10(resamplerAmplitude) <= -100, "\(frequency) Hz")
        }
    }

    @Test("the images that a higher rate shows are gone")
    func images() {
        // 15 kHz at 44.1 kHz has images at 29.1, 59.1, 73.2 kHz; at 192 kHz they would be there.
        let step = 44_100.0 / 192_000
        var resampler = Resampler(channels: 1, steps: step...step)
        let input = sineBlock(15_000 / 44_100, frames: 2_000)
        let result = pullFrames(4_000, from: input, with: &resampler, at: .init(step))[0]
        let tone = SineFit(result[1_000...], frequency: 15_000 / 192_000, from: 1_000)
        let rest = (1_000..<4_000).map { (i: Int) -> Float in
            result[i] - Float(tone.amplitude * turnSine(15_000 / 192_000 * Double(i) + tone.turns))
        }
        for image in [29_100.0, 59_100, 73_200] {
            let fit = SineFit(rest, frequency: image / 192_000, from: 1_000)
            #expect(fit.gain(over: resamplerAmplitude) <= -135, "\(image) Hz")
        }
    }

    @Test("A sine whose speed glides from a quarter to four is a sine at every frame, without a click")
    func varispeed() {
        let glide = Glide(from: 0.25, to: 4, elapsed: 0, length: 1_500, isExponential: true)
        let input = sineBlock(0.05, frames: 6_000)
        var resampler = Resampler(channels: 1, steps: 0.25...4)
        let result = pullFrames(2_000, from: input, with: &resampler, at: .init(glide, times: 1))[0]
        var (position, worst) = (0.0, 0.0)
        for (n, sample) in result.enumerated() {
            // Before the reach of the filter there is the sine's sudden start.
            if position > Double(resampler.lookAhead) {
                worst = max(worst, abs(Double(sample) - resamplerAmplitude * turnSine(0.05 * position)))
            }
            position += Double(glide[n])
        }
        // Below a quarter of the sample rate's half, a speed of 4 keeps it within the ripple of 0.007 dB.
        #expect(worst < 1e-3 * resamplerAmplitude)
    }

    @Test("what varispeed folds down lies in the highest eighth of the band", arguments: [1.03, 1.06, 1.3, 1.9, 3.7])
    func varispeedAliases(step: Double) {
        var resampler = Resampler(channels: 1, steps: 0.25...4)
        // In parts of half of the output's rate: all of these fold to below seven eighths of it.
        for part in [1.13, 1.2, 1.5] where part * 0.5 / step < 0.5 {
            resampler.reset()
            let input = sineBlock(part * 0.5 / step, frames: 4_000)
            let result = pullFrames(900, from: input, with: &resampler, at: .init(step))[0]
            let power = result[500...].reduce(0) { $0 + Double($1) * Double($1) } / 400
            #expect(10 * log10(power * 2) - 20 * log10(resamplerAmplitude) <= -100, "\(part)")
        }
    }

    @Test("latency is what was asked for: output n is the input at (n - latency) · step")
    func latency() {
        let step = 44_100.0 / 48_000
        var resampler = Resampler(channels: 1, steps: step...step)
        #expect(resampler.lookAhead == 56 && resampler.latency(at: step) == 61)
        let input = sineBlock(0.1, frames: 2_000)
        for latency in [0, 1, 30, 61] {
            resampler.reset(latency: latency, at: step)
            let before = Int((Double(latency) * step).rounded(.up))
            #expect(resampler.framesNeeded(for: 1, at: .init(step)) == max(0, 57 - before))
            let result = pullFrames(1_200, from: input, with: &resampler, at: .init(step))[0]
            let fit = SineFit(result[200...], frequency: 0.1 * step, from: 200 - latency)
            #expect(abs(fit.turns / 0.1) < 1e-5, "\(latency)")
        }
        // With all of the latency no frame of input is wanted before its time.
        resampler.reset(latency: 61, at: step)
        #expect(resampler.framesNeeded(for: 48_000, at: .init(step)) <= 44_100)
        #expect(abs(resampler.lead - 61 * step) < 1e-9)
    }

    @Test("a month does not move it")
    func drift() {
        for (from, to) in [(44_100.0, 48_000.0), (48_000, 44_100), (44_100, 44_117.317), (1, 3)] {
            let frames = 30 * 86_400 * 48_000
            let distance = Resampler.Distance(from / to).times(frames)
            // 128-bit integers: from · frames / to where the rates are whole numbers of thousandths.
            let exact = (Int128(from * 1_000) * Int128(frames) << 20) / Int128((to * 1_000).rounded())
            let found = Int128(distance.whole) << 20 + Int128(distance.fraction >> 44)
            // In 2^-20 of a frame. A Double's ratio errs by 2^-54, which is 2^-14 of a frame in a month.
            #expect(abs(found - exact) <= 64)
        }
        // One after the other is the same as all at once.
        var sum = Resampler.Distance(0)
        for _ in 0..<12_345 { sum += Resampler.Distance(1.0884) }
        let product = Resampler.Distance(1.0884).times(12_345)
        #expect(sum.whole == product.whole && sum.fraction == product.fraction)
    }
}
