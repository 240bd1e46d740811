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
    /// Its length, after which it begins again; 0 if it does not.
    let length: Double
    /// The beat behind its last note; 0 for a pattern.
    let end: Fraction
    /// Told by the render thread: the bits of the beat of the clock at which the track's beat 0 is, 1 when it has been seen, and the bits of
    /// its rate and its loop.
    let told = SharedWords()
    let content: Content
    private let target: any NoteTarget
    private let known = Lock(Known(), .stream)
    private let trouble = Lock<String?>(nil, .leaf)

    /// A pattern or a clip that a track plays.
    enum Content: Sendable {
        case pattern(Pattern)
        case clip(Clip)
    }

    private struct Known {
        var windows: [Int: [TableNote]] = [:]
        /// The question that they answer.
        var question = 0
    }

    private static let numbers = Atomic<Int>(0)
    /// The notes that a table may have.
    private static let noteLimit = 1 << 20
    /// The beats of a window.
    static let window = 16

    convenience init(_ content: Content, _ target: any NoteTarget, repeats: Bool) {
        switch content {
        case .pattern(let pattern): self.init(pattern, target)
        case .clip(let clip): self.init(clip, target, repeats: repeats)
        }
    }

    init(_ clip: Clip, _ target: any NoteTarget, repeats: Bool) {
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        let beats = clip.length.value
        length = repeats ? max(beats, Performance.shortestLoop) : 0
        self.target = target
        content = .clip(clip)
        var problem: String?
        // Of a clip that is played once, the events at its end count too.
        let inside = clip.events.filter {
            $0.start >= 0 && ($0.start < clip.length || !repeats && $0.start == clip.length)
        }
        end = inside.lazy.map(\.end).max() ?? 0
        if beats < Performance.shortestLoop {
            problem = "The clip is \(clip.length) beats long, and silent; it must be 1/16 of a beat or longer."
        } else if inside.count < clip.events.count {
            problem =
                "\(clip.events.count - inside.count) notes of the clip begin outside of its length; they are left out."
        }
        let notes = beats < Performance.shortestLoop ? [] : Self.notes(inside, target, &problem)
        table = ManagedValue(NoteTable(notes, [TableSpan(from: -1, to: .infinity)], ChannelStates(of: notes)))
        let first = problem
        trouble.withLock { $0 = first }
    }

    init(_ pattern: Pattern, _ target: any NoteTarget) {
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        (length, end) = (0, 0)
        self.target = target
        content = .pattern(pattern)
        table = ManagedValue(NoteTable([], [], ChannelStates()))
        let problem = pattern.problem.map { "\($0)" }
        trouble.withLock { $0 = problem }
    }

    /// Indicates that its notes are worked out as they are wanted.
    var isPattern: Bool { if case .pattern = content { true } else { false } }

    /// The first thing that was wrong with its notes.
    var problem: String? { trouble.withLock { $0 } }

    /// Sees to it that the notes of some windows are there: each is so many beats long, and they count from beat 0.
    ///
    /// - Parameters:
    ///   - wanted: The windows in which notes are wanted.
    ///   - question: The number of the question; a later one has a higher number, and its answer stays.
    ///   - signal: Tells the render thread of another table.
    func provide(_ wanted: Set<Int>, question: Int, _ signal: ChangeSignal) {
        guard case .pattern(let pattern) = content else { return }
        let old = known.withLock { known in
            let isWhole = wanted.allSatisfy { known.windows[$0] != nil }
            // An older answer that comes later would take windows away.
            if isWhole { known.question = max(known.question, question) }
            return isWhole ? nil : known.windows
        }
        guard let old else { return }
        let missing = wanted.filter { old[$0] == nil }
        // The function is the user's: no lock is held while it runs.
        var problem: String?
        var windows = old.filter { wanted.contains($0.key) }
        for window in missing {
            let (from, to) = (Fraction(window * Self.window), Fraction((window + 1) * Self.window))
            windows[window] = Self.notes(pattern.events(from: from, to: to), target, &problem)
        }
        let (found, all) = (problem, windows)
        trouble.withLock { $0 = $0 ?? found }
        known.withLock { known in
            if question < known.question { return }
            known = Known(windows: all, question: question)
            let order = all.keys.sorted()
            let notes = order.flatMap { all[$0] ?? [] }
            // Not with a transaction that may be open here: it is what the track plays anyway.
            OpenTransaction.suspended {
                signal.raise { table.set(NoteTable(notes, Self.spans(order), ChannelStates())) }
            }
        }
    }

    /// The spans of some windows, those that touch made one.
    private static func spans(_ windows: [Int]) -> [TableSpan] {
        var spans: [TableSpan] = []
        for window in windows {
            let (from, to) = (Double(window * Self.window), Double((window + 1) * Self.window))
            if let last = spans.last, last.to == from {
                spans[spans.count - 1].to = to
            } else {
                spans.append(TableSpan(from: from, to: to))
            }
        }
        return spans
    }

    private static func notes(_ events: [MusicEvent], _ target: any NoteTarget, _ problem: inout String?) -> [TableNote]
    {
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
