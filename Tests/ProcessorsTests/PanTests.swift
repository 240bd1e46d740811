import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct PanTests {
    @Test("A pan has equal power, and mono becomes stereo", arguments: [-1, -0.5, 0, 0.3, 1] as [Float])
    func power(position: Float) throws {
        let output = try play([[Float](repeating: 1, count: 100)], through: Pan(position), channels: 2)
        let angle = (1 + Double(position)) * .pi / 4
        #expect(output[0].allSatisfy { abs(Double($0) - cos(angle)) < 2e-7 })
        #expect(output[1].allSatisfy { abs(Double($0) - sin(angle)) < 2e-7 })
    }

    @Test(
        "A change takes 10 ms at every sample rate, keeps the power on its way, in cycles of any length",
        arguments: cycleLengths)
    func glide(cycles: [Int]) throws {
        for rate in [48_000.0, 192_000] {
            let pan = Pan(-1)
            let renderer = try renderer(
                [[Float](repeating: 1, count: 4_000)], through: pan, sampleRate: rate, channels: 2)
            try renderer.transaction(at: .sample(100)) { pan.position.value = 1 }
            let output = render(renderer, frames: 4_000, cycles: cycles)
            let length = Int(rate / 100)
            for i in 0..<4_000 {
                let turn = Double(min(max(i - 100, 0), length)) / Double(length) * .pi / 2
                #expect(abs(Double(output[0][i]) - cos(turn)) < 1e-6)
                #expect(abs(Double(output[1][i]) - sin(turn)) < 1e-6)
            }
        }
    }

    @Test("Stereo is weighted, silence stays silent, the range is kept") func stereo() throws {
        let output = try play([[Float](repeating: 1, count: 9), [Float](repeating: -1, count: 9)], through: Pan(0))
        #expect(output[0].allSatisfy { abs($0 - Float(0.5).squareRoot()) < 1e-7 })
        #expect(output[1].allSatisfy { abs($0 + Float(0.5).squareRoot()) < 1e-7 })
        let nothing = [[Float](repeating: 0, count: 900)]
        #expect(try play(nothing, through: Pan(0.2)) == nothing)
        #expect(Pan(4).position.value == 1)
    }
}
