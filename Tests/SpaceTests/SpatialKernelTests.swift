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
        let ring = noise[..<1_024] + noise[..<32]
        let ways = [
            (100.25, 0.0, 0.0), (100.25, 0.01, 0), (400.5, -0.031, 1e-4), (300.1, 0.06, -1e-3), (200, 0.49, 2e-3),
            (500, -0.5, 0), (600, -1.2, -0.02), (300, 0.03, -5e-4),
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
                unsafe kernel_shadow(
                    &samples, -0.6, kernel_course(from: 0.5, step: 0.01, bend: 1e-5),
                    kernel_course(from: 0.1, step: -0.003, bend: 2e-5), &shadow, first, part)
                result += samples[..<part]
                unsafe noise.withUnsafeBufferPointer { noise in
                    unsafe kernel_fade_filters(
                        noise.baseAddress! + 500 + done, noise.baseAddress! + 700, noise.baseAddress! + 900,
                        noise.baseAddress! + 1_100, 72, true, first, &filtered, part)
                    unsafe kernel_lay(
                        &sum, noise.baseAddress! + done, kernel_course(from: 0.5, step: 0.01, bend: -1e-5), first, part)
                    unsafe kernel_pass_over(&sum, noise.baseAddress! + 300 + done, 0, 1 / 64, first, true, part)
                }
                result += filtered[..<part] + sum[..<part]
                done += part
            }
        }
        return result.map(\.bitPattern)
    }

    @Test("All forms of the kernels give the same bits", arguments: [[64], [1, 15, 16, 17, 15], [7, 57], [33, 31]])
    func forms(parts: [Int]) {
        let plain = Self.bits(vectors: 0, parts: parts)
        #expect(plain == Self.bits(vectors: 1, parts: parts))
        #expect(plain == Self.bits(vectors: 2, parts: parts))
        #expect(plain.contains { $0 != 0 })
    }
}
