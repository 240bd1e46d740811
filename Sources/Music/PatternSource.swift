/// A source finds the events of a pattern.
///
/// It appends those that begin in a span, in an order that depends on how the pattern is made, never on the span. `Pattern` sorts
/// them by their beginnings at the end, and events of one beginning keep that order.
protocol PatternSource: Sendable {
    func collect(_ span: Span, into found: inout Found)
}

/// Beats from one to another, which does not belong to it.
struct Span {
    var from: Fraction
    var to: Fraction

    var isEmpty: Bool { !(from < to) }

    func contains(_ beat: Fraction) -> Bool { from <= beat && beat < to }

    func and(_ other: Span) -> Span { Span(from: max(from, other.from), to: min(to, other.to)) }

    /// The numbers of the cycles of a length that it touches.
    func cycles(of length: Fraction) -> Range<Int> {
        // A position beyond this could overflow, and no sequence comes there.
        let most = 1 << 53
        guard length > 0, !isEmpty else { return 0..<0 }
        let (first, last) = ((from / length).floor, (to / length).ceiling)
        guard first.magnitude < most, last.magnitude < most, first < last else { return 0..<0 }
        return first..<last
    }

    /// A cycle of a length.
    static func cycle(_ index: Int, of length: Fraction) -> Span {
        let start = Fraction(index) * length
        return Span(from: start, to: start + length)
    }
}

/// The events that were found, and how much more work is allowed.
struct Found {
    var events: [MusicEvent] = []
    private(set) var room: Int

    init(room: Int = 1 << 18) { self.room = room }

    /// Takes the room for some work, which is as much as to find one event.
    ///
    /// - Returns: Whether there was any left.
    mutating func begin() -> Bool {
        if room <= 0 { return false }
        room -= 1
        return true
    }

    mutating func append(_ event: MusicEvent) {
        if begin() { events.append(event) }
    }
}

struct SilentSource: PatternSource {
    func collect(_ span: Span, into found: inout Found) {}
}

/// The function that a user gives.
struct ClosureSource: PatternSource {
    let function: @Sendable (Fraction, Fraction) -> [MusicEvent]

    func collect(_ span: Span, into found: inout Found) {
        // Beats that are held at their largest can leave nothing of a span, which a user's range would not stand.
        if span.isEmpty { return }
        for event in function(span.from, span.to) where span.contains(event.start) { found.append(event) }
    }
}

/// One note for each cycle of one beat.
struct NoteSource: PatternSource {
    let notes: [Note]

    func collect(_ span: Span, into found: inout Found) {
        let (first, last) = (span.from.ceiling, span.to.ceiling)
        guard first < last, first.magnitude < 1 << 53 else { return }
        for cycle in first..<last {
            guard found.begin() else { return }
            for note in notes { found.append(MusicEvent(.note(note), at: Fraction(cycle), length: 1)) }
        }
    }
}

/// Several at once.
struct StackSource: PatternSource {
    let sources: [any PatternSource]

    func collect(_ span: Span, into found: inout Found) {
        for source in sources where found.begin() { source.collect(span, into: &found) }
    }
}

/// Those events alone that pass.
struct FilteredSource: PatternSource {
    let source: any PatternSource
    let passes: @Sendable (MusicEvent) -> Bool

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(span, into: &found)
        var kept = first
        for index in first..<found.events.count where passes(found.events[index]) {
            if kept < index { found.events.swapAt(kept, index) }
            kept += 1
        }
        found.events.removeSubrange(kept...)
    }
}

/// Events that come again and again, known beforehand.
struct TableSource: PatternSource {
    /// The events of one round, sorted.
    private let events: [MusicEvent]
    /// The beats of a round.
    private let round: Fraction

    /// Creates a source of the events whose beginnings are in the first round.
    init(_ events: [MusicEvent], round: Fraction) {
        let first = Span(from: 0, to: round)
        self.events = events.filter { first.contains($0.start) }.sortedByStart()
        self.round = round
    }

    func collect(_ span: Span, into found: inout Found) {
        if events.isEmpty { return }
        for index in span.cycles(of: round) {
            guard found.begin() else { return }
            let base = Fraction(index) * round
            let end = span.to - base
            for entry in firstIndex(from: span.from - base)..<events.count {
                if events[entry].start >= end { return }
                var event = events[entry]
                event.start += base
                found.append(event)
            }
        }
    }

    /// The index of the first event that does not begin before a beat.
    private func firstIndex(from beat: Fraction) -> Int {
        if beat <= events[0].start { return 0 }
        return events.indices.partition { events[$0].start >= beat }
    }
}

extension [MusicEvent] {
    /// The events by their beginnings; those of one beginning keep their order.
    func sortedByStart() -> [MusicEvent] {
        for index in indices.dropFirst() where self[index].start < self[index - 1].start {
            return sorted { $0.start < $1.start }
        }
        return self
    }
}
