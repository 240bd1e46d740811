import CKernels
import SignalBlocks
import TestSupport
import Testing

/// The C kernels of this folder, in the forms for vectors of four, eight and sixteen numbers.
@Suite(.serialized) struct SpatialKernelTests {
    /// The bits of everything that the kernels make of noise, in parts of some lengths.
    private static func bits(vectors: Int32, parts: [Int]) -> [UInt32] {
        let before = kernel_use_vectors(2)
        _ = kernel_use_vectors(vectors)
        defer { _ = kernel_use_vectors(before) }
        var random = SplitMix(state: 5)
        let noise: [Float] = (0..<4_096).map { _ in Float(random.next() >> 40) / Float(1 << 23) - 1 }
        var (result, shadow): ([Float], [Float]) = ([], [Float](repeating: 0, count: 32))
        var same = true
        let ring = noise[..<1_024] + noise[..<32]
        let ways = [
            (100.25, 0.0, 0.0), (300, 0, 0), (100.25, 0.01, 0), (400.5, -0.031, 1e-4), (300.1, 0.06, -1e-3),
            (200, 0.49, 2e-3), (500, -0.5, 0), (600, -1.2, -0.02), (300, 0.03, -5e-4),
        ]
        for (delay, step, bend) in ways {
            var done = 0
            for part in parts {
                var samples = [Float](repeating: 0, count: 128)
                var filtered = [Float](repeating: 0, count: 128)
                var sum = Array(noise[2_000..<2_064])
                let first = Int32(done)
                unsafe ring.withUnsafeBufferPointer { ring in
                    unsafe kernel_wander(
                        ring.baseAddress!, 1_023, 1_000, delay, step, bend, Int64(done), &samples, part)
                }
                result += samples[..<part]
                var other = filtered
                let (left, right) = (
                    kernel_course(from: 0.3, step: 0.002, bend: -1e-5),
                    kernel_course(from: 0.9, step: -0.001, bend: 1e-6)
                )
                unsafe ring.withUnsafeBufferPointer { ring in
                    var flight = kernel_flight(delay: delay, step: step, bend: bend, left: left, right: right)
                    unsafe kernel_wander_to_two(
                        ring.baseAddress!, 1_023, 1_000, &flight, Int64(done), &filtered, &other, part)
                }
                result += filtered[..<part] + other[..<part]
                let relayed = Self.relayed(
                    Array(ring), kernel_flight(delay: delay, step: step, bend: bend, left: left, right: right), noise,
                    Int64(done), part)
                same = same && relayed.atOnce == relayed.byParts
                result += relayed.atOnce
                unsafe kernel_put(&other, samples, left, first, part)
                // What was heard at one level is the same by itself.
                same = same && other[..<part] == filtered[..<part]
                unsafe kernel_shadow(
                    &samples, -0.6, kernel_course(from: 0.5, step: 0.01, bend: 1e-5),
                    kernel_course(from: 0.1, step: -0.003, bend: 2e-5), &shadow, first, part)
                result += samples[..<part]
                unsafe noise.withUnsafeBufferPointer { noise in
                    for (fades, bends) in [(true, true), (true, false), (false, false)] {
                        unsafe kernel_fade_filters(
                            noise.baseAddress! + 500 + done, fades ? noise.baseAddress! + 700 : nil,
                            noise.baseAddress! + 900, bends ? noise.baseAddress! + 1_100 : nil, 72, first, &filtered,
                            part)
                        result += filtered[..<part]
                    }
                    unsafe kernel_lay(
                        &sum, noise.baseAddress! + done, kernel_course(from: 0.5, step: 0.01, bend: -1e-5), first, part)
                    unsafe kernel_pass_over(&sum, noise.baseAddress! + 300 + done, 0, 1 / 64, first, true, part)
                }
                result += sum[..<part]
                done += part
            }
        }
        #expect(same)
        result.append(contentsOf: rings(noise, parts))
        return result.map(\.bitPattern)
    }

    /// A ring across whose end samples were written, and what two channels then hear of it: in one call, and in two.
    private static func relayed(
        _ ring: [Float], _ flight: kernel_flight, _ noise: [Float], _ first: Int64, _ count: Int
    ) -> (atOnce: [Float], byParts: [Float]) {
        var (flight, one, other) = (flight, ring, ring)
        var left = [Float](repeating: 0, count: count)
        var (right, second, third) = (left, left, left)
        unsafe kernel_relay(&one, 1_023, 1_000, noise, &flight, first, &left, &right, count)
        unsafe kernel_write_ring(&other, 1_023, 1_000, noise, count)
        unsafe kernel_wander_to_two(other, 1_023, 1_000 - first, &flight, first, &second, &third, count)
        return (one + left + right, other + second + third)
    }

    /// A ring that samples were written into, across its end; and what is left of a bend.
    private static func rings(_ noise: [Float], _ parts: [Int]) -> [Float] {
        var ring = [Float](repeating: 0, count: 256 + 32)
        var (position, plain) = (230, [Float](repeating: 0, count: 256))
        for (index, part) in parts.enumerated() {
            unsafe noise.withUnsafeBufferPointer { noise in
                unsafe kernel_write_ring(&ring, 255, Int64(position), noise.baseAddress! + 100 * index, part)
            }
            for i in 0..<part { plain[(position + i) & 255] = noise[100 * index + i] }
            position = (position + part) & 255
        }
        #expect(Array(ring[..<256]) == plain && Array(ring[256...]) == Array(plain[..<32]))
        let silence = [Float](repeating: 0, count: 72)
        var (begin, end, bend) = (silence, silence, silence)
        let filters = (0..<3).map { Array(noise[(200 * $0)..<(200 * $0 + 72)]) }
        let sum = unsafe kernel_bend(filters[0], filters[1], filters[2], &begin, &end, &bend, 72)
        #expect(abs(sum - bend.reduce(0) { $0 + abs($1) }) < 1e-4)
        return ring + begin + end + bend + [sum]
    }

    /// What filters of a head make of noise in a block that comes in parts.
    private static func filtered(_ noise: [Float], taps: Int, fades: Bool, bends: Bool, parts: [Int]) -> [Float] {
        var (result, output) = ([Float](), [Float](repeating: 0, count: 128))
        unsafe noise.withUnsafeBufferPointer { noise in
            let base = noise.baseAddress!
            for part in parts {
                let done = result.count
                unsafe kernel_fade_filters(
                    base + 500 + done, fades ? base + 1_000 : nil, base + 1_300, bends ? base + 1_600 : nil, taps,
                    Int32(done), &output, part)
                result += output[..<part]
            }
        }
        return result
    }

    @Test("Filters of a head make the sums of products in all parts of a block", arguments: [8, 64, 72, 128, 200, 256])
    func filters(taps: Int) {
        var random = SplitMix(state: 7)
        let noise: [Float] = (0..<2_000).map { _ in Float(random.next() >> 40) / Float(1 << 23) - 1 }
        for (fades, bends) in [(true, true), (true, false), (false, false)] {
            let whole = Self.filtered(noise, taps: taps, fades: fades, bends: bends, parts: [128])
            for parts in [[64, 64], [1, 31, 32, 33, 31], [48, 48, 32], [100, 28], [5, 90, 1, 32]] {
                let some = Self.filtered(noise, taps: taps, fades: fades, bends: bends, parts: parts)
                #expect(some.map(\.bitPattern) == whole.map(\.bitPattern))
            }
            for frame in 0..<128 {
                let t = Double(frame) / 128
                var sum = 0.0
                for tap in 0..<taps {
                    let (old, new, bend) = (noise[1_000 + tap], noise[1_300 + tap], noise[1_600 + tap])
                    var weight = fades ? Double(old) + t * (Double(new) - Double(old)) : Double(new)
                    if bends { weight += t * (t - 1) * Double(bend) }
                    sum += weight * Double(noise[500 + frame - tap])
                }
                #expect(abs(sum - Double(whole[frame])) < 4e-5)
            }
        }
    }

    @Test("All forms of the kernels give the same bits", arguments: [[64], [1, 15, 16, 17, 15], [7, 57], [33, 31]])
    func forms(parts: [Int]) {
        let plain = Self.bits(vectors: 0, parts: parts)
        #expect(plain == Self.bits(vectors: 1, parts: parts))
        #expect(plain == Self.bits(vectors: 2, parts: parts))
        #expect(plain.contains { $0 != 0 })
    }
}
