import Foundation
import RenderStack

/// The melody to sing.
struct Melody: Sendable {
    /// A note of it.
    struct Note: Sendable, Equatable {
        /// Seconds.
        let start: Double
        let length: Double
        /// 69 is the A of 440 Hz.
        let number: Int

        var end: Double { start + length }
        var name: String {
            ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"][number % 12] + "\(number / 12 - 1)"
        }
    }

    let notes: [Note]

    /// The note at a time.
    func note(at seconds: Double) -> Note? { notes.last { $0.start <= seconds && seconds < $0.end } }

    /// Reads a text of lines "start length note", of an hour at most.
    ///
    /// - Throws: An error that says which line is none.
    init(path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        notes = try text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let start = Double(words[0]), let length = Double(words[1]),
                let number = Int(words[2]), start >= 0, length > 0, start + length <= 3_600, (0...127).contains(number)
            else {
                throw NoNote(description: "\(path): \"\(line)\" is not \"seconds seconds note\"")
            }
            return Note(start: start, length: length, number: number)
        }
    }

    /// Returns the melody so many semitones higher. It is sung in any octave, so that a note beyond those of MIDI moves
    /// by one.
    func transposed(by semitones: Int) -> Melody {
        Melody(
            notes.map { note in
                let number = note.number + semitones
                let inside = number < 0 ? number + 12 : number > 127 ? number - 12 : number
                return Note(start: note.start, length: note.length, number: inside)
            })
    }

    /// A line that is none.
    struct NoNote: Error, CustomStringConvertible {
        let description: String
    }

    private init(_ notes: [Note]) { self.notes = notes }

    // MARK: Made by arithmetic

    /// Half a second to the beat, two beats before it begins.
    private static let beat = 0.5

    /// Eight bars in C, each note with its beats.
    static let own: Melody = {
        let tune: [(note: Int, beats: Double)] = [
            (60, 1), (64, 1), (67, 2), (69, 1), (67, 1), (64, 2), (65, 1), (69, 1), (72, 2), (71, 2), (67, 2),
            (69, 1), (65, 1), (62, 2), (64, 1), (62, 1), (60, 2), (59, 2), (62, 2), (60, 4),
        ]
        var beats = 2.0
        return Melody(
            tune.map { note, length in
                defer { beats += length }
                return Note(start: beat * beats, length: beat * length, number: note)
            })
    }()

    /// A voice that sings it: harmonics that get fainter, no vibrato.
    func sung(flat cents: Double) -> Sound {
        Self.sound(seconds: (notes.last?.end ?? 0) + 0.5, channels: 1) { time, _ in
            guard let note = note(at: time) else { return 0 }
            let since = time - note.start
            let frequency = 440 * RenderMath.exp2((Double(note.number) - 69 - cents / 100) / 12)
            let edge = min(1, since / 0.02) * min(1, (note.end - time) / 0.03)
            let tones = (1...8).reduce(0.0) {
                $0 + RenderMath.sin(2 * .pi * frequency * Double($1) * since) / Double($1 * $1)
            }
            return 0.25 * edge * tones
        }
    }

    /// Chords and a bass, a chord a bar.
    static func backing() -> Sound {
        let chords: [[Int]] = [
            [48, 64, 67], [48, 60, 64], [53, 65, 69], [55, 62, 71], [53, 65, 69], [48, 64, 67], [55, 62, 71],
            [48, 64, 67],
        ]
        let bar = 4 * beat
        return sound(seconds: 2 * beat + 8 * bar + 1, channels: 2) { time, channel in
            let since = time - 2 * beat
            // Two clicks before it begins.
            if since < 0 {
                let click = time.truncatingRemainder(dividingBy: beat)
                return 0.2 * RenderMath.exp(-click / 0.01) * RenderMath.sin(2 * .pi * 1_500 * click)
            }
            guard since < 8 * bar else { return 0 }
            let inBeat = since.truncatingRemainder(dividingBy: beat)
            let edge = min(1, inBeat / 0.004) * min(1, (beat - inBeat) / 0.02)
            return chords[Int(since / bar)].enumerated().reduce(0.0) { sum, tone in
                let frequency = 440 * RenderMath.exp2((Double(tone.element) - 69) / 12)
                let side = channel == 0 ? 1.2 - 0.3 * Double(tone.offset) : 0.6 + 0.3 * Double(tone.offset)
                let decay = RenderMath.exp(-inBeat / 0.25)
                return sum + 0.06 * side * edge * decay * RenderMath.sin(2 * .pi * frequency * inBeat)
            }
        }
    }

    /// Returns the sound that rewards a note on key.
    static func bell() -> Sound {
        sound(seconds: 0.6, channels: 1) { time, _ in
            [(2_637.0, 1.0), (5_274, 0.4)].reduce(0.0) { sum, tone in
                sum + tone.1 * RenderMath.cos(2 * .pi * tone.0 * time) * RenderMath.exp(-time / 0.12)
            } * (1 - time / 0.6)
        }
    }

    private static func sound(
        seconds: Double, channels: Int, _ sample: (_ time: Double, _ channel: Int) -> Double
    ) -> Sound {
        var block = AudioBlock(channels: channels, frames: Int(seconds * 48_000))
        for channel in 0..<channels {
            for frame in 0..<block.frameCount { block[channel, frame] = Float(sample(Double(frame) / 48_000, channel)) }
        }
        return Sound(block, sampleRate: 48_000)
    }
}
