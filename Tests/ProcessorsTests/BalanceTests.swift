import RenderStack
import TestSupport
import Testing

@Suite struct BalanceTests {
    @Test("In the middle nothing changes, bit for bit; mono stays mono") func identity() throws {
        for channels in 1...8 {
            let input = (0..<channels).map { noise(700, seed: UInt64($0)) }
            #expect(try play(input, through: Balance()) == input)
        }
    }

    @Test(
        "The far side is scaled by 1 - |balance|, the near one stays", arguments: [-1, -0.25, 0.5, 1] as [Float])
    func known(position: Float) throws {
        let input = [noise(700), noise(700, seed: 2)]
        let output = try play(input, through: Balance(position))
        #expect(output[0] == input[0].map { $0 * (1 - max(0, position)) })
        #expect(output[1] == input[1].map { $0 * (1 + min(0, position)) })
        let wide = try play([input[0]], through: Balance(position), channels: 2)
        #expect(wide[0] == output[0])
    }

    @Test(
        "More than two channels have sides",
        arguments: [
            (3, "LRC"), (4, "LRLR"), (5, "LRCLR"), (6, "LRCCLR"), (7, "LRCLRLR"), (8, "LRCCLRLR"), (9, "LRLRLRLRC"),
            (10, "LRLRLRLRLR"),
        ])
    func sides(channels: Int, layout: String) throws {
        let input = [[Float]](repeating: [Float](repeating: 1, count: 10), count: channels)
        for (position, quiet): (Float, Character) in [(0.75, "L"), (-0.75, "R")] {
            let output = try play(input, through: Balance(position))
            for (channel, side) in layout.enumerated() {
                #expect(output[channel].allSatisfy { $0 == (side == quiet ? 0.25 : 1) }, "\(channel) of \(channels)")
            }
        }
    }

    @Test("Sides can be told") func told() throws {
        let input = [[Float]](repeating: [Float](repeating: 1, count: 10), count: 4)
        let output = try play(input, through: Balance(1, left: [3, 1], right: [0]))
        #expect(output.map { $0[5] } == [1, 0, 1, 0])
    }

    @Test("A change takes 10 ms at every sample rate, in cycles of any length", arguments: cycleLengths)
    func glide(cycles: [Int]) throws {
        for channels in [2, 6] {
            for rate in [48_000.0, 96_000] {
                let balance = Balance(0)
                let input = [[Float]](repeating: [Float](repeating: 1, count: 2_000), count: channels)
                let renderer = try renderer(input, through: balance, sampleRate: rate)
                try renderer.transaction(at: .sample(100)) { balance.position.value = 1 }
                let output = render(renderer, frames: 2_000, cycles: cycles)
                for i in 0..<2_000 {
                    let expected = 1 - Float(min(max(i - 100, 0), Int(rate / 100))) / Float(rate / 100)
                    #expect(abs(output[0][i] - expected) < 1e-6)
                    #expect(output[1][i] == 1)
                }
            }
        }
    }
}
