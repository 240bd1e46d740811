import CKernels
import Foundation
import TestSupport
import Testing

@testable import SignalBlocks

@Suite struct RatioResamplerTests {
    private struct Ratio: CustomTestStringConvertible {
        let up: Int, down: Int
        var testDescription: String { "\(up) for \(down)" }
        func count(_ frames: Int) -> Int { (frames * up + down - 1) / down }
    }
    private struct Refused: Error {}
    private static let ratios: [Ratio] = [
        Ratio(up: 160, down: 147), Ratio(up: 147, down: 160), Ratio(up: 2, down: 1), Ratio(up: 6, down: 1),
        Ratio(up: 320, down: 147), Ratio(up: 3, down: 2), Ratio(up: 1, down: 1),
    ]

    private func noise(_ frames: Int, seed: UInt64 = 1) -> [Float] {
        var state = seed
        return (0..<frames).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Float(Int32(truncatingIfNeeded: state >> 32)) * 0x1p-32
        }
    }

    /// The whole of a signal, in pieces of these lengths. As pairs, its samples are multiples of 1/32,768.
    private func convert(
        _ channels: [[Float]], _ ratio: Ratio, pieces: [Int] = [4_096], asPairs: Bool = false
    ) throws -> [[Float]] {
        let input = AudioBlock(asPairs ? [zip(channels[0], channels[1]).map(pair)] : channels)
        guard var resampler = RatioResampler(up: ratio.up, down: ratio.down, channels: channels.count) else {
            throw Refused()
        }
        let wanted = ratio.count(input.frameCount)
        let output = AudioBlock(channels: channels.count, frames: wanted)
        var (consumed, produced, turn) = (0, 0, 0)
        while consumed < input.frameCount {
            let frames = min(pieces[turn % pieces.count], input.frameCount - consumed)
            let room = min(pieces[(turn + 1) % pieces.count], wanted - produced)
            let (taken, made) = unsafe resampler.convert(
                input, isPairs: asPairs, from: consumed, frames: frames, into: output.pointers, at: produced,
                room: room)
            consumed += taken
            produced += made
            turn += 1
        }
        unsafe resampler.finish(into: output.pointers, at: produced, room: wanted - produced)
        return (0..<channels.count).map { output.array($0) }
    }

    /// Two integers of 16 bits in the place of a sample, the left one first.
    private func pair(_ left: Float, _ right: Float) -> Float {
        let integers = SIMD2<Int16>(Int16(left * 32_768), Int16(right * 32_768))
        return Float(bitPattern: unsafe unsafeBitCast(integers, to: UInt32.self))
    }

    @Test("output frames are the filter's sum at their times, in double precision", arguments: ratios)
    private func sums(_ ratio: Ratio) throws {
        let input = noise(6_000)
        let output = try convert([input], ratio)[0]
        let table = RatioTable.table(up: ratio.up, down: ratio.down)
        let half = table.halfLength
        var worst = 0.0
        for frame in Swift.stride(from: 0, to: output.count, by: 7) {
            let time = frame * ratio.down
            var sum = 0.0
            for tap in 0..<2 * half {
                let place = time / ratio.up - half + 1 + tap
                guard input.indices.contains(place) else { continue }
                let index = table.index(row: time % ratio.up, tap: tap)
                let weight = Double(unsafe table.coefficients.base[index])
                sum += weight * Double(input[place])
            }
            worst = max(worst, abs(sum - Double(output[frame])))
        }
        // The rest is the rounding of two sums of 72; in one sum of 144 it was more than twice as much.
        #expect(worst < 2.5e-7)
    }

    @Test("sines keep level, time and purity to 20 of 44.1 kHz", arguments: ratios)
    private func sines(_ ratio: Ratio) throws {
        let turnsPerFrame = 0.4535 * min(1, Double(ratio.up) / Double(ratio.down))
        for part in [0.01, 0.3, 0.8, 1] {
            let turns = turnsPerFrame * part
            let input = (0..<8_000).map { (frame: Int) -> Float in
                Float(0.5 * sin(2 * Double.pi * turns * Double(frame)))
            }
            let output = try convert([input], ratio)[0]
            var (signal, noise) = (0.0, 0.0)
            for frame in output.count / 3..<2 * output.count / 3 {
                let time = Double(frame * ratio.down) / Double(ratio.up)
                let expected: Double = 0.5 * sin(2 * Double.pi * turns * time)
                let error = Double(output[frame]) - expected
                signal += expected * expected
                noise += error * error
            }
            // Its ripple counts as noise here: 95 dB are ±0.0001 dB.
            #expect(10 * log10(signal / noise) > 90, "\(turns)")
        }
    }

    @Test("what lies beyond half of the lower rate is gone: images, or what would fold back", arguments: ratios)
    private func stopBand(_ ratio: Ratio) throws {
        if ratio.up == ratio.down { return }
        // Going up, the response of all rows together is that of the prototype at the higher rate.
        let table = RatioTable.table(up: ratio.up, down: ratio.down)
        let half = table.halfLength
        let edge = 0.5 * min(1, Double(ratio.up) / Double(ratio.down))
        for turns in [edge * 1.001, edge * 1.03, edge * 1.3, edge * 2.7] {
            var (real, imaginary) = (0.0, 0.0)
            for row in 0..<ratio.up {
                for tap in 0..<2 * half {
                    let time = Double(row) / Double(ratio.up) + Double(half - 1 - tap)
                    let value = Double(unsafe table.coefficients.base[table.index(row: row, tap: tap)])
                    let angle = 2 * Double.pi * turns * time
                    real += value * cos(angle)
                    imaginary += value * sin(angle)
                }
            }
            let power = (real * real + imaginary * imaginary) / Double(ratio.up * ratio.up)
            let level = 10 * log10(power)
            // With two places a frame there are images that no filter at these places can tell from the signal.
            if turns < 0.5 * Double(ratio.up) { #expect(level < -105, "\(turns)") }
        }
    }

    @Test("how it is cut changes nothing, bit for bit; channels do not hear each other", arguments: ratios)
    private func cuts(_ ratio: Ratio) throws {
        let channels = [noise(9_000), noise(9_000, seed: 2), [Float](repeating: 0, count: 9_000)]
        let whole = try convert(channels, ratio)
        #expect(whole[2].allSatisfy { $0 == 0 })
        #expect(try convert(channels, ratio, pieces: [1, 100, 7, 3_000]) == whole)
        #expect(try convert([channels[1]], ratio)[0] == whole[1])
    }

    @Test("a reset repeats")
    func reset() throws {
        let input = AudioBlock([noise(5_000)])
        guard var resampler = RatioResampler(up: 160, down: 147, channels: 1) else { throw Refused() }
        var outputs: [[Float]] = []
        for _ in 0..<2 {
            let output = AudioBlock(channels: 1, frames: 5_442)
            let (_, made) = unsafe resampler.convert(
                input, from: 0, frames: 5_000, into: output.pointers, at: 0, room: 5_442)
            unsafe resampler.finish(into: output.pointers, at: made, room: 5_442 - made)
            outputs.append(output.array(0))
            resampler.reset()
        }
        #expect(outputs[0] == outputs[1] && outputs[0][5_000] != 0)
    }

    @Test("ratios of large numbers, and those that go down far, are not for it")
    func refused() {
        for (up, down) in [(44_117, 44_100), (1, 2)] {
            if let _ = RatioResampler(up: up, down: down, channels: 1) { Issue.record("\(up) for \(down)") }
        }
    }

    #if arch(x86_64)
        @Test("all forms of the kernel give the same bits as two plain sums", arguments: ratios)
        private func kernels(_ ratio: Ratio) throws {
            let input = noise(30_000)
            let channels = [input, noise(30_000, seed: 2), noise(30_000, seed: 3)]
            let all = try convert(channels, ratio)
            let fast = all[0]
            defer { _ = kernel_use_vectors(2) }
            for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
                // Two channels are weighed together, and the third by itself.
                #expect(try convert(channels, ratio) == all, "form \(wanted)")
                #expect(try channels.map { try convert([$0], ratio)[0] } == all, "form \(wanted), one by one")
            }
            let coarse = channels[..<2].map { $0.map { ($0 * 32_768).rounded() / 32_768 } }
            let floats = try convert(coarse, ratio)
            for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
                let pairs = try convert(coarse, ratio, pieces: [1, 100, 3_000], asPairs: true)
                #expect(pairs == floats, "form \(wanted), as pairs")
            }
            let table = RatioTable.table(up: ratio.up, down: ratio.down)
            let half = table.halfLength
            for frame in Swift.stride(from: 1_000, to: 20_000, by: 61) {
                let time = frame * ratio.down
                if time / ratio.up + half >= input.count { break }
                // From both ends to the middle.
                var (early, late): (Float, Float) = (0, 0)
                func product(_ tap: Int) -> Float {
                    let value = unsafe table.coefficients.base[table.index(row: time % ratio.up, tap: tap)]
                    return value * input[time / ratio.up - half + 1 + tap]
                }
                for tap in 0..<half { early += product(tap) }
                for tap in (half..<2 * half).reversed() { late += product(tap) }
                #expect(early + late == fast[frame])
            }
        }
    #endif
}
