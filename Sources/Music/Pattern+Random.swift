extension Pattern {
    /// The use of random numbers, so that two changes with one seed are independent.
    private enum Purpose: UInt64 {
        case degrading = 0x1_0000_0001
        case sometimes, velocity, choice
    }

    /// One of some patterns in each cycle, by chance.
    ///
    /// Each plays the same cycle that it would play alone. The cycle is that of the first.
    public static func random(_ patterns: [Pattern], seed: UInt64 = 0) -> Pattern {
        let cycle = patterns.first?.cycle ?? 4
        let randomness = Randomness(seed: seed, purpose: Purpose.choice.rawValue)
        let source = PickedSource(sources: patterns.map(\.source), cycle: cycle) { [count = patterns.count] number in
            randomness.index(at: Fraction(number), of: count)
        }
        return Pattern(source, cycle: cycle, of: patterns)
    }

    /// Returns a number of steps for each cycle, each of them one of some words by chance: `random(["kick", "hat"], steps: 8)`.
    ///
    /// - Parameters:
    ///   - words: The words, or texts of patterns.
    ///   - steps: The number of steps, held to 1…4,096.
    ///   - seed: Another number gives other choices.
    public static func random(_ words: [Pattern], steps: Int, seed: UInt64 = 0) -> Pattern {
        let count = Fraction(min(max(steps, 1), PatternTree.mostSteps))
        return random(words, seed: seed).fast(count)
    }

    /// The pattern without some of its events, which chance leaves out.
    ///
    /// - Parameters:
    ///   - probability: That of each event to be left out: 0 leaves all, 1 none. What is not a number leaves all.
    ///   - seed: Another number leaves out others.
    public func degraded(by probability: Double = 0.5, seed: UInt64 = 0) -> Pattern {
        chance(probability, seed: seed, .degrading, keeps: false)
    }

    /// The pattern with some of its events changed, which chance picks: `sometimes(0.25) { $0.transposed(by: 12) }`.
    ///
    /// - Parameters:
    ///   - probability: That of each event to be changed.
    ///   - seed: Another number picks others.
    ///   - change: What makes the changed pattern of the picked events. It is called once, at once.
    public func sometimes(_ probability: Double = 0.5, seed: UInt64 = 0, _ change: (Pattern) -> Pattern) -> Pattern {
        let changed = change(chance(probability, seed: seed, .sometimes, keeps: true))
        return chance(probability, seed: seed, .sometimes, keeps: false) + changed
    }

    private func chance(_ probability: Double, seed: UInt64, _ purpose: Purpose, keeps: Bool) -> Pattern {
        let randomness = Randomness(seed: seed, purpose: purpose.rawValue)
        return with(FilteredSource(source: source) { (randomness.number(at: $0.start) < probability) == keeps })
    }

    /// The pattern with velocities that differ a little, as those of a player do.
    ///
    /// - Parameters:
    ///   - amount: How far a velocity goes up or down at most; the result is held to 0…1. What is not finite changes nothing.
    ///   - seed: Another number gives other differences.
    public func humanised(_ amount: Double = 0.1, seed: UInt64 = 0) -> Pattern {
        guard amount.isFinite else { return self }
        let randomness = Randomness(seed: seed, purpose: Purpose.velocity.rawValue)
        return with(
            ChangedSource(source: source) { event in
                guard case .note(var note) = event.content else { return }
                let velocity = note.velocity + amount * (2 * randomness.number(at: event.start) - 1)
                note.velocity = min(max(velocity, 0), 1)
                event.content = .note(note)
            })
    }
}
