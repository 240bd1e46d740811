import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct AutoPanTests {
    @Test("The power stays the same at every place: 2 of two channels, 1 of mono")
    func power() throws {
        let ones = constant(1, 48_000)
        for (input, power) in [([ones], 1.0), ([ones, ones], 2)] {
            let pan = AutoPan(rate: 2.3, depth: 0.9, position: 0.3)
            let output = try play(input, through: pan, channels: 2)
            var (worst, off) = (0.0, 0.0)
            for i in 0..<48_000 {
                let (left, right) = (Double(output[0][i]), Double(output[1][i]))
                worst = max(worst, abs(left * left + right * right - power))
                let turns: Double = Double(Float(2.3)) * Double(i) / 48_000
                let place: Double = min(max(0.3 + 0.9 * sin(2 * .pi * turns), -1), 1)
                let angle: Double = (1 + place) * .pi / 4
                off = max(off, abs(left - power.squareRoot() * cos(angle)))
                off = max(off, abs(right - power.squareRoot() * sin(angle)))
            }
            #expect(worst < 1e-6)
            #expect(off < 2e-6)
        }
    }

    @Test("In the middle two channels stay as they are; more than two are a fault")
    func middle() throws {
        let input = [noise(2_000), noise(2_000, seed: 7)]
        #expect(try play(input, through: AutoPan(depth: 0)) == input)
        let three = try renderer([input[0], input[1], input[0]], through: AutoPan())
        _ = render(three, frames: 512)
        #expect(three.faultCount > 0)
    }

    @Test("By beats it is on the left in the third quarter of its turn")
    func beats() throws {
        // Two beats at 120 beats in a minute are 48,000 frames.
        let output = try play([constant(1, 48_000)], through: AutoPan(beats: 2), channels: 2)
        #expect(abs(output[1][12_000] - 1) < 1e-5 && abs(output[0][12_000]) < 1e-5)
        #expect(abs(output[0][36_000] - 1) < 1e-5 && abs(output[1][36_000]) < 1e-5)
    }
}
