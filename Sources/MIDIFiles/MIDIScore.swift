public import RenderCore

/// Messages with their times, as a field of a module that plays them: an annotated `process` gets each on its frame.
///
///     private let score: MIDIScore                            // in the initialiser: score = MIDIScore(try MIDIFile(path: path))
///     …
///     while let event = score.next(&context) {                // in `process`
///         synth.send(event.message, at: event.frame, context)
///     }
///
/// It begins with the first cycle of the renderer, and again when the sample clock goes back.
///
/// Threads: control.
public struct MIDIScore: ~Copyable, Sendable {
    private let reading: RenderState<Reading>

    // Not private: Swift 6.3.1 crashes where a noncopyable type is destroyed in another file than its private parts.
    struct Reading: ~Copyable, Sendable {
        let entries: RenderMemory<MIDIFile.TimedMessage>
        var next = 0
        var time: Int64 = 0

        init(_ given: [MIDIFile.TimedMessage]) {
            entries = RenderMemory(given)
        }
    }

    /// Creates the score of a file.
    public init(_ file: MIDIFile) { self.init(file.messages) }

    /// Creates a score of messages in any order. Those of one time keep theirs.
    ///
    /// Messages before 0 and beyond eleven days are left out.
    public init(_ messages: [MIDIFile.TimedMessage]) {
        let known = messages.filter { $0.seconds >= 0 && $0.seconds < 1e6 }
        let sorted = known.enumerated().sorted { a, b in
            (a.element.seconds, a.offset) < (b.element.seconds, b.offset)
        }
        reading = RenderState(Reading(sorted.map(\.element)))
    }

    /// Returns the next message of this slice, in the frame that is nearest to its time; `nil` if there is none, and in a dry
    /// run, which plays nothing and keeps no place in the score.
    ///
    /// - Parameters:
    ///   - context: That of the slice.
    ///   - last: The last frame that counts, from the first of the slice, which is 0. Without it, the whole slice counts.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func next(_ context: inout RenderContext, upTo last: Int = .max) -> MIDIEvent? {
        if context.isDryRun { return nil }
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
}
