import Foundation
import RenderStack

/// Messages with their times, for a module to play.
struct Score: ~Copyable, Sendable {
    /// A message of the piece.
    struct Entry: BitwiseCopyable, Sendable {
        let seconds: Double
        let message: MIDIMessage
    }

    private let reading: RenderState<Reading>

    // Not private: Swift 6.3.1 crashes where a noncopyable type is destroyed in another file than its private parts.
    struct Reading: ~Copyable, Sendable {
        let entries: RenderMemory<Entry>
        var next = 0
        var time: Int64 = 0

        init(_ given: [Entry]) {
            var entries = RenderMemory(repeating: Entry(seconds: 0, message: .activeSensing), count: given.count)
            for (index, entry) in given.enumerated() { entries[index] = entry }
            self.entries = entries
        }
    }

    /// - Parameter entries: The entries in any order; those of one time keep theirs. Entries beyond eleven days are
    ///   left out.
    init(_ entries: [Entry]) {
        let sorted = entries.filter { $0.seconds < 1e6 }.enumerated().sorted { a, b in
            a.element.seconds == b.element.seconds ? a.offset < b.offset : a.element.seconds < b.element.seconds
        }.map(\.element)
        reading = RenderState(Reading(sorted))
    }

    /// The next message of this slice up to a frame, in the frame that is nearest to its time; `nil` if there is none.
    @_noLocks @_noAllocation
    func next(_ context: inout RenderContext, upTo last: Int) -> MIDIEvent? {
        var event: MIDIEvent?
        reading.with(&context) { reading, context in
            // A clock that went back begins anew.
            if context.sampleTime < reading.time { reading.next = 0 }
            reading.time = context.sampleTime
            if reading.next < reading.entries.count {
                let entry = reading.entries[reading.next]
                let frame = Int(Int64(entry.seconds * context.sampleRate + 0.5) &- context.sampleTime)
                if frame <= last && frame < context.frameCount {
                    event = MIDIEvent(frame: frame > 0 ? frame : 0, entry.message)
                    reading.next &+= 1
                }
            }
        }
        return event
    }

    /// The phrase that the synthesiser plays by itself: four chords, broken up, over a bass; sixteen seconds, and again
    /// for an hour.
    static var phrase: [Entry] {
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
            let distance = abs((bar + 4) % 8 - 4)
            let turn = UInt8(60 + 10 * distance)
            entries.append(Entry(seconds: start, message: .controller(channel: 0, number: 74, value: turn)))
        }
        return entries
    }
}
