import RenderStack

/// Music to play when there is none.
enum Phrase {
    /// The phrase that the synthesiser plays by itself: four chords, broken up, over a bass; sixteen seconds, and again
    /// for an hour.
    static var messages: [MIDIFile.TimedMessage] {
        let chords: [[UInt8]] = [[57, 60, 64, 69], [53, 57, 60, 65], [48, 55, 60, 64], [55, 59, 62, 67]]
        var messages: [MIDIFile.TimedMessage] = []
        func add(_ note: UInt8, _ velocity: UInt8, at seconds: Double, for length: Double) {
            messages.append(
                MIDIFile.TimedMessage(seconds: seconds, .noteOn(channel: 0, note: note, velocity: velocity)))
            messages.append(
                MIDIFile.TimedMessage(seconds: seconds + length, .noteOff(channel: 0, note: note, velocity: 64)))
        }
        for bar in 0..<1_800 {
            let chord = chords[bar / 2 % chords.count]
            let start = 2 * Double(bar)
            add(chord[0] - 12, 110, at: start, for: 1.9)
            for step in 0..<16 {
                let note = chord[[0, 2, 1, 3, 2, 1][step % 6]] + (step % 4 == 3 ? 12 : 0)
                add(note, step % 4 == 0 ? 112 : 72, at: start + Double(step) * 0.125, for: 0.1)
            }
            // The filter opens over eight bars, and closes again.
            let distance = abs((bar + 4) % 8 - 4)
            let turn = UInt8(60 + 10 * distance)
            messages.append(MIDIFile.TimedMessage(seconds: start, .controller(channel: 0, number: 74, value: turn)))
        }
        return messages
    }
}
