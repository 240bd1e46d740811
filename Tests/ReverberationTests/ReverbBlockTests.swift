import Foundation
import RenderStack
import TestSupport
import Testing

/// The building blocks of a reverb, as another package uses them.
@Suite struct ReverbBlockTests {
    private static let rate = 48_000.0

    /// Returns what a row of a network answers to an impulse.
    private static func answer(decay: Float, seconds: Double, pieces: Int) -> [Float] {
        var ring = DelayRing(channels: 1, frames: 100)
        var diffuser = Diffuser(delays: [[113, 162, 241, 399]])
        var network = FeedbackNetwork(lines: 16, longestMean: 1_500, inputs: 1)
        var early = SampleRows(1)
        var late = SampleRows(8)
        let settings = FeedbackNetwork.Settings(decay: decay, highRatio: 1, sampleRate: rate)
        let level = network.level(settings, mean: 1_500, inputs: 1)
        var heard: [Float] = []
        while heard.count < Int(seconds * rate) {
            let count = min(pieces, min(network.room, diffuser.room))
            for frame in 0..<count { ring.put(heard.isEmpty && frame == 0 ? 1 : 0, in: 0, frame: frame) }
            ring.read(0, delay: 100, into: &early, row: 0, count: count)
            early.scale(0, by: level, count: count)
            diffuser.process(&early, row: 0, channel: 0, gain: 0.6, count: count)
            network.process(early, inputCount: 1, outputs: &late, count: count, settings)
            for frame in 0..<count { heard.append(late[1, frame]) }
            ring.advance(by: count)
            diffuser.advance(by: count)
        }
        return heard
    }

    @Test("A network of one's own decays by 60 dB in its time", arguments: [0.5, 2] as [Float]) func decays(
        decay: Float
    ) {
        let heard = Self.answer(decay: decay, seconds: Double(decay), pieces: 64)
        func level(_ from: Double) -> Double {
            let first = Int(from * Double(decay) * Self.rate), count = Int(0.1 * Double(decay) * Self.rate)
            return 10 * log10(heard[first..<first + count].reduce(0.0) { $0 + Double($1 * $1) })
        }
        #expect(abs((level(0.3) - level(0.8)) - 30) < 3)
        #expect(heard[0..<100].allSatisfy { $0 == 0 })
    }

    @Test("Pieces of any length give the same bits", arguments: [1, 7, 50]) func pieces(count: Int) {
        let (whole, cut) = (
            Self.answer(decay: 1, seconds: 0.3, pieces: 64), Self.answer(decay: 1, seconds: 0.3, pieces: count)
        )
        #expect(zip(whole, cut).allSatisfy { $0.bitPattern == $1.bitPattern })
    }

    @Test("A ring reads what was written, across its end, and silence before that") func ring() {
        var ring = DelayRing(channels: 2, frames: 30, atOnce: 16)
        var heard: [Float] = []
        for block in 0..<20 {
            let samples = (0..<16).map { Float(block * 16 + $0 + 1) }
            var output = [Float](repeating: -1, count: 16)
            var span = output.mutableSpan
            ring.write(Samples(samples.span), count: 16, in: 1)
            ring.read(1, delay: 30, into: &span, count: 16)
            #expect(ring.value(1, delay: 0, frame: 5) == samples[5])
            ring.advance(by: 16)
            heard += output
        }
        #expect(heard == [Float](repeating: 0, count: 30) + (1...290).map { Float($0) })
        ring.reset()
        #expect(ring.value(1, delay: 1) == 0)
    }

    @Test("An all-pass filter keeps the energy of a click") func diffuses() {
        var diffuser = Diffuser(delays: [[67, 113, 139]])
        var rows = SampleRows(1)
        var energy = 0.0
        for block in 0..<400 {
            rows.clear(0, count: 64)
            if block == 0 { rows[0, 0] = 1 }
            diffuser.process(&rows, row: 0, channel: 0, gain: 0.6, count: 64)
            for frame in 0..<64 { energy += Double(rows[0, frame] * rows[0, frame]) }
            diffuser.advance(by: 64)
        }
        #expect(abs(energy - 1) < 1e-3)
    }
}
