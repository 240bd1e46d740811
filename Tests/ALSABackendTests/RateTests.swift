import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

/// A sine, computed from the sample time in Double: exact however long it plays.
final class LongSine: Generator {
    /// Radians per frame.
    let step: Double
    init(frequency: Double, rate: Double) { step = 2 * Double.pi * frequency / rate }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let now = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            let turns = Double(now &+ Int64(i)) * (step / (2 * Double.pi))
            samples[i] = Float(RenderMath.sin((turns - Double(Int64(turns))) * 2 * Double.pi) * 0.5)
        }
    }
}

/// A sine that was found in samples.
struct FoundSine {
    let amplitude: Double
    /// At the first sample.
    let phase: Double
    /// Power of everything else, over the sine's, in dB.
    let rest: Double

    /// The best fit of a frequency, by least squares.
    init(_ samples: [Float], step: Double) {
        var (ss, sc, cc, ys, yc) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let (s, c) = (Glibc.sin(step * Double(index)), Glibc.cos(step * Double(index)))
            ss += s * s
            sc += s * c
            cc += c * c
            ys += Double(sample) * s
            yc += Double(sample) * c
        }
        let determinant = ss * cc - sc * sc
        let (a, b) = ((ys * cc - yc * sc) / determinant, (yc * ss - ys * sc) / determinant)
        amplitude = (a * a + b * b).squareRoot()
        phase = Glibc.atan2(b, a)
        var error = 0.0
        for (index, sample) in samples.enumerated() {
            let fit = a * Glibc.sin(step * Double(index)) + b * Glibc.cos(step * Double(index))
            error += (Double(sample) - fit) * (Double(sample) - fit)
        }
        rest = 10 * Glibc.log10(error / (amplitude * amplitude / 2 * Double(samples.count)))
    }
}

extension ALSATests {
    @Suite struct RateTests {
        static let rates: [(asked: Double, card: UInt32)] = [
            (48_000, 44_100), (44_100, 48_000), (96_000, 44_100), (44_100, 96_000),
        ]

        @Test(
            "At a rate that the card does not have a sine is a sine, of its pitch and level, heard when it was said",
            arguments: rates.indices)
        func playback(_ index: Int) async throws {
            let (asked, rate) = Self.rates[index]
            let hertz = Double(rate)
            let card = try Card("card0", rates: rate...rate)
            let player = try Player(
                card, period: 128, clockRate: hertz, sound: LongSine(frequency: 997, rate: asked)
            ) { $0.rate = asked }
            try player.output.start()
            #expect(player.renderer.sampleRate == asked)
            #expect(player.output.configuration?.sampleRate == hertz)
            #if DEBUG
                let periods = 100
            #else
                let periods = 10_000
            #endif
            #expect(player.play(periods))
            let next = try #require(player.renderer.nextRenderTime)
            let rendered = player.renderer.sampleTime
            player.output.stop()
            // All frames of the renderer are the card's, no more and no less however long it goes on.
            let handedOver = Double(periods * 128) * asked / hertz
            #expect(abs(Double(rendered) - handedOver) < 2 + asked / hertz)
            let played = card.played()[0]
            #expect(played.count == periods * 128)
            let first = played.count - 8192
            let found = FoundSine(Array(played[first...]), step: 2 * Double.pi * 997 / hertz)
            #expect(abs(found.amplitude - 0.5) < 0.0005)
            #expect(found.rest < -110, "\(found.rest) dB")
            // The frame that is rendered next is heard at `next`: that tells which one is heard at any time.
            let heard = 1.0 + Double(first) / hertz
            let frame = Double(rendered) + (heard - Double(next) * 1e-9) * asked
            let expected = 2 * Double.pi * (frame * 997 / asked)
            let error = (found.phase - expected).remainder(dividingBy: 2 * Double.pi)
            // A microsecond.
            #expect(abs(error) < 2 * Double.pi * 997 * 1e-6)
            #expect(
                player.events.count { event in
                    "\(event)" == "The device \"card0\" runs at \(hertz) Hz: the sound is converted, at \(asked) Hz."
                } == 1)
        }

        @Test("The output converts the input too, in step with the sound that it plays", arguments: [44_100.0, 96_000])
        func duplex(_ asked: Double) throws {
            let card = try Card("card14")
            let microphone = try Card("card14", isCapture: true)
            let input = AudioInput(channels: 2)
            let renderer = try Renderer { context in
                context.run(input)
                context.output()
            }
            let output = ALSAOutput(renderer, device: "card14", rate: asked, period: 64, periods: 4, priority: 0)
            try output.start()
            #expect(renderer.sampleRate == asked)
            for _ in 0..<300 {
                #expect(card.wait(256))
                #expect(microphone.wait(0))
                #expect(microphone.move(64) == 64)
                #expect(card.move(64) == 64)
            }
            #expect(card.wait(256))
            output.stop()
            // There and back: the ramp that the card captures rises by 1/32768 a frame again.
            let played = card.played()[0].suffix(15_000)
            let rises = zip(played, played.dropFirst()).map { $1 - $0 }
            #expect(rises.count { abs($0 - 1 / 32_768) < 2e-6 } > 14_300)
        }

        @Test("Recording alone is converted: as many frames as time", arguments: [44_100.0, 96_000])
        func recording(_ asked: Double) throws {
            let microphone = try Card("card15", isCapture: true)
            let input = AudioInput(channels: 2)
            let tap = RingTap(seconds: 2)
            let renderer = try Renderer { context in
                context.run(input)
                context.run(tap)
                context.pop()
            }
            let output = ALSAOutput(
                renderer, device: nil, inputDevice: "card15", rate: asked, period: 64, periods: 4, priority: 0)
            try output.start()
            for _ in 0..<300 {
                #expect(microphone.wait(0))
                #expect(microphone.move(64) == 64)
            }
            #expect(microphone.wait(0))
            output.stop()
            let frames = Int(renderer.sampleTime)
            // And the few that the converter has in store at the start, so that it never runs short.
            #expect(abs(Double(frames) - 300 * 64 * asked / 48_000) < 8)
            var block = AudioBlock(channels: 2, frames: frames)
            var done = 0
            while done < frames {
                let chunk = tap.ring.read(into: &block, frames: frames - done, at: done)
                if chunk.frameCount == 0 { break }
                done += chunk.frameCount
            }
            #expect(done == frames)
            let heard = block.array(0).dropFirst(1000)
            let rise = Float(48_000 / asked / 32_768)
            let rises = zip(heard, heard.dropFirst()).count { abs($1 - $0 - rise) < 2e-6 }
            #expect(rises > frames - 1700)
        }

        @Test("At a fixed rate the renderer keeps its rate when the card comes back with another one")
        func changed() async throws {
            let card = try Card("card7")
            let player = try Player(card) { $0.rate = 48_000 }
            try player.output.start()
            #expect(player.play(5))
            card.set(.gone)
            #expect(await becomesTrue { player.output.state == .waiting })
            card.allow(formats: [.int32], accesses: [.mappedPlanar], rates: 96_000...96_000, channels: 6...6)
            card.set(.none)
            #expect(await becomesTrue { player.output.state == .running })
            #expect(player.play(50))
            #expect(player.output.configuration?.sampleRate == 96_000)
            #expect(player.renderer.sampleRate == 48_000)
            player.output.stop()
            // Half as many frames for each period of the card.
            let expected: Int64 = 5 * 64 + 50 * 32
            #expect(abs(player.renderer.sampleTime - expected) <= 2)
            #expect(player.events.count { if case .sampleRateChanged = $0 { true } else { false } } == 0)
        }
    }
}
