import Foundation
import RenderStack
import TestSupport
import Testing

@testable import Reverberation

/// Figures of publications and of other programs, and sounds as people put into rooms.
@Suite struct RoomFigureTests {
    @Test("The network gives what pyFDN computes") func network() {
        // pyFDN 0.5.0 from PyPI, in double precision, for delays of 36, 44, 62, 68, 98, 122, 171 and 199 frames, a Hadamard
        // matrix over the root of eight, and a decay by 60 dB in 2,000 frames: dss_to_impz(delays, A, B, C, D, 3000), where A
        // is the matrix times the gains, C the same, and B the row 5 of the matrix. Its dss_to_pr finds 403 poles, which
        // all have the radius 10^(-3/2000).
        let samples: [(frame: Int, values: [Float])] = [
            (36, [0.110384988, 0.110384988, 0.110384988, 0.110384988]),
            (98, [-0.0260987273, -0.0260987273, -0.0891066288, -0.0891066288]),
            (500, [0.00793549975, 0.00208946873, 0.00307672686, -0.00937426967]),
            (999, [0.000257795933, -0.00051068111, 0.000275311025, -0.00176672235]),
            (1_500, [-0.000431064152, 0.000545251403, -0.000450837387, -1.8566314e-05]),
            (2_004, [7.329267e-05, 9.326039e-06, 1.104225e-05, -2.471888e-05]),
        ]
        let energies = [1.091785, 0.04585677, 0.00140154, 4.578318e-05, 1.43086e-06, 4.349969e-08]
        var network = FeedbackNetwork(lines: 8, longestMean: 200, inputs: 1)
        var settings = FeedbackNetwork.Settings()
        settings.middle = 9.965784 / 2_000
        network.jump(toMean: 100)
        var inputs = SampleRows(1)
        var outputs = SampleRows(8)
        var heard: [[Float]] = []
        var position = 0
        while position < 3_000 {
            if position % 64 == 0 { network.begin(settings, fade: (0, 0)) }
            let count = network.room
            for i in 0..<count { inputs[0, i] = position + i == 0 ? 1 : 0 }
            network.process(inputs, inputCount: 1, outputs: &outputs, count: count)
            for i in 0..<count { heard.append((0..<8).map { outputs[$0, i] }) }
            position += count
        }
        for (frame, values) in samples {
            for lane in 0..<4 {
                let difference: Float = abs(heard[frame][lane] - values[lane])
                #expect(difference < 1e-6 * max(1, 0.01 / abs(values[lane])), "frame \(frame): \(heard[frame])")
            }
        }
        for (part, energy) in energies.enumerated() {
            let found = heard[500 * part..<500 * (part + 1)].joined().reduce(0.0) { $0 + Double($1) * Double($1) }
            #expect(abs(found / energy - 1) < 1e-4, "part \(part): \(found)")
        }
    }

    @Test("Speech keeps as much of its syllables as the formula says", arguments: [1.0, 2.0, 4.0])
    func modulationTransfer(rate: Double) throws {
        // Houtgast and Steeneken 1985: of a modulation of F hertz, a room that decays evenly in T keeps
        // 1 / sqrt(1 + (2 pi F T / 13.8)^2).
        let (time, seconds) = (1.0, 16.0)
        let sound = speech(seconds: seconds, syllables: rate)
        let heard = try room(
            [sound, sound], Reverb(evenRoom(decay: Float(time)), mix: 1, quality: .rich), seconds: seconds)
        func modulation(_ channels: [[Float]]) -> Double {
            var (sum, real, imaginary) = (0.0, 0.0, 0.0)
            for frame in (4 * 48_000)..<Int(seconds * 48_000) {
                let energy = channels.reduce(0.0) { $0 + Double($1[frame]) * Double($1[frame]) }
                let angle = 2 * Double.pi * rate * Double(frame) / 48_000
                sum += energy
                real += energy * cos(angle)
                imaginary += energy * sin(angle)
            }
            return (real * real + imaginary * imaginary).squareRoot() / sum
        }
        let kept: Double = modulation(heard) / modulation([sound])
        let wanted: Double = 1 / (1 + pow(2 * Double.pi * rate * time / 13.8, 2)).squareRoot()
        #expect(abs(kept / wanted - 1) < 0.12, "\(kept) of the syllables in place of \(wanted)")
    }

    @Test("Behind the last stroke of a drum the room decays in its time", arguments: [0.6, 1.5])
    func drum(decay: Double) throws {
        let sound = drums(seconds: 3)
        let heard = try room([sound, sound], Reverb(evenRoom(decay: Float(decay)), mix: 1), seconds: 3.2 + decay)
        let rest = heard.map { $0[Int(2.75 * 48_000)...].map(Double.init) }
        let found = decayTime(rest)
        #expect(abs(found / decay - 1) < 0.05, "\(found) s")
    }

    @Test("Speech and drums go through a response within -130 dB") func convolvedSounds() throws {
        let response = decayingNoise(48_000, decay: 40_000, seed: 4)
        for sound in [speech(seconds: 1.5, syllables: 4), drums(seconds: 1.5)] {
            let reverb = try ConvolutionReverb(
                ImpulseResponse(AudioBlock([response]), sampleRate: 48_000), settings: plain, mix: 1)
            let heard = try play([sound], through: reverb, frames: 96_000, cycle: 64)
            var (error, all) = (0.0, 0.0)
            for frame in stride(from: 0, to: 96_000, by: 317) {
                let wanted = convolved(sound, response, at: frame)
                let difference: Double = Double(heard[0, frame]) - wanted
                error += difference * difference
                all += wanted * wanted
            }
            let level: Double = 10 * log10(error / all)
            #expect(level < -130, "\(level) dB")
        }
    }
}

/// Whispered syllables by code: noise through the formants of an open vowel, which swells and fades so many times a second.
func speech(seconds: Double, syllables: Double) -> [Float] {
    let source = chance(Int(seconds * 48_000), seed: 11)
    var sum = [Double](repeating: 0, count: source.count)
    for (frequency, q, gain) in [(700.0, 6.0, 1.0), (1_200, 9, 0.6), (2_600, 14, 0.4), (5_500, 3, 0.3)] {
        for (frame, sample) in band(source, frequency, q: q, times: 1).enumerated() { sum[frame] += gain * sample }
    }
    return sum.enumerated().map { frame, sample in
        Float(sample * (0.5 - 0.5 * cos(2 * Double.pi * syllables * Double(frame) / 48_000)))
    }
}

/// Strokes by code, four a second: a skin that falls in pitch, and noise on every second one. The last is 0.25 s before the end.
func drums(seconds: Double) -> [Float] {
    let hiss = chance(Int(seconds * 48_000), seed: 12)
    var phase = 0.0
    return hiss.enumerated().map { frame, hiss in
        let since = Double(frame % 12_000) / 48_000
        if frame % 12_000 == 0 { phase = 0 }
        phase += (60 + 140 * exp(-since / 0.02)) / 48_000
        let skin = 0.7 * sin(2 * Double.pi * phase) * exp(-since / 0.04)
        let wires = frame / 12_000 % 2 == 1 ? Double(hiss) * exp(-since / 0.03) : 0
        return Float(skin + wires)
    }
}
