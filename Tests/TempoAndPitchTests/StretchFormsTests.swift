import CKernels
import RenderStack
import TestSupport
import Testing

/// The engine on processors with short vectors and with long ones, and with its work at once and spread.
@Suite struct StretchFormsTests {
    /// Two tones, the second behind a pause, and a little noise, other noise in each channel.
    private static let tones: [[Float]] = {
        var random = SplitMix(state: 3)
        return (0..<2).map { channel in
            (0..<20_000).map { frame -> Float in
                let turns = Double(frame) * (frame < 9_000 ? 440 : 1_234) / 48_000
                let tone = (9_000..<10_000).contains(frame) ? 0 : RenderMath.sin(2 * Double.pi * turns)
                return Float(0.3 * tone + 0.05 * Double.random(in: -1...1, using: &random))
            }
        }
    }()
    private static let vowels = [Vowel.a.sung(110, frames: 16_000), Vowel.i.sung(110, frames: 16_000)]

    @Test(
        "The same bits on every processor",
        arguments: [(1.25, 0.0, false), (0.6, -700, false), (1, 500, true), (1.1, -300, true)])
    func forms(rate: Double, cents: Double, keepsFormants: Bool) {
        defer { _ = kernel_use_vectors(2) }
        var first: [[Float]] = []
        for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
            let block = AudioBlock(cents == -300 ? Self.vowels : Self.tones).stretched(
                rate: rate, cents: cents, keepsFormants: keepsFormants, sampleRate: 48_000)
            let heard = [block.array(0), block.array(1)]
            if first.isEmpty { first = heard }
            #expect(heard == first && heard[0].contains { $0 != 0 })
        }
    }

    @Test("The work spread over the frames of a hop gives the same bits, a hop later", arguments: [0.5, 1, 1.25, 2])
    func spread(rate: Double) {
        for keepsFormants in [false, true] {
            let settings = TimeStretch.Settings(rate: rate, cents: 100, keepsFormants: keepsFormants)
            let (atOnce, spread) = (play(settings, spreads: false), play(settings, spreads: true))
            #expect(atOnce == spread && atOnce.contains { $0 != 0 })
        }
    }

    /// Plays the first channel's sound; a reset without a delay makes up for the latency of both ways.
    private func play(_ settings: TimeStretch.Settings, spreads: Bool) -> [Float] {
        var stretch = TimeStretch(sampleRate: 48_000, channels: 2, spreads: spreads)
        let sound = AudioBlock(settings.keepsFormants ? Self.vowels : Self.tones)
        return stretch.stretched(sound, settings, frames: 12_000).array(0)
    }
}
