/// Changes each event.
struct ChangedSource: PatternSource {
    let source: any PatternSource
    let change: @Sendable (inout MusicEvent) -> Void

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(span, into: &found)
        for index in first..<found.events.count { change(&found.events[index]) }
    }
}

/// Makes any number of events of each, at its beginning.
struct ExpandedSource: PatternSource {
    let source: any PatternSource
    let expand: @Sendable (MusicEvent) -> [MusicEvent]

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(span, into: &found)
        let events = Array(found.events[first...])
        found.events.removeSubrange(first...)
        for event in events {
            for made in expand(event) { found.append(made) }
        }
    }
}

/// Changes each note by the number of a second pattern that holds when it begins.
struct ControlledSource: PatternSource {
    let source: any PatternSource
    let control: any PatternSource
    /// How far back a number may have begun.
    let reach: Fraction
    let change: @Sendable (inout Note, Double) -> Void

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(span, into: &found)
        let end = found.events.count
        guard first < end, found.begin() else { return }
        control.collect(Span(from: span.from - reach, to: span.to), into: &found)
        let numbers = Array(found.events[end...]).sortedByStart().compactMap { event in
            event.note?.number.flatMap { $0.isFinite ? (event.start, $0) : nil }
        }
        found.events.removeSubrange(end...)
        for index in first..<found.events.count {
            guard case .note(var note) = found.events[index].content else { continue }
            // The last number that has begun.
            let start = found.events[index].start
            let count = numbers.indices.partition { numbers[$0].0 > start }
            guard count > 0, numbers[count - 1].0 > start - reach else { continue }
            change(&note, numbers[count - 1].1)
            found.events[index].content = .note(note)
        }
    }
}

extension Pattern {
    // MARK: Any change of the notes

    /// The pattern with each note changed. Other messages stay.
    public func map(_ change: @escaping @Sendable (Note) -> Note) -> Pattern {
        withNotes { $0 = change($0) }
    }

    /// The pattern with those notes alone that pass. Other messages stay.
    public func filter(_ passes: @escaping @Sendable (Note) -> Bool) -> Pattern {
        with(FilteredSource(source: source) { $0.note.map(passes) ?? true })
    }

    private func withNotes(_ change: @escaping @Sendable (inout Note) -> Void) -> Pattern {
        with(
            ChangedSource(source: source) { event in
                guard case .note(var note) = event.content else { return }
                change(&note)
                event.content = .note(note)
            })
    }

    private func controlled(by control: Pattern, _ change: @escaping @Sendable (inout Note, Double) -> Void) -> Pattern
    {
        with(
            ControlledSource(source: source, control: control.source, reach: control.cycle, change: change),
            of: control)
    }

    // MARK: Numbers

    /// The pattern with the numbers of its notes higher by some semitones. What is not finite changes nothing.
    public func transposed(by semitones: Double) -> Pattern {
        guard semitones.isFinite else { return self }
        return withNotes { $0.number = $0.number.map { $0 + semitones } }
    }

    /// The pattern with its notes higher by the numbers of another one: `transposed(by: "<0 5 7 5>")`.
    ///
    /// The last number that began counts, unless that is a cycle or more ago.
    public func transposed(by semitones: Pattern) -> Pattern {
        controlled(by: semitones) { note, number in note.number = note.number.map { $0 + number } }
    }

    /// The pattern with one velocity, held to 0…1. What is not a number changes nothing.
    public func velocity(_ velocity: Double) -> Pattern {
        if velocity.isNaN { return self }
        return withNotes { $0.velocity = min(max(velocity, 0), 1) }
    }

    /// The pattern with the numbers of another one as velocities, held to 0…1: `velocity("1 0.5 0.8 0.5")`.
    ///
    /// The last number that began counts, unless that is a cycle or more ago.
    public func velocity(_ velocities: Pattern) -> Pattern {
        controlled(by: velocities) { note, number in note.velocity = min(max(number, 0), 1) }
    }

    /// The pattern with each length times a factor: `legato(1/2)` has a rest behind each note. Below 0 it is held to 0.
    public func legato(_ factor: Fraction) -> Pattern {
        let factor = max(factor, 0)
        return with(ChangedSource(source: source) { $0.length *= factor })
    }

    // MARK: Scales and chords

    /// The pattern with its numbers as degrees of a scale: 0 is the root, 7 of a scale of seven notes its octave, -1 the note below.
    ///
    /// A number between two degrees counts as the nearest of them. A word without a number stays.
    ///
    /// - Parameters:
    ///   - scale: The scale.
    ///   - root: Its first note, by its name (`A3`) or its number. If it is neither, the pattern is silent, and ``problem`` says so.
    public func scale(_ scale: Scale, root: String = "c4") -> Pattern {
        guard let base = Note.number(of: root), base.isFinite else {
            let reason = "This is no root of a scale: write a note with its octave, as in A3, or a number."
            return Pattern(SilentSource(), cycle: cycle, problem: problem ?? PatternError(root, at: 0, reason))
        }
        return withNotes { $0.number = $0.number.map { base + scale.semitones(of: $0) } }
    }

    /// The pattern with a chord upon each note that has a number.
    public func chord(_ chord: Chord) -> Pattern {
        with(
            ExpandedSource(source: source) { event in
                guard let note = event.note, note.number != nil else { return [event] }
                return chord.notes(of: note).map { MusicEvent(.note($0), at: event.start, length: event.length) }
            })
    }
}
