/// Another pace: a beat of the result is as many beats of the source as the factor says.
struct PacedSource: PatternSource {
    let source: any PatternSource
    let factor: Fraction

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(Span(from: span.from * factor, to: span.to * factor), into: &found)
        for index in first..<found.events.count {
            found.events[index].start /= factor
            found.events[index].length /= factor
        }
    }
}

/// Later by some beats.
struct DelayedSource: PatternSource {
    let source: any PatternSource
    let delay: Fraction

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(Span(from: span.from - delay, to: span.to - delay), into: &found)
        for index in first..<found.events.count { found.events[index].start += delay }
    }
}

/// Pieces that take turns. Each plays one cycle of its source, fitted into the piece, and the next cycle in the next round.
struct RoundSource: PatternSource {
    struct Piece {
        let source: any PatternSource
        /// The cycle of the source.
        let cycle: Fraction
        /// The place in the round.
        let span: Span
        /// The beats of the source for each beat of the piece.
        let factor: Fraction
    }

    let pieces: [Piece]
    let round: Fraction

    /// Creates rounds of pieces, with the beats of each; pieces without beats are left out.
    init(_ pieces: [(source: any PatternSource, cycle: Fraction, beats: Fraction)]) {
        var start: Fraction = 0
        var made: [Piece] = []
        for piece in pieces where piece.cycle > 0 && piece.beats > 0 {
            let end = start + piece.beats
            if !(piece.source is SilentSource) {
                made.append(
                    Piece(
                        source: piece.source, cycle: piece.cycle, span: Span(from: start, to: end),
                        factor: piece.cycle / piece.beats))
            }
            start = end
        }
        (self.pieces, round) = (made, start)
    }

    func collect(_ span: Span, into found: inout Found) {
        for index in span.cycles(of: round) {
            guard found.begin() else { return }
            let base = Fraction(index) * round
            let inRound = Span(from: span.from - base, to: span.to - base)
            var entry = firstIndex(endingAfter: inRound.from)
            while entry < pieces.count, pieces[entry].span.from < inRound.to, found.begin() {
                let piece = pieces[entry]
                let part = inRound.and(piece.span)
                let origin = Fraction(index) * piece.cycle
                let first = found.events.count
                piece.source.collect(
                    Span(
                        from: origin + (part.from - piece.span.from) * piece.factor,
                        to: origin + (part.to - piece.span.from) * piece.factor), into: &found)
                for place in first..<found.events.count {
                    let event = found.events[place]
                    found.events[place].start = base + piece.span.from + (event.start - origin) / piece.factor
                    found.events[place].length = event.length / piece.factor
                }
                entry += 1
            }
        }
    }

    /// The index of the first piece that ends after a beat of the round.
    private func firstIndex(endingAfter beat: Fraction) -> Int {
        if beat <= 0 { return 0 }
        return pieces.indices.partition { pieces[$0].span.to > beat }
    }
}

/// One of several sources in each cycle.
struct PickedSource: PatternSource {
    let sources: [any PatternSource]
    let cycle: Fraction
    /// The index of the source for a cycle.
    let pick: @Sendable (Int) -> Int

    func collect(_ span: Span, into found: inout Found) {
        if sources.isEmpty { return }
        for number in span.cycles(of: cycle) {
            guard found.begin() else { return }
            sources[pick(number)].collect(span.and(.cycle(number, of: cycle)), into: &found)
        }
    }
}

/// The events of each cycle at other places of the cycle.
struct RearrangedSource: PatternSource {
    enum Change: Sendable {
        case reversed
        case rotated(Fraction)
    }

    let source: any PatternSource
    let cycle: Fraction
    let change: Change

    func collect(_ span: Span, into found: inout Found) {
        // One question for all cycles: several would ask a source that is moved against them for most cycles twice.
        let cycles = span.cycles(of: cycle)
        guard !cycles.isEmpty, found.begin() else { return }
        let start = Fraction(cycles.lowerBound) * cycle
        let first = found.events.count
        source.collect(Span(from: start, to: Fraction(cycles.upperBound) * cycle), into: &found)
        var kept = first
        for index in first..<found.events.count {
            var event = found.events[index]
            let place = (event.start - start).remainder(by: cycle)
            let moved =
                switch change {
                case .reversed: cycle - place - event.length
                case .rotated(let beats): place + beats
                }
            event.start += moved.remainder(by: cycle) - place
            if span.contains(event.start) {
                found.events[kept] = event
                kept += 1
            }
        }
        found.events.removeSubrange(kept...)
    }
}

/// Pairs of steps of which the first takes longer than the second.
struct SwingSource: PatternSource {
    let source: any PatternSource
    let grid: Fraction
    /// The middle of a pair, 0…2 steps.
    let middle: Fraction

    func collect(_ span: Span, into found: inout Found) {
        let first = found.events.count
        source.collect(Span(from: straight(span.from), to: straight(span.to)), into: &found)
        for index in first..<found.events.count {
            let event = found.events[index]
            let start = swung(event.start)
            found.events[index].start = start
            if event.length > 0 { found.events[index].length = swung(event.end) - start }
        }
    }

    private func swung(_ beat: Fraction) -> Fraction { bent(beat, from: 1, to: middle) }
    private func straight(_ beat: Fraction) -> Fraction { bent(beat, from: middle, to: 1) }

    /// Moves a beat so that the middle of its pair of steps goes from one place to another.
    private func bent(_ beat: Fraction, from: Fraction, to: Fraction) -> Fraction {
        let inPair = beat.remainder(by: grid * 2) / grid
        let moved = inPair < from ? inPair * to / from : to + (inPair - from) * (2 - to) / (2 - from)
        return beat + (moved - inPair) * grid
    }
}
