import Foundation
import RenderStack

/// The numbers of the workloads, which every contestant plays, the peers included.
enum Score {
    static let sampleRate = 48_000.0
    static let cycle = 64

    struct Voice: Codable {
        let frequency: Float
        let level: Float
        let center: Float
        let position: Float
        // For those who have no parameters but coefficients and gains.
        let b0, a1, a2: Double
        let left, right: Double
    }

    /// Tones from 60 Hz to 8 kHz, each through a band of an octave somewhere else, from the left to the right.
    static func voices(_ count: Int) -> [Voice] {
        (0..<count).map { number in
            let place = Double(number) / Double(count)
            let other = Double(number * 7919 % count) / Double(count)
            // Frequencies that a Float has exactly, and that come round after 2^16 frames.
            let frequency = (60 * exp2(7 * place) * 65_536 / sampleRate).rounded() * sampleRate / 65_536
            let center = Float(100 * exp2(6.5 * other))
            let filter = bandpass(center: Double(center), octaves: 1)
            let position = Float(Double(number * 31 % count) / Double(count) * 2 - 1)
            let angle = (Double(position) + 1) * .pi / 4
            return Voice(
                frequency: Float(frequency), level: Float(0.5 / Double(count).squareRoot()), center: center,
                position: position, b0: filter.b0, a1: filter.a1, a2: filter.a2, left: cos(angle), right: sin(angle))
        }
    }

    /// b0 (1 - z⁻²) / (1 + a1 z⁻¹ + a2 z⁻²): the cookbook's band-pass with the quality of that many octaves.
    static func bandpass(center: Double, octaves: Double) -> (b0: Double, a1: Double, a2: Double) {
        let q = FilterCoefficients.q(octaves: octaves, frequency: center, sampleRate: sampleRate)
        let turn = 2 * Double.pi * center / sampleRate
        let alpha = sin(turn) / (2 * q)
        return (alpha / (1 + alpha), -2 * cos(turn) / (1 + alpha), (1 - alpha) / (1 + alpha))
    }

    /// The flow: the first file through a band-pass, the two others through an echo.
    struct Flow: Codable {
        var center: Float = 1_000
        var octaves: Float = 1
        var delay = 12_000
        var feedback: Float = 0.4
        var mix: Float = 0.5
        var b0, a1, a2: Double

        init() { (b0, a1, a2) = Score.bandpass(center: 1_000, octaves: 1) }
    }

    /// Gains that together do little: 1,000 of them come to -8.7 dB.
    static let gain: Float = 0.999
    /// Constants that add up exactly.
    static let constant: Float = 0x1p-11
}
