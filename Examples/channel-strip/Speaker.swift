import RenderStack

/// An artificial speaker: words of a voice, loud and soft ones, over the hiss of a cheap preamplifier.
enum Speaker {
    private static let words: [(start: Double, length: Double, pitch: Double, level: Double)] = [
        (0.2, 0.25, 120, 0.5), (0.5, 0.4, 135, 0.12), (1.0, 0.3, 110, 0.8), (1.9, 0.2, 140, 0.2),
        (2.15, 0.35, 125, 0.6),
        (2.6, 0.5, 100, 0.35),
    ]

    /// Four seconds of it, in one channel.
    static func sound() -> Sound {
        let rate = 48_000
        var samples = [Float](repeating: 0, count: 4 * rate)
        var hiss: UInt32 = 1
        for frame in samples.indices {
            hiss = hiss &* 1_664_525 &+ 1_013_904_223
            samples[frame] = 0.001 * Float(Int32(bitPattern: hiss)) * 0x1p-31
        }
        for word in words {
            let count = Int(word.length * Double(rate))
            for frame in 0..<count {
                let time = Double(frame) / Double(rate)
                let shape = RenderMath.sin(.pi * Double(frame) / Double(count))
                // The harmonics of a voice, with a formant near 700 Hz.
                var value = 0.0
                for harmonic in 1...20 {
                    let frequency = Double(harmonic) * word.pitch
                    let distance = (frequency - 700) / 400
                    value += RenderMath.sin(2 * .pi * frequency * time) / (1 + distance * distance)
                }
                samples[Int(word.start * Double(rate)) + frame] += Float(0.3 * word.level * shape * value)
            }
        }
        return Sound(AudioBlock([samples]), sampleRate: Double(rate))
    }
}
