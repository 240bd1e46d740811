import Foundation
import RenderStack

/// A sung vowel by arithmetic: harmonics below 9 kHz through four formants, by which the true envelope is known.
struct Vowel: Sendable {
    /// The middle of each formant and its width, in hertz.
    let formants: [(middle: Double, width: Double)]

    static let a = Vowel(formants: [(730, 90), (1_090, 110), (2_440, 170), (3_400, 250)])
    static let i = Vowel(formants: [(270, 60), (2_290, 100), (3_010, 150), (3_500, 200)])
    static let u = Vowel(formants: [(300, 60), (870, 90), (2_240, 150), (3_300, 200)])

    /// Returns the level of the envelope in decibels: a resonator of two poles for each formant, and a slope.
    func level(_ frequency: Double) -> Double {
        var power = pow(1 + frequency / 500, -2)
        let turn = 2 * Double.pi * frequency / 48_000
        for (middle, width) in formants {
            let radius = exp(-Double.pi * width / 48_000), pole = 2 * radius * cos(2 * Double.pi * middle / 48_000)
            let re = 1 - pole * cos(turn) + radius * radius * cos(2 * turn)
            let im = pole * sin(turn) - radius * radius * sin(2 * turn)
            power /= re * re + im * im
        }
        return 10 * log10(power)
    }

    /// Returns the vowel at a pitch that is a multiple of 10 Hz, at 48 kHz.
    func sung(_ pitch: Double, frames: Int) -> [Float] {
        // It repeats after 4,800 frames.
        var period = [Double](repeating: 0, count: 4_800)
        for number in 1...Int(9_000 / pitch) {
            let k = Double(number), loudness = pow(10, level(k * pitch) / 20)
            for frame in 0..<4_800 {
                period[frame] += loudness * cos(2 * Double.pi * k * pitch * Double(frame) / 48_000 + 0.7 * k * k)
            }
        }
        let power = period.reduce(0) { $0 + $1 * $1 } / 4_800
        return (0..<frames).map { Float(0.1 / sqrt(power) * period[$0 % 4_800]) }
    }

    /// Returns how far harmonics are from the envelope: the root of the mean square in decibels, for those below 4 kHz and
    /// within 45 dB of the loudest, after the median has been taken off.
    func deviation(of sound: ArraySlice<Float>, pitch: Double) -> Double {
        let frequencies = (1...Int(4_000 / pitch)).map { pitch * Double($0) }
        let wanted = frequencies.map(level)
        var apart = zip(levels(of: sound, frequencies), wanted).map { $0 - $1 }
        let sorted = apart.sorted()
        let median = 0.5 * (sorted[sorted.count / 2] + sorted[(sorted.count - 1) / 2])
        apart = zip(apart, wanted).compactMap { $1 > wanted.max()! - 45 ? $0 - median : nil }
        return sqrt(apart.reduce(0) { $0 + $1 * $1 } / Double(apart.count))
    }
}

/// Returns the levels of sines in decibels, under Blackman's window.
func levels(of sound: ArraySlice<Float>, _ frequencies: [Double]) -> [Double] {
    let count = Double(sound.count)
    let windowed = zip(0..., sound).map { frame, sample in
        let turn = 2 * Double.pi * Double(frame) / count
        return Double(sample) * (0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn))
    }
    return frequencies.map { frequency in
        let turn = 2 * Double.pi * frequency / 48_000
        let (stepRe, stepIm) = (cos(turn), sin(turn))
        var (re, im, sumRe, sumIm) = (1.0, 0.0, 0.0, 0.0)
        for sample in windowed {
            sumRe += sample * re
            sumIm += sample * im
            (re, im) = (re * stepRe - im * stepIm, re * stepIm + im * stepRe)
        }
        return 20 * log10(2 / (0.42 * count) * sqrt(sumRe * sumRe + sumIm * sumIm) + 1e-12)
    }
}
