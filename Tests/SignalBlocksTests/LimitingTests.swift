import CKernels
import TestSupport
import Testing

@testable import SignalBlocks

@Suite struct LimitingTests {
    @Test("The sliding minimum is the lowest of the last numbers", arguments: [1, 2, 3, 7, 64, 257])
    func minimum(count: Int) {
        var random = SplitMix(state: 3)
        var minimum = SlidingMinimum(count: count, rest: 1)
        for _ in 1...2 {
            let values = (0..<1_500).map { _ in Float.random(in: 0...1.5, using: &random) }
            let padded = [Float](repeating: 1, count: count - 1) + values
            for i in values.indices {
                #expect(minimum.add(values[i]) == padded[i..<(i + count)].min())
            }
            minimum.reset()
        }
    }

    @Test("The box smoother adds up the last numbers, exactly and forever", arguments: [1, 2, 240, 1_000])
    func box(count: Int) {
        var random = SplitMix(state: 4)
        var box = BoxSmoother(count: count, rest: 5)
        #expect(box.add(5) == 5 * Int64(count))
        var last = [Int64](repeating: 5, count: count)
        for i in 0..<100_000 {
            let value = Int64.random(in: 0...(1 << 45), using: &random)
            last[i % count] = value
            let sum = box.add(value)
            if i % 997 == 0 { #expect(sum == last.reduce(0, +)) }
        }
        box.reset()
        #expect(box.add(6) == 5 * Int64(count) + 1)
    }

    private func last(_ count: Int, of history: borrowing SampleHistory, before end: Int) -> [Float] {
        let row = history.samples(1)
        var samples: [Float] = []
        for i in (end - count)..<end { samples.append(row[i]) }
        return samples
    }

    @Test("A history keeps its frames in a row, whatever the lengths of the slices")
    func history() {
        var history = SampleHistory(channels: 2, past: 50, maximumFrameCount: 40, slack: 8)
        var random = SplitMix(state: 5)
        var heard = [Float](repeating: 0, count: 50)
        for turn in 0..<400 {
            let count = Int.random(in: 0...40, using: &random)
            let fresh = (0..<count).map { Float(heard.count + $0) }
            history.makeRoom(count)
            history.write(Samples(fresh.span), count: count, in: 1)
            history.writeSilence(count: count, in: 0)
            heard += fresh
            #expect(last(50 + count, of: history, before: history.position + count) == Array(heard.suffix(50 + count)))
            history.advance(count)
            if turn == 200 {
                history.reset()
                heard = [Float](repeating: 0, count: 50)
            }
        }
    }

    /// The peaks of samples, in runs of changing lengths.
    private func peaks(_ samples: [Float], runs: [Int]) -> (peaks: [Float], mayExceed: [Bool]) {
        let past = TruePeakFinder.past + TruePeakFinder.delay
        var history = SampleHistory(channels: 1, past: past, maximumFrameCount: 512, slack: 64)
        var finder = TruePeakFinder(maximumFrameCount: 512)
        var memory = RenderMemory<Float>(repeating: 0, count: 512)
        var found: [Float] = []
        var may: [Bool] = []
        var (done, turn) = (0, 0)
        while done < samples.count {
            let count = min(runs[turn % runs.count], samples.count - done)
            history.makeRoom(count)
            history.write(Samples(samples.span), from: done, count: count, in: 0)
            for i in 0..<count { memory[i] = 0 }
            let first = history.position - TruePeakFinder.delay
            finder.find(history, from: first, count: count, into: &memory)
            let exceeds = finder.mayExceed(history, from: first, count: count, level: 1)
            for i in 0..<count {
                found.append(memory[i])
                may.append(exceeds)
            }
            history.advance(count)
            done += count
            turn += 1
        }
        return (found, may)
    }

    @Test("Of a sine it finds the peak, wherever its samples are", arguments: [0.01, 0.1, 0.25, 0.4, 0.45, 0.47])
    func sines(frequency: Double) {
        for phase in [0.0, 0.1, 0.25] {
            let samples = (0..<2_000).map { Float(RenderMath.sin(2 * .pi * (frequency * Double($0) + phase))) }
            let highest = peaks(samples, runs: [512]).peaks[500...].max() ?? 0
            let decibels = Double(RenderMath.decibels(amplitude: highest))
            // At eight times the rate a sample is at most a sixteenth of a period of the rate away from the top.
            let grid = 20 * RenderMath.log(RenderMath.cos(.pi * frequency / 8)) / RenderMath.log(10)
            #expect(decibels < 0.05 && decibels > grid - 0.05, "\(decibels) dB")
        }
    }

    @Test("The length of the runs changes nothing, and a bound is one") func runs() {
        var random = SplitMix(state: 8)
        let samples = (0..<6_000).map { i -> Float in
            Float.random(in: -1...1, using: &random) * (i / 700 % 2 == 0 ? 1 : 0.15)
        }
        let reference = peaks(samples, runs: [512])
        // A run that the bound calls harmless has no peak above 1.
        let bounded = peaks(samples, runs: [32])
        #expect(zip(bounded.peaks, bounded.mayExceed).allSatisfy { $0 <= 1 || $1 })
        #expect(bounded.mayExceed.contains(false) && bounded.mayExceed.contains(true))
        for runs in [[1], [7], [32], [100], [3, 500, 1, 64, 17]] {
            #expect(peaks(samples, runs: runs).peaks == reference.peaks, "\(runs)")
        }
        // It comes late by what it says, and samples themselves are peaks.
        #expect((0..<5_000).allSatisfy { reference.peaks[$0 + TruePeakFinder.delay] >= abs(samples[$0]) })
    }

    @Test("A sample that is not a number is no peak") func notANumber() {
        var samples = [Float](repeating: 0.5, count: 1_000)
        samples[400] = .nan
        #expect(peaks(samples, runs: [100]).peaks.allSatisfy { $0 < 0.6 })
        samples[400] = .infinity
        #expect(peaks(samples, runs: [100]).peaks.contains(.infinity))
    }
}

extension KernelTests {
    @Test("The places between samples are plain sums, the same bits with vectors of every length") func places() {
        let (weights, samples) = (Self.noise(128, seed: 5), Self.noise(1_000, seed: 6))
        let (places, halves) = (Self.noise(24, seed: 7), Self.noise(1_000, seed: 8))
        for count in Self.lengths {
            let ofHalves = (0..<count).map { i -> Float in
                var sum: Float = 0
                for r in 0..<16 {
                    for k in stride(from: r, to: 128, by: 16) {
                        sum += weights[k] * (samples[199 + i - k] + samples[200 + i + k])
                    }
                }
                return sum
            }
            let ofPlaces = (0..<count).map { i -> Float in
                var peak = max(0.5, max(abs(samples[200 + i]), abs(halves[200 + i])))
                for first in 0..<2 {
                    let near = (0..<8).map { n -> Float in
                        // Halves and samples in turn, from the half behind the sample before the last one on.
                        let place = n + first + 1
                        let at = 198 + i + place / 2
                        return place % 2 == 1 ? halves[at] : samples[at]
                    }
                    for place in 0..<3 {
                        let terms = (0..<8).map { near[$0] * places[8 * place + $0] }
                        let low: Float = (terms[0] + terms[1]) + (terms[2] + terms[3])
                        let high: Float = (terms[4] + terms[5]) + (terms[6] + terms[7])
                        peak = max(peak, abs(low + high))
                    }
                }
                return peak
            }
            eachForm {
                var found = [Float](repeating: 0, count: count + 32)
                samples.withUnsafeBufferPointer { kernel_halves(weights, $0.baseAddress! + 200, &found, count) }
                #expect(Array(found[..<count]) == ofHalves)
                found = [Float](repeating: 0.5, count: count + 32)
                samples.withUnsafeBufferPointer { samples in
                    halves.withUnsafeBufferPointer { halves in
                        kernel_peaks(places, samples.baseAddress! + 200, halves.baseAddress! + 200, &found, count)
                    }
                }
                #expect(Array(found[..<count]) == ofPlaces)
            }
        }
    }
}
