extension Pattern {
    /// How much faster or slower a pattern can be made in one step.
    private static let mostPace: Fraction = 4_096

    // MARK: Together and in turn

    /// Both together. The cycle is that of the first.
    public static func + (first: Pattern, second: Pattern) -> Pattern {
        first.with(StackSource(sources: [first.source, second.source]), of: second)
    }

    /// Several together. The cycle is that of the first.
    public static func stack(_ patterns: [Pattern]) -> Pattern {
        Pattern(StackSource(sources: patterns.map(\.source)), cycle: patterns.first?.cycle ?? 4, of: patterns)
    }

    /// One after the other, a cycle of each, and then the next cycle of each.
    ///
    /// The cycle is that of the patterns if they have the same, else the beats of all together.
    public static func sequence(_ patterns: [Pattern]) -> Pattern {
        guard let first = patterns.first else { return silence }
        let source = RoundSource(patterns.map { ($0.source, $0.cycle, $0.cycle) })
        let isEven = patterns.allSatisfy { $0.cycle == first.cycle }
        return Pattern(source, cycle: isEven ? first.cycle : source.round, of: patterns)
    }

    /// One after the other within each cycle: a step plays a whole cycle of its pattern, in less time.
    ///
    /// - Parameters:
    ///   - patterns: The steps.
    ///   - weights: How long each is beside the others; 1 where there is none, and for what is not more than 0.
    ///   - cycle: The beats of all steps. What is not more than 0 becomes 4.
    public static func steps(_ patterns: [Pattern], weights: [Fraction] = [], cycle: Fraction = 4) -> Pattern {
        let cycle = cycle > 0 ? cycle : 4
        let shares = patterns.indices.map { $0 < weights.count && weights[$0] > 0 ? weights[$0] : 1 }
        let beats = cycle / shares.reduce(0, +)
        let pieces = zip(patterns, shares).map { ($0.source, $0.cycle, beats * $1) }
        return Pattern(RoundSource(pieces), cycle: cycle, of: patterns)
    }

    /// Hits that are as even over the steps of a cycle as they can be: `euclid(3, of: 8, note: "kick")` is `x..x..x.`.
    ///
    /// - Parameters:
    ///   - hits: The number of hits, held to 0 and the number of steps.
    ///   - steps: The number of steps, held to 1…4,096.
    ///   - rotation: The step with which the rhythm begins.
    ///   - note: What a hit plays: a word, or any pattern, of which a hit plays one cycle.
    ///   - cycle: The beats of all steps. What is not more than 0 becomes 4.
    public static func euclid(
        _ hits: Int, of steps: Int, rotation: Int = 0, note: Pattern, cycle: Fraction = 4
    ) -> Pattern {
        let rhythm = Rhythm.euclid(hits, of: steps, rotation: rotation)
        return .steps(rhythm.map { $0 ? note : .silence }, cycle: cycle)
    }

    // MARK: Pace and place

    /// The pattern in less time: `fast(2)` plays two of its cycles in one. The factor is held to 1/4,096…4,096.
    public func fast(_ factor: Fraction) -> Pattern {
        let factor = min(max(factor, 1 / Pattern.mostPace), Pattern.mostPace)
        return factor == 1 ? self : with(PacedSource(source: source, factor: factor))
    }

    /// The pattern in more time: `slow(2)` plays one of its cycles in two. The factor is held to 1/4,096…4,096.
    public func slow(_ factor: Fraction) -> Pattern {
        fast(1 / min(max(factor, 1 / Pattern.mostPace), Pattern.mostPace))
    }

    /// The pattern later by some beats, or sooner if they are negative.
    public func delayed(by beats: Fraction) -> Pattern {
        beats == 0 ? self : with(DelayedSource(source: source, delay: beats))
    }

    /// The pattern with each cycle turned by some beats: what leaves the cycle at its end comes in at its beginning.
    public func rotated(by beats: Fraction) -> Pattern {
        beats == 0 ? self : with(RearrangedSource(source: source, cycle: cycle, change: .rotated(beats)))
    }

    /// The pattern with each cycle backwards: what ended with the cycle begins it.
    ///
    /// A cycle counts as a circle here: an event that sounds beyond the end of its cycle begins as far before that of the reversed one.
    public func reversed() -> Pattern { with(RearrangedSource(source: source, cycle: cycle, change: .reversed)) }

    /// The pattern, changed in one of every few cycles: `every(4) { $0.reversed() }`.
    ///
    /// - Parameters:
    ///   - count: One of how many cycles. Below 1 the pattern stays as it is.
    ///   - index: Which one: 0, the first, if you say nothing; -1 is the last.
    ///   - change: What makes the changed pattern of this one. It is called once, at once.
    public func every(_ count: Int, at index: Int = 0, _ change: (Pattern) -> Pattern) -> Pattern {
        if count < 1 { return self }
        let changed = change(self)
        let place = index.index(in: count)
        let mixed = PickedSource(sources: [source, changed.source], cycle: cycle) {
            $0.index(in: count) == place ? 1 : 0
        }
        return with(mixed, of: changed)
    }

    /// The pattern with the second of each two steps later, and what is between in proportion.
    ///
    /// - Parameters:
    ///   - amount: By how much of a step it is late: 1/3 are triplets. It is held to -0.9…0.9.
    ///   - grid: The beats of a step: half a beat, an eighth, if you say nothing. What is not more than 0 changes nothing.
    public func swing(_ amount: Fraction = Fraction(1, 3), grid: Fraction = Fraction(1, 2)) -> Pattern {
        if grid <= 0 || amount == 0 { return self }
        let late = min(max(amount, Fraction(-9, 10)), Fraction(9, 10))
        return with(SwingSource(source: source, grid: grid, middle: 1 + late))
    }
}
