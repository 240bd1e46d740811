import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct DelayLineTests {
    @Test("Sample by sample: what was written comes back, before that silence") func known() {
        var line = DelayLine(channels: 2, frames: 20)
        var heard: [[Float]] = [[], []]
        for i in 0..<100 {
            for channel in 0..<2 {
                heard[channel].append(line.read(channel, delay: Double(3 + 17 * channel)))
                line.write(Float(i + 1000 * channel), channel: channel, frame: 0)
            }
            line.advance(by: 1)
        }
        #expect(heard[0] == [0, 0, 0] + counted(0..<97))
        let late: [Float] = silence(20) + counted(1000..<1080)
        #expect(heard[1] == late)
        line.reset()
        #expect(line.read(0, delay: 1) == 0 && line.read(1, delay: 20) == 0)
    }

    @Test("Between two frames a slow tone is where it was, for every kernel", arguments: [1.5, 2.25, 4.75, 9.4, 19.9])
    func fractions(delay: Double) {
        var line = DelayLine(channels: 1, frames: 20)
        for i in 0..<300 {
            let old = line.read(0, delay: delay)
            if i > 60 { #expect(abs(Double(old) - sin(0.05 * (Double(i) - delay))) < 1e-3) }
            line.write(Float(sin(0.05 * Double(i))), channel: 0, frame: 0)
            line.advance(by: 1)
        }
    }

    @Test("A line clamps impossible delays, channels and frames") func misuse() {
        var line = DelayLine(channels: 0, frames: -3)
        #expect(line.channelCount == 1 && line.limit == 1)
        line.write(1, channel: 0, frame: 0)
        line.write(1, channel: 7, frame: 0)
        line.write(1, channel: 0, frame: 1_000)
        line.advance(by: 1)
        for delay in [-1, 0, 1, 1e9, .infinity, .nan] { #expect(line.read(0, delay: delay) == 1) }
        #expect(line.read(3, delay: 1) == 0 && line.read(0, delay: 1, frame: 99) == 0)
        line.advance(by: -5)
        line.advance(by: 1_000_000)
        #expect(line.read(0, delay: 1).isFinite)
    }
}
