import Foundation
import RenderStack

/// Messages with their times, for a render closure.
struct Score: Sendable {
    /// A message of the piece.
    struct Entry: BitwiseCopyable, Sendable {
        let seconds: Double
        let message: MIDIMessage
    }

    private let part: Part

    /// What the render thread has.
    private final class Part: Sendable {
        let reading: RenderState<Reading>
        init(_ entries: [Entry]) { reading = RenderState(Reading(entries)) }
    }

    private struct Reading: ~Copyable, Sendable {
        let entries: RenderMemory<Entry>
        var next = 0
        var time: Int64 = 0

        init(_ given: [Entry]) {
            var entries = RenderMemory(repeating: Entry(seconds: 0, message: .activeSensing), count: given.count)
            for (index, entry) in given.enumerated() { entries[index] = entry }
            self.entries = entries
        }
    }

    /// - Parameter entries: in any order; those of one time stay in theirs. What lies beyond eleven days is left out.
    init(_ entries: [Entry]) {
        let sorted = entries.filter { $0.seconds < 1e6 }.enumerated().sorted { a, b in
            a.element.seconds == b.element.seconds ? a.offset < b.offset : a.element.seconds < b.element.seconds
        }
        part = Part(sorted.map(\.element))
    }

    /// Goes through the messages of this slice: each in the frame that is nearest to its time.
    func forEachEvent(_ context: inout RenderContext, _ body: (MIDIEvent, inout RenderContext) -> Void) {
        part.reading.with(&context) { reading, context in
            // A clock that went back begins anew.
            if context.sampleTime < reading.time { reading.next = 0 }
            reading.time = context.sampleTime
            while reading.next < reading.entries.count {
                let entry = reading.entries[reading.next]
                let frame = Int(Int64(entry.seconds * context.sampleRate + 0.5) - context.sampleTime)
                if frame >= context.frameCount { break }
                body(MIDIEvent(frame: max(0, frame), entry.message), &context)
                reading.next += 1
            }
        }
    }

    /// What is heard when nobody plays: four chords, broken up, over a bass; sixteen seconds, and again for an hour.
    static var phrase: Score {
        let chords: [[UInt8]] = [[57, 60, 64, 69], [53, 57, 60, 65], [48, 55, 60, 64], [55, 59, 62, 67]]
        var entries: [Entry] = []
        func add(_ note: UInt8, _ velocity: UInt8, at seconds: Double, for length: Double) {
            entries.append(Entry(seconds: seconds, message: .noteOn(channel: 0, note: note, velocity: velocity)))
            entries.append(
                Entry(seconds: seconds + length, message: .noteOff(channel: 0, note: note, velocity: 64)))
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
            let turn = UInt8(60 + 40 * abs(Double((bar + 4) % 8) / 4 - 1))
            entries.append(Entry(seconds: start, message: .controller(channel: 0, number: 74, value: turn)))
        }
        return Score(entries)
    }
}
