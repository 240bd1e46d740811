internal import Music
internal import RenderCore
internal import Sharing
internal import Synchronization
internal import Voices

/// One content of a track, with its table of notes: a clip, whose table is whole, or a pattern, of which a thread beside the audio
/// works out the beats that are played soon.
final class TrackSource: Sendable {
    let table: ManagedValue<NoteTable>
    /// The number of the content, which no other has.
    let number: Int
    /// Its length, after which it begins again; 0 for a pattern.
    let length: Double
    /// Told by the render thread: the bits of the beat of the clock at which the track's beat 0 is, and 1 when it has been seen.
    let told = SharedWords()
    private let pattern: Pattern?
    private let target: any NoteTarget
    private let known = Lock(Known(), .stream)
    private let trouble = Lock<String?>(nil, .leaf)

    private struct Known {
        var spans: [TableSpan] = []
        /// The question that they answer.
        var question = 0
    }

    private static let numbers = Atomic<Int>(0)
    /// The notes that a table may have.
    private static let noteLimit = 1 << 20
    /// The beats that are worked out ahead.
    static let ahead = 16.0

    init(_ clip: Clip, _ target: any NoteTarget) {
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        length = max(clip.length.value, Performance.shortestLoop)
        self.target = target
        pattern = nil
        var problem: String?
        let notes = Self.notes(clip.events, target, &problem)
        table = ManagedValue(NoteTable(notes, [TableSpan(from: -1, to: .infinity)]))
        let first = problem
        trouble.withLock { $0 = first }
    }

    init(_ pattern: Pattern, _ target: any NoteTarget) {
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        length = 0
        self.target = target
        self.pattern = pattern
        table = ManagedValue(NoteTable([], []))
        let problem = pattern.problem.map { "\($0)" }
        trouble.withLock { $0 = problem }
    }

    /// The first thing that was wrong with its notes.
    var problem: String? { trouble.withLock { $0 } }

    /// Sees to it that the notes of some spans are there. Returns `true` if the table is another one now.
    ///
    /// - Parameters:
    ///   - wanted: The beats from which on notes are wanted, and how many beats.
    ///   - question: The number of the question; a later one has a higher number, and its answer stays.
    func provide(_ wanted: [TableSpan], question: Int) -> Bool {
        guard let pattern else { return false }
        let isThere = known.withLock { known in
            wanted.allSatisfy { span in
                known.spans.contains { $0.from <= span.from && $0.to >= span.from + (span.to - span.from) / 2 }
            }
        }
        if isThere { return false }
        let joined = Self.joined(wanted)
        // The function is the user's: no lock is held while it runs.
        var events: [MusicEvent] = []
        for span in joined where events.count < Self.noteLimit {
            events += pattern.events(from: Fraction(Int(span.from)), to: Fraction(Int(span.to)))
        }
        var problem: String?
        let notes = Self.notes(events, target, &problem)
        let found = problem
        trouble.withLock { $0 = $0 ?? found }
        return known.withLock { known in
            if question < known.question { return false }
            known = Known(spans: joined, question: question)
            // Not with a transaction that may be open here: it is what the track plays anyway.
            OpenTransaction.suspended { table.set(NoteTable(notes, joined)) }
            return true
        }
    }

    /// The spans in whole beats, those that touch made one.
    private static func joined(_ wanted: [TableSpan]) -> [TableSpan] {
        var joined: [TableSpan] = []
        for span in wanted.sorted(by: { $0.from < $1.from }) {
            let (from, to) = (max(0, span.from.rounded(.down)), max(0, min(span.to, 1e12)).rounded(.up))
            if let last = joined.last, last.to >= from {
                joined[joined.count - 1].to = max(last.to, to)
            } else {
                joined.append(TableSpan(from: from, to: to))
            }
        }
        return joined
    }

    private static func notes(_ events: [MusicEvent], _ target: any NoteTarget, _ problem: inout String?) -> [TableNote] {
        var notes: [TableNote] = []
        notes.reserveCapacity(min(events.count, noteLimit))
        // Of one beat, in the order in which they are given.
        let sorted = events.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        for event in sorted.prefix(noteLimit).lazy.map(\.element) {
            var note = TableNote()
            note.start = event.start.value
            note.length = max(0, event.length.value)
            switch event.content {
            case .message(let message): (note.isMessage, note.message) = (true, message)
            case .note(let written):
                guard let number = target.number(forWord: written.word, written.number), number.isFinite else {
                    problem = problem ?? "The target has no note \"\(written.word)\"; it is left out."
                    continue
                }
                note.number = Float(number)
                note.velocity = Float(max(0, min(written.velocity, 1)))
            }
            notes.append(note)
        }
        if events.count > noteLimit {
            problem = "The track has more than \(noteLimit) notes at once; the later ones are left out."
        }
        return notes
    }
}
