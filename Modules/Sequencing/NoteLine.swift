public import RenderCore
internal import Sharing
public import Voices

/// A target whose notes a render loop or a module reads itself.
///
///     let hits = NoteLine()
///     let track = Track("hits", Pattern("1 0 0.5"), to: hits)
///     …
///     context.run(sequencer)                                      // in the loop
///     while let hit = hits.next(&context) { flash(hit.note.number, hit.frame) }
///
/// One reader takes each event once.
///
/// Threads: control.
public final class NoteLine: NoteTarget {
    /// The beginning or the end of a note, or a message, with its frame.
    ///
    /// Threads: any.
    public struct Event: Sendable, BitwiseCopyable {
        /// The frame, from the first of the slice.
        public var frame: Int
        /// The note; that of a message has the number 0.
        public var note: TargetNote
        /// Indicates whether the note begins.
        public var begins: Bool
        /// The message, if it is one.
        public var message: MIDIMessage?
    }

    private let events = CommandQueue<Event>(capacity: 1_024)

    /// Creates a line.
    public init() {}

    /// Returns the next event of the slice; `nil` if there is none any more.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func next(_ context: inout RenderContext) -> Event? {
        guard let due = events.next(&context) else { return nil }
        var event = due.command
        event.frame = due.frame
        return event
    }

    /// Keeps the beginning of a note for the reader.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        events.send(Event(frame: frame, note: note, begins: true), inFrame: frame, context)
    }

    /// Keeps the end of a note for the reader.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        events.send(Event(frame: frame, note: note, begins: false), inFrame: frame, context)
    }

    /// Keeps a message for the reader.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        let none = TargetNote(voice: 0, number: 0, velocity: 0)
        return events.send(Event(frame: frame, note: none, begins: false, message: message), inFrame: frame, context)
    }
}
