import Foundation
import SignalBlocks
import Testing

@Suite struct HalfBandResamplerTests {
    private func raised(_ input: [Float], times: Int, blocks: [Int] = [64]) -> [Float] {
        var resampler = HalfBandResampler(channels: 2, times: times)
        var output: [Float] = []
        var (done, turn) = (0, 0)
        while done < input.count {
            let count = min(blocks[turn % blocks.count], input.count - done)
            for i in 0..<count { resampler.low[i] = input[done + i] }
            resampler.raise(1, frames: count)
            for i in 0..<count * times { output.append(resampler.high[i]) }
            done += count
            turn += 1
        }
        return output
    }

    private func lowered(_ input: [Float], times: Int, padding: Int = 0, blocks: [Int] = [64]) -> [Float] {
        var resampler = HalfBandResampler(channels: 2, times: times, padding: padding)
        var output: [Float] = []
        var (done, turn) = (0, 0)
        while done * times < input.count {
            let count = min(blocks[turn % blocks.count], input.count / times - done)
            for i in 0..<count * times { resampler.high[i] = input[done * times + i] }
            resampler.lower(1, frames: count)
            for i in 0..<count { output.append(resampler.low[i]) }
            done += count
            turn += 1
        }
        return output
    }

    private func decibels(_ samples: [Float], _ frequency: Double, whole: Double) -> Double {
        var (re, im) = (0.0, 0.0)
        for (i, sample) in samples.enumerated() {
            re += Double(sample) * cos(2 * Double.pi * frequency * Double(i))
            im += Double(sample) * sin(2 * Double.pi * frequency * Double(i))
        }
        return 20 * log10((re * re + im * im).squareRoot() / whole + 1e-30)
    }

    @Test("Images are 120 dB down, and the pass band is flat", arguments: [2, 4, 8, 16]) func response(times: Int) {
        var impulse = [Float](repeating: 0, count: 192)
        impulse[0] = 1
        let answer = raised(impulse, times: times)
        // Frequencies in cycles of the lower rate.
        for step in 0...200 {
            let pass = 0.471 * Double(step) / 200
            #expect(abs(decibels(answer, pass / Double(times), whole: Double(times))) < 0.000_2)
            for image in 1...times / 2 {
                let least = Double(image) - 0.471
                let stop = min(least + 0.942 * Double(step) / 200, Double(times) / 2)
                #expect(decibels(answer, stop / Double(times), whole: Double(times)) < -120, "\(stop)")
            }
        }
    }

    @Test("Tones that would fold back are 120 dB down", arguments: [2, 4, 8, 16]) func aliases(times: Int) {
        for frequency in [0.53, 0.61, 0.9, 1.2, 1.43, 2.6, 3.5, 7.7] where frequency < Double(times) / 2 {
            let place = (frequency - frequency.rounded()).magnitude
            let count = 1_000 * times
            let tone = (0..<count).map { i in Float(cos(2 * Double.pi * frequency / Double(times) * Double(i))) }
            let output = lowered(tone, times: times)
            if place < 0.471 { #expect(output[200...].allSatisfy { abs($0) < 1.3e-6 }, "\(frequency)") }
        }
    }

    @Test("There and back is late by the latency and the padding", arguments: [1, 2, 4, 8, 16]) func latency(times: Int)
    {
        let delay = HalfBandResampler.latency(times: times)
        let padding = (times - delay % times) % times
        var impulse = [Float](repeating: 0, count: 320)
        impulse[10] = 1
        let output = lowered(raised(impulse, times: times), times: times, padding: padding)
        let loudest = output.indices.max { output[$0] < output[$1] }
        #expect(loudest == 10 + (delay + padding) / times)
    }

    @Test("The length of the blocks changes nothing", arguments: [2, 8]) func blocks(times: Int) {
        let input = (0..<500).map { Float(sin(Double($0 * $0))) }
        let high = raised(input, times: times)
        let low = lowered(high, times: times, padding: times - 1)
        for blocks in [[1], [7], [64, 3, 20]] {
            #expect(raised(input, times: times, blocks: blocks) == high)
            #expect(lowered(high, times: times, padding: times - 1, blocks: blocks) == low)
        }
    }
}
