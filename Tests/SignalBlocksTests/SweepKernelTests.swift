import CKernels
import Testing

@testable import SignalBlocks

extension KernelTests {
    @Test("W4: the voices of a chorus have the bits of plain Swift, and lie where Lagrange's polynomial says")
    func sweptVoices() {
        let (size, voices) = (256, 3)
        let sound = KernelTests.noise(size, seed: 40)
        let ring = sound + sound[..<5]
        // Delays of 1 to 200 frames, with the anchors.
        let delays = KernelTests.noise(64 * voices, seed: 41).map { 60 + 40 * $0 }
        let anchors = (0..<64).map { (i: Int32) in 5 + i % 7 }
        eachForm {
            for (position, count) in [(0, 64), (3, 1), (250, 64), (255, 7), (100, 33)] {
                var (one, two) = ([Float](repeating: 9, count: 64), [Float](repeating: 9, count: 64))
                kernel_sweep(ring, 255, Int32(position), delays, voices, anchors, 0.7, &one, count)
                SwiftKernel.sweep(
                    ring, mask: 255, position: Int32(position), delays, voices: voices, anchors: anchors, level: 0.7,
                    &two, count)
                #expect(one[..<count].map(\.bitPattern) == two[..<count].map(\.bitPattern))
            }
        }
        // On a parabola it is exact.
        let parabola = (0..<261).map { (i: Int) -> Float in 1e-3 * Float(i * i % 65_536) }
        var output = [Float](repeating: 0, count: 64)
        kernel_sweep(
            parabola, 255, 180, [Float](repeating: 20.25, count: 64), 1, [Int32](repeating: 10, count: 64), 1, &output,
            64)
        for i in 0..<64 {
            let place: Float = Float(180 + i) - 30.25
            let error: Float = abs(output[i] - 1e-3 * place * place)
            #expect(error < 6.5e-4)
        }
    }
}
