import ExampleSupport
import RenderStack

/// The notes of a song as bars: time from left to right, pitch from below.
struct PianoRoll: Sendable {
    private struct Note {
        var channel: Int
        var key: Int
        var seconds: ClosedRange<Double>
    }

    private let notes: [Note]
    private let keys: ClosedRange<Int>
    private let duration: Double

    init(_ messages: [MIDIFile.TimedMessage], duration: Double) {
        var (notes, open) = ([Note](), [Int: [Double]]())
        for message in messages {
            switch message.message {
            case .noteOn(let channel, let key, let velocity) where velocity > 0:
                open[Int(channel) << 7 | Int(key), default: []].append(message.seconds)
            case .noteOn(let channel, let key, _), .noteOff(let channel, let key, _):
                if let begin = open[Int(channel) << 7 | Int(key)]?.popLast() {
                    notes.append(Note(channel: Int(channel), key: Int(key), seconds: begin...message.seconds))
                }
            default: break
            }
        }
        // Notes that no message ends last as long as the song.
        for (place, begins) in open {
            for begin in begins {
                notes.append(Note(channel: place >> 7, key: place & 127, seconds: begin...max(begin, duration)))
            }
        }
        self.notes = notes.sorted { $0.seconds.lowerBound < $1.seconds.lowerBound }
        let all = notes.filter { $0.channel != 9 }.map(\.key)
        keys = max(0, (all.min() ?? 48) - 2)...min(127, (all.max() ?? 72) + 2)
        self.duration = max(0.1, duration)
    }

    /// The number of notes.
    var count: Int { notes.count }

    /// Returns lines of text around a time, which is at their fourth part.
    func lines(at now: Double, width: Int = 72, height: Int = 24) -> [String] {
        let seconds = 8.0
        let first = now - seconds / 4
        var rows = [[Character]](repeating: Array(repeating: " ", count: width), count: height + 1)
        func column(_ time: Double) -> Int { Int((time - first) / seconds * Double(width)) }
        for note in notes {
            if note.seconds.lowerBound > first + seconds { break }
            let (from, to) = (max(0, column(note.seconds.lowerBound)), min(width - 1, column(note.seconds.upperBound)))
            if note.seconds.upperBound < first || from >= width { continue }
            // Drums have a line of their own.
            let row = note.channel == 9 ? height : height - 1 - (note.key - keys.lowerBound) * height / keys.count
            guard rows.indices.contains(row) else { continue }
            let isHeard = note.seconds.contains(now)
            for place in from...max(from, to) { rows[row][place] = note.channel == 9 ? "x" : isHeard ? "█" : "▒" }
        }
        for row in rows.indices where rows[row][width / 4] == " " { rows[row][width / 4] = "│" }
        return rows.map { String($0) }
    }

    /// Draws the whole song.
    func draw() -> Picture {
        var picture = Picture(width: 960, height: 360)
        let time = Axis(0...duration, from: 84, to: 871)
        let pitch = Axis(Double(keys.lowerBound)...Double(keys.upperBound + 1), from: 300, to: 40)
        picture.write("piano roll", x: 84, y: 20)
        for octave in stride(from: 0, through: 120, by: 12) where keys.contains(octave) {
            picture.fill(84...871, pitch.pixel(Double(octave))...pitch.pixel(Double(octave)), .grid)
            picture.write("C\(octave / 12 - 1)", x: 76, y: pitch.pixel(Double(octave)), .right)
        }
        for mark in time.marks(8) {
            picture.fill(time.pixel(mark)...time.pixel(mark), 40...318, .grid)
            picture.write(Axis.label(mark), x: time.pixel(mark), y: 336, .centre)
        }
        picture.write("s", x: 888, y: 336)
        for note in notes {
            let (from, to) = (time.pixel(note.seconds.lowerBound), time.pixel(note.seconds.upperBound))
            if note.channel == 9 {
                picture.fill(from...from + 1, 306...316, .ink)
            } else if keys.contains(note.key) {
                let (low, high) = (pitch.pixel(Double(note.key)), pitch.pixel(Double(note.key + 1)))
                let colours: [Picture.Colour] = [.blue, .red, .lightBlue]
                picture.fill(from...max(from, to - 1), min(high + 1, low)...low, colours[note.channel % 3])
            }
        }
        return picture
    }
}
