import CKernels
import Testing

@testable import SignalBlocks

extension KernelTests {
    @Test(
        "W6: the hard clip has the bits of plain Swift, in pieces of any length, with samples that are no numbers too")
    func hardClip() {
        var sound = KernelTests.noise(600, seed: 60).map { 3 * $0 }
        for i in 0..<40 { sound[100 + i] = 1 }
        // Across both bends, in small steps.
        for i in 0..<40 { sound[200 + i] = 0.9999 + 5e-6 * Float(i) }
        for i in 0..<40 { sound[240 + i] = -1.001 + 5e-5 * Float(i) }
        for i in 300..<340 { sound[i] *= 1e8 }
        for i in 340..<380 { sound[i] *= 1e-30 }
        (sound[400], sound[401], sound[450], sound[470]) = (.nan, 1, .infinity, -.infinity)
        (sound[500], sound[501], sound[502], sound[503], sound[504]) = (1, -1, 1, 0, -0.0)
        eachForm {
            for (lengths, gain) in [
                ([600], 1), ([1, 2, 3, 4, 5, 6, 7, 8, 64, 500], 1), ([9, 300, 291], 1), ([600], 3.3),
                ([5, 295, 300], 0.2),
            ] as [([Int], Float)] {
                var (one, two) = (sound, sound)
                var (past, other): ([Double], [Double]) = ([0, 0], [0, 0])
                var first = 0
                for length in lengths {
                    one.withUnsafeMutableBufferPointer {
                        kernel_hard_clip($0.baseAddress! + first, &past, gain, length)
                    }
                    two.withUnsafeMutableBufferPointer {
                        SwiftKernel.hardClip($0.baseAddress! + first, past: &other, gain: gain, length)
                    }
                    first += length
                }
                #expect(zip(one, two).allSatisfy { $0.bitPattern == $1.bitPattern || $0.isNaN && $1.isNaN })
                #expect(past == other)
                #expect(one[400].isNaN && one[450].isNaN && one[470].isNaN && !one[399].isNaN && !one[451].isNaN)
            }
        }
    }
}
