/// The meaning of a pattern's text, one cycle of each part.
struct PatternTree: Sendable {
    /// The most steps that a cycle may have, rests included.
    static let mostSteps = 4_096
    /// The most parts that a text may have, where each repeated one counts as often as it is written out.
    static let mostParts = 65_536
    /// How deep groups may be in each other.
    static let mostDepth = 32

    indirect enum Node: Sendable {
        case rest
        case notes([Note])
        /// Steps one after the other, with the share that each takes of a cycle.
        case row([Step])
        /// As many cycles of a part as the factor says.
        case paced(PatternTree, Fraction)
        case stack([PatternTree])
        /// One of several in each cycle.
        case choice([PatternTree])
        /// One of several in each cycle, in turn. Each goes on while the others are heard.
        case turns([PatternTree])
        /// Each event is left out with a probability.
        case chance(PatternTree, Double)
    }

    struct Step: Sendable {
        var tree: PatternTree
        var weight: Fraction
    }

    var node: Node
    /// The most steps that begin in a cycle; not less than there are.
    var steps: Double
    /// The parts, written out.
    var parts: Double
    /// How many parts are around each other.
    var depth: Int

    static let rest = PatternTree(node: .rest, steps: 1, parts: 1, depth: 1)

    static func notes(_ notes: [Note]) -> PatternTree {
        PatternTree(node: .notes(notes), steps: Double(notes.count), parts: 1, depth: 1)
    }

    static func row(_ steps: [Step]) -> PatternTree {
        if steps.isEmpty { return rest }
        if steps.count == 1 { return steps[0].tree }
        return around(steps.map(\.tree), .row(steps))
    }

    static func stack(_ trees: [PatternTree]) -> PatternTree {
        trees.count == 1 ? trees[0] : around(trees, .stack(trees))
    }

    static func choice(_ trees: [PatternTree]) -> PatternTree {
        trees.count == 1 ? trees[0] : around(trees, .choice(trees))
    }

    static func turns(_ trees: [PatternTree]) -> PatternTree {
        if trees.count == 1 { return trees[0] }
        var result = around(trees, .turns(trees))
        result.steps = trees.reduce(0) { max($0, $1.steps) }
        return result
    }

    private static func around(_ trees: [PatternTree], _ node: Node) -> PatternTree {
        PatternTree(
            node: node, steps: trees.reduce(0) { $0 + $1.steps }, parts: trees.reduce(1) { $0 + $1.parts },
            depth: trees.reduce(0) { max($0, $1.depth) } + 1)
    }

    /// Returns the tree as many times in a cycle as the factor says.
    func paced(_ factor: Fraction) -> PatternTree {
        if factor == 1 { return self }
        return PatternTree(
            node: .paced(self, factor), steps: steps * max(1, factor.value.rounded(.up)), parts: parts + 1,
            depth: depth + 1)
    }

    /// One step of a row for each cycle.
    static func alternation(_ steps: [Step]) -> PatternTree {
        let row = row(steps)
        let weight = steps.reduce(0) { $0 + $1.weight }
        if weight <= 0 { return .rest }
        var paced = row.paced(1 / weight)
        // If each takes a cycle or more, no two of them begin in one.
        if steps.allSatisfy({ $0.weight >= 1 }) { paced.steps = steps.reduce(0) { max($0, $1.tree.steps) } }
        return paced
    }

    /// A number of steps of a row for each cycle.
    static func polymetre(_ steps: [Step], count: Fraction) -> PatternTree {
        let weight = steps.reduce(0) { $0 + $1.weight }
        return weight <= 0 ? .rest : row(steps).paced(count / weight)
    }

    func dropping(_ probability: Double) -> PatternTree {
        PatternTree(node: .chance(self, probability), steps: steps, parts: parts + 1, depth: depth + 1)
    }

    /// The cycles after which it comes again; `nil` if it never does, or after more than 256.
    var period: Int? {
        switch node {
        case .rest, .notes: return 1
        case .row(let steps): return PatternTree.period(steps.lazy.map(\.tree))
        case .stack(let trees): return PatternTree.period(trees)
        case .turns(let trees): return PatternTree.period(trees, and: trees.count)
        case .choice, .chance: return nil
        case .paced(let tree, let factor):
            guard let inner = tree.period, factor.denominator <= 256 else { return nil }
            let result = Fraction(inner * factor.denominator, factor.numerator).numerator
            return result <= 256 ? result : nil
        }
    }

    private static func period(_ trees: some Sequence<PatternTree>, and first: Int = 1) -> Int? {
        var result = first
        for tree in trees {
            guard let one = tree.period else { return nil }
            result *= Fraction(one, result).numerator
            if result > 256 { return nil }
        }
        return result
    }
}

/// Makes a source of a text's tree.
struct PatternCompiler {
    private let seed: UInt64
    /// The random parts so far, so that each has its own choices.
    private var random: UInt64 = 0

    private init(seed: UInt64) { self.seed = seed }

    /// Returns the source of a tree. What comes again soon is a table, so that to ask it takes no computation.
    static func source(_ tree: PatternTree, cycle: Fraction, seed: UInt64) -> any PatternSource {
        var compiler = PatternCompiler(seed: seed)
        let source = compiler.source(tree)
        if source is SilentSource { return source }
        let inBeats = PacedSource(source: source, factor: 1 / cycle)
        guard let period = tree.period, tree.steps * Double(period) <= 8_192 else { return inBeats }
        var found = Found()
        let round = Fraction(period) * cycle
        inBeats.collect(Span(from: 0, to: round), into: &found)
        return found.room > 0 ? TableSource(found.events, round: round) : inBeats
    }

    private mutating func source(_ tree: PatternTree) -> any PatternSource {
        switch tree.node {
        case .rest: return SilentSource()
        case .notes(let notes): return NoteSource(notes: notes)
        case .row(let steps):
            var pieces: [(source: any PatternSource, cycle: Fraction, beats: Fraction)] = []
            let weight = steps.reduce(0) { $0 + $1.weight }
            for step in steps { pieces.append((source(step.tree), 1, step.weight / weight)) }
            return RoundSource(pieces)
        case .paced(let tree, let factor): return PacedSource(source: source(tree), factor: factor)
        case .stack(let trees): return StackSource(sources: sources(trees))
        case .choice(let trees):
            random += 1
            let randomness = Randomness(seed: seed, purpose: random)
            return PickedSource(sources: sources(trees), cycle: 1) { [count = trees.count] in
                randomness.index(at: Fraction($0), of: count)
            }
        case .turns(let trees):
            return PickedSource(sources: sources(trees), cycle: 1) { [count = trees.count] in $0.index(in: count) }
        case .chance(let tree, let probability):
            random += 1
            let chance = Randomness(seed: seed, purpose: random)
            return FilteredSource(source: source(tree)) { chance.number(at: $0.start) >= probability }
        }
    }

    private mutating func sources(_ trees: [PatternTree]) -> [any PatternSource] {
        var result: [any PatternSource] = []
        for tree in trees { result.append(source(tree)) }
        return result
    }
}
