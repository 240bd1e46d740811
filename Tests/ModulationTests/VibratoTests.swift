import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct VibratoTests {
    /// The frequency over time of a tone near 1 kHz, in cents over that: by the phase of four milliseconds each.
    private func pitch(_ sound: [Float]) -> [Double] {
        let length = 192
        let window = (0..<length).map { (i: Int) -> Double in
            let angle = 2 * Double.pi * (Double(i) + 0.5) / Double(length)
            return 0.5 - 0.5 * cos(angle)
        }
        func phase(_ first: Int) -> Double {
            var (re, im) = (0.0, 0.0)
            for i in 0..<length {
                let angle = 2 * Double.pi * 1_000 / 48_000 * Double((first + i) % 48)
                re += Double(sound[first + i]) * cos(angle) * window[i]
                im -= Double(sound[first + i]) * sin(angle) * window[i]
            }
            return atan2(im, re)
        }
        var (cents, last) = ([Double](), phase(4_800))
        for first in stride(from: 4_848, to: sound.count - length, by: 48) {
            let next = phase(first)
            var turn = (next - last) / (2 * .pi)
            turn -= turn.rounded()
            cents.append(1_200 * log2(1 + turn / 48 * 48_000 / 1_000))
            last = next
        }
        return cents
    }

    @Test("The highest pitch is as many cents above the sound's as the depth says")
    func depth() throws {
        let tone = [sine(96_000, frequency: 1_000)]
        for (shape, rate, cents) in [
            (LFOCore.Shape.sine, 5.5, 25.0), (.sine, 7, 100), (.sine, 3, 50), (.triangle, 5, 40),
        ] {
            let vibrato = Vibrato(shape, rate: Float(rate), depth: Float(cents))
            let pitch = pitch(try play(tone, through: vibrato)[0])
            let highest = pitch.max() ?? 0
            #expect(abs(highest - cents) < 0.01 * cents, "\(shape): \(highest)")
            // As far below in hertz, which are a few more cents.
            let lowest: Double = 1_200 * log2(2 - exp2(cents / 1_200))
            #expect(abs((pitch.min() ?? 0) - lowest) < -0.01 * lowest, "\(shape): \(pitch.min() ?? 0)")
        }
    }

    @Test("By beats the depth holds too, and at low rates the delay goes 5 ms at most")
    func limits() throws {
        let tone = [sine(144_000, frequency: 1_000)]
        // Half a beat at 120 beats in a minute: 4 Hz.
        let beaten = pitch(try play(tone, through: Vibrato(beats: 0.5, depth: 30))[0])
        #expect(abs((beaten.max() ?? 0) - 30) < 0.3)
        let slow = pitch(try play(tone, through: Vibrato(rate: 1, depth: 200))[0])
        let most: Double = 1_200 * log2(1 + 2 * .pi * 0.005)
        #expect(abs((slow.max() ?? 0) - most) < 0.5)
    }

    @Test("It delays by 5 ms and 10 frames, at every rate, bit for bit at a depth of 0", arguments: [44_100.0, 96_000])
    func latency(rate: Double) throws {
        let input = noise(4_000)
        let vibrato = Vibrato(depth: 0)
        let frames = Int(0.005 * rate) + 10
        #expect(vibrato.latency(at: rate) == frames)
        let output = try play([input], through: vibrato, sampleRate: rate)[0]
        let late: [Float] = constant(0, frames) + input.dropLast(frames)
        #expect(output == late)
    }

    @Test("A tone stays as loud: within 0.01 dB at 1 kHz, 0.1 dB at 16 kHz")
    func level() throws {
        for (frequency, allowed) in [(1_000.0, 0.0012), (16_000, 0.012)] {
            let sound = try play([sine(48_000, frequency: frequency)], through: Vibrato())[0]
            // The power of a second is that of the tone, whatever its pitch.
            let power = sound[4_800...].reduce(0.0) { $0 + Double($1) * Double($1) } / 43_200
            #expect(abs((power / 0.125).squareRoot() - 1) < allowed, "\(frequency): \(power)")
        }
    }
}
