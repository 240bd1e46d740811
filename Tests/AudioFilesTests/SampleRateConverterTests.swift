import Foundation
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// Two rates, and what is to be kept between them.
private struct Rates: CustomTestStringConvertible {
    let from: Double, to: Double
    var testDescription: String { "\(from) to \(to) Hz" }
    /// 20 kHz at 44.1 kHz, and as much of lower rates.
    var passBandEnd: Double { min(20_000, 0.4535 * min(from, to)) }
    func count(_ frames: Int) -> Int { SampleRateConverter.frameCount(of: frames, from: from, to: to) }
}

private let rates = [
    Rates(from: 44_100, to: 48_000), Rates(from: 48_000, to: 44_100), Rates(from: 96_000, to: 48_000),
    Rates(from: 48_000, to: 96_000), Rates(from: 192_000, to: 44_100), Rates(from: 8_000, to: 48_000),
    Rates(from: 96_000, to: 44_100), Rates(from: 44_100, to: 44_117.317), Rates(from: 12_345.678, to: 31_415.926),
]

private let amplitude = 0.5

private func sine(_ frequency: Double, rate: Double, frames: Int) -> AudioBlock {
    var block = AudioBlock(channels: 1, frames: frames)
    for n in 0..<frames {
        let cycles = frequency / rate * Double(n)
        block[0, n] = Float(amplitude * sin(2 * Double.pi * (cycles - cycles.rounded())))
    }
    return block
}

private func noise(channels: Int, frames: Int) -> AudioBlock {
    var random = SystemRandomNumberGenerator()
    var block = AudioBlock(channels: channels, frames: frames)
    for channel in 0..<channels {
        for n in 0..<frames { block[channel, n] = Float.random(in: -0.5...0.5, using: &random) }
    }
    return block
}

/// The whole of a block through a converter: what comes out until it says that there is no more.
private func convert(
    _ input: borrowing AudioBlock, with converter: inout SampleRateConverter, pieces: [Int] = [.max]
) -> [[Float]] {
    var result = [[Float]](repeating: [], count: input.channelCount)
    var (consumed, turn) = (0, 0)
    func piece() -> Int {
        turn += 1
        return pieces[turn % pieces.count]
    }
    while true {
        let left = input.frameCount - consumed
        let room = min(piece(), 70_000), offset = room % 3
        var output = AudioBlock(channels: input.channelCount, frames: room + 2 * offset)
        let produced: Int
        if left > 0 {
            let (taken, made) = converter.convert(
                input, from: consumed, frames: min(piece(), left), into: &output, at: offset, room: room)
            consumed += taken
            produced = made
        } else {
            produced = converter.finish(into: &output, at: offset, room: room)
            if produced == 0 { return result }
        }
        for channel in 0..<input.channelCount {
            let all = output.array(channel)
            result[channel] += all[offset..<offset + produced]
            // Nothing is written outside of the place that was given.
            #expect(all[..<offset].allSatisfy { $0 == 0 } && all[(offset + room)...].allSatisfy { $0 == 0 })
        }
    }
}

private func convert(_ input: borrowing AudioBlock, _ rates: Rates, pieces: [Int] = [.max]) -> [[Float]] {
    var converter = SampleRateConverter(from: rates.from, to: rates.to, channels: input.channelCount)
    return convert(input, with: &converter, pieces: pieces)
}

@Suite("SampleRateConverter")
struct SampleRateConverterTests {
    @Test("a sine keeps its level, its time and its purity up to 20 kHz", arguments: rates)
    private func passBand(_ rates: Rates) {
        for part in [0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1] {
            let frequency = rates.passBandEnd * part
            let frames = Int(Double(extent(30_000, inDebug: 12_000)) * max(1, rates.from / rates.to))
            let result = convert(sine(frequency, rate: rates.from, frames: frames), rates)[0]
            #expect(result.count == rates.count(frames))
            let middle = result.count / 3..<2 * result.count / 3
            let fit = SineFit(result[middle], frequency: frequency / rates.to, from: middle.lowerBound)
            #expect(fit.signalToNoise >= 140, "\(frequency) Hz")
            #expect(abs(fit.gain(over: amplitude)) <= 0.1, "\(frequency) Hz")
            // Output frame n lies at input time n · from / to, to a hundred-thousandth of a frame.
            #expect(abs(fit.turns / frequency * rates.from) < 1e-5, "\(frequency) Hz")
        }
    }

    @Test("frequencies that the lower rate cannot carry are gone", arguments: rates.filter { $0.from > $0.to })
    private func stopBand(_ rates: Rates) {
        for part in [0.002, 0.02, 0.1, 0.3, 0.6, 0.95] {
            let frequency = rates.to / 2 + part * (rates.from - rates.to) / 2
            let result = convert(sine(frequency, rate: rates.from, frames: extent(60_000, inDebug: 24_000)), rates)[0]
            let middle = result[(result.count / 3)..<(2 * result.count / 3)]
            let power = middle.reduce(0) { $0 + Double($1) * Double($1) } / Double(middle.count)
            #expect(10 * log10(power * 2) - 20 * log10(amplitude) <= -100, "\(frequency) Hz")
        }
    }

    @Test("a signal has its length times the ratio, rounded up, however short it is", arguments: rates)
    private func lengths(_ rates: Rates) {
        for frames in [0, 1, 2, 3, 10, 147, 160, 1_000] {
            let expected = Int((Double(frames) * rates.to / rates.from).rounded(.up))
            #expect(convert(noise(channels: 1, frames: frames), rates)[0].count == expected)
        }
        // 160 frames at 48 kHz are 147 at 44.1 kHz, and one more frame begins another.
        #expect(SampleRateConverter.frameCount(of: 160, from: 48_000, to: 44_100) == 147)
        #expect(SampleRateConverter.frameCount(of: 161, from: 48_000, to: 44_100) == 148)
    }

    @Test("a signal is there from its first frame to its last")
    func ends() {
        // A bell far longer than the filter, whose ends are cut where it is 2^-60.
        let frames = 4_410
        var bell = AudioBlock(channels: 1, frames: frames)
        for n in 0..<frames { bell[0, n] = Float(exp2(-60 * pow(2 * Double(n) / Double(frames) - 1, 2))) }
        let result = convert(bell, Rates(from: 44_100, to: 48_000))[0]
        var worst = 0.0
        for (n, sample) in result.enumerated() {
            let x = 2 * Double(n) * 44_100 / 48_000 / Double(frames) - 1
            worst = max(worst, abs(Double(sample) - exp2(-60 * x * x)))
        }
        #expect(result.count == 4_800 && worst < 1e-6)
    }

    @Test("the length of the blocks changes nothing, bit for bit", arguments: rates)
    private func blocks(_ rates: Rates) {
        let input = noise(channels: 2, frames: 5_000)
        let whole = convert(input, rates)
        for pieces in [[1_000], [64], [7, 100, 3, 1_000], [4_999, 1]] {
            #expect(convert(input, rates, pieces: pieces) == whole)
        }
    }

    @Test("reset repeats, bit for bit, and lets a stream begin after the end of another")
    func reset() {
        let input = noise(channels: 2, frames: 3_000)
        var converter = SampleRateConverter(from: 44_100, to: 48_000, channels: 2)
        let first = convert(input, with: &converter)
        #expect(converter.isFinishing && converter.remainingCount == 0)
        #expect(converter.consumedCount == 3_000 && converter.producedCount == 3_266)
        converter.reset()
        #expect(!converter.isFinishing && converter.producedCount == 0)
        #expect(convert(input, with: &converter) == first)
        // Also in the middle of a stream.
        converter.reset()
        var output = AudioBlock(channels: 2, frames: 1_000)
        _ = converter.convert(input, into: &output)
        converter.reset()
        #expect(convert(input, with: &converter) == first)
    }

    @Test("equal rates copy, bit for bit", arguments: [1, 44_100, 12_345.678, 1_000_000])
    func equalRates(rate: Double) {
        let input = noise(channels: 3, frames: 1_000)
        let result = convert(input, Rates(from: rate, to: rate), pieces: [100, 7, 33])
        for channel in 0..<3 { #expect(result[channel] == input.array(channel)) }
    }

    @Test("channels do not hear each other", arguments: [1, 2, 3, 64])
    func channels(count: Int) {
        let frames = 2_000
        var input = AudioBlock(channels: count, frames: frames)
        let one = noise(channels: 1, frames: frames)
        // Powers of two keep every bit of what they scale.
        func powerOfTwo(_ channel: Int) -> Float { Float(sign: .plus, exponent: -(channel % 7), significand: 1) }
        for channel in 0..<count {
            for n in 0..<frames { input[channel, n] = one[0, n] * powerOfTwo(channel) }
        }
        let result = convert(input, Rates(from: 48_000, to: 44_100))
        for channel in 0..<count {
            #expect(result[channel] == result[0].map { $0 * powerOfTwo(channel) })
        }
    }

    @Test("silence stays silent", arguments: rates)
    private func silence(_ rates: Rates) {
        let result = convert(AudioBlock(channels: 2, frames: 3_000), rates)
        #expect(result.allSatisfy { $0.allSatisfy { $0 == 0 } })
    }

    @Test(
        "rates at the ends of the range are converted: a constant stays one",
        arguments: [
            Rates(from: 1, to: 1_000), Rates(from: 1_000, to: 1), Rates(from: 999_983, to: 999_979),
            Rates(from: 1_000_000, to: 8_000), Rates(from: 8_000, to: 1_000_000), Rates(from: 44_100, to: 44_100.001),
            Rates(from: 3.14159, to: 2.71828),
        ])
    private func extremes(_ rates: Rates) {
        let frames = rates.from > 100 * rates.to ? 400_000 : rates.to > 100 * rates.from ? 400 : 4_000
        var input = AudioBlock(channels: 1, frames: frames)
        for n in 0..<frames { input[0, n] = 0.5 }
        let result = convert(input, rates)[0]
        #expect(result.count == rates.count(frames))
        let middle = result[(result.count * 2 / 5)..<(result.count * 3 / 5)]
        #expect(!middle.isEmpty && middle.allSatisfy { abs($0 - 0.5) < 2e-6 })
    }

    @Test("a very wide ratio begins and ends", arguments: [Rates(from: 1, to: 1e6), Rates(from: 1e6, to: 50)])
    private func widest(_ rates: Rates) {
        var converter = SampleRateConverter(from: rates.from, to: rates.to, channels: 1)
        let input = noise(channels: 1, frames: 10)
        var output = AudioBlock(channels: 1, frames: 500)
        var consumed = 0
        while consumed < 10 {
            let (taken, made) = converter.convert(input, from: consumed, into: &output)
            #expect(taken + made > 0)
            consumed += taken
        }
        if rates.to == 50 { #expect(converter.finish(into: &output) == 1 && converter.finish(into: &output) == 0) }
        #expect(rates.count(10) == (rates.to == 50 ? 1 : 10_000_000))
    }

    @Test(
        "a better quality errs less",
        arguments: [(SampleRateConverter.Quality.standard, 141.0), (.best, 147)])
    func qualities(quality: SampleRateConverter.Quality, decibels: Double) {
        var converter = SampleRateConverter(from: 44_100, to: 48_000, channels: 1, quality: quality)
        let result = convert(sine(9_999, rate: 44_100, frames: 30_000), with: &converter)[0]
        let fit = SineFit(result[10_000..<20_000], frequency: 9_999 / 48_000, from: 10_000)
        #expect(fit.signalToNoise >= decibels)
    }

    @Test("a whole block is converted elsewhere, and is what the parts are")
    func wholeBlock() async throws {
        let input = noise(channels: 2, frames: 150_000)
        let result = try await input.converted(from: 44_100, to: 48_000)
        let expected = convert(input, Rates(from: 44_100, to: 48_000))
        #expect(result.frameCount == 163_266)
        for channel in 0..<2 { #expect(result.array(channel) == expected[channel]) }
        let same = try await input.converted(from: 48_000, to: 48_000)
        #expect(same.array(1) == input.array(1))
    }

    @Test("a cancelled conversion ends")
    func cancelled() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            let input = AudioBlock(channels: 1, frames: 100_000)
            return try await input.converted(from: 44_100, to: 48_000).frameCount
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("the converter refuses channels that cannot be, and blocks that do not fit")
    func misuse() async {
        await #expect(processExitsWith: .failure) {
            var converter = SampleRateConverter(from: 44_100, to: 48_000, channels: 1)
            var block = AudioBlock(channels: 1, frames: 8)
            _ = converter.finish(into: &block)
            _ = converter.convert(AudioBlock(channels: 1, frames: 8), into: &block)
        }
        await #expect(processExitsWith: .failure) { _ = SampleRateConverter(from: 1, to: 2, channels: 65).quality }
        await #expect(processExitsWith: .failure) {
            var converter = SampleRateConverter(from: 1, to: 2, channels: 2), mono = AudioBlock(channels: 1, frames: 9)
            _ = converter.finish(into: &mono)
        }
    }
}
