import RenderStack

/// The phrase that the synthesiser plays by itself: four chords, broken up, over a bass; sixteen seconds, again and again.
enum Phrase {
    static var clip: Clip {
        let chords: [[Int]] = [[57, 60, 64, 69], [53, 57, 60, 65], [48, 55, 60, 64], [55, 59, 62, 67]]
        var clip = Clip(length: .bars(8))
        func add(_ key: Int, _ velocity: Double, at beat: Fraction, for length: Fraction) {
            clip.add("\(key)", at: beat, length: length, velocity: velocity / 127)
        }
        for bar in 0..<8 {
            let chord = chords[bar / 2 % chords.count]
            let start = Fraction.bars(Fraction(bar))
            add(chord[0] - 12, 110, at: start, for: 3.8)
            for step in 0..<16 {
                let key = chord[[0, 2, 1, 3, 2, 1][step % 6]] + (step % 4 == 3 ? 12 : 0)
                add(key, step % 4 == 0 ? 112 : 72, at: start + Fraction(step, 4), for: 0.2)
            }
            // The filter opens over eight bars, and closes again.
            let distance = abs((bar + 4) % 8 - 4)
            clip.add(.controller(channel: 0, number: 74, value: UInt8(60 + 10 * distance)), at: start)
        }
        return clip
    }
}
