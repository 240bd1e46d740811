import RenderStack

/// Four seconds of a drum and a few plucked notes, with room between them.
enum Phrase {
    static func sound() -> Sound {
        let rate = 48_000
        var samples = [Float](repeating: 0, count: 4 * rate)
        var chance: UInt32 = 1
        // A stroke of a drum: noise, and a low tone below it.
        for (start, level) in [(0.0, 0.6), (0.5, 0.3), (0.75, 0.4)] {
            for frame in 0..<rate / 4 {
                chance = chance &* 1_664_525 &+ 1_013_904_223
                let time = Double(frame) / Double(rate)
                let noise = Double(Int32(bitPattern: chance)) * 0x1p-31 * RenderMath.exp(-time / 0.03)
                let tone = RenderMath.sin(2 * .pi * 180 * time) * RenderMath.exp(-time / 0.05)
                samples[Int(start * Double(rate)) + frame] += Float(level * (0.6 * noise + 0.6 * tone))
            }
        }
        // Plucked notes.
        for (start, pitch) in [(1.75, 330.0), (2.0, 415.3), (2.25, 493.9), (2.5, 659.3)] {
            for frame in 0..<rate {
                let time = Double(frame) / Double(rate)
                var value = 0.0
                for harmonic in 1...6 {
                    let h = Double(harmonic)
                    value += RenderMath.sin(2 * .pi * pitch * h * time) * RenderMath.exp(-time * (4 + 5 * h)) / h
                }
                let rise = min(1, time / 0.002)
                samples[Int(start * Double(rate)) + frame] += Float(0.25 * rise * value)
            }
        }
        return Sound(AudioBlock([samples]), sampleRate: Double(rate))
    }
}
