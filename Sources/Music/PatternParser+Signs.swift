extension PatternParser {
    /// Reads the signs behind a step.
    mutating func readSuffixes(of step: inout PatternTree.Step, _ repeats: inout Int) throws(PatternError) {
        let first = position
        var suffixes = 0
        while let sign = next, "*/!@?(".contains(sign) {
            let place = position
            suffixes += 1
            guard suffixes <= 16 else {
                throw fault("A step may have 16 signs behind it, and this is one more: take some away.")
            }
            position += 1
            switch sign {
            case "*", "/":
                let factors = try list { reader throws(PatternError) in try reader.factor(after: sign) }
                step.tree = .turns(factors.map { step.tree.paced(sign == "*" ? $0 : 1 / $0) })
            case "@": step.weight = try factor(after: sign)
            case "!": repeats = try count(ofRepeats: place)
            case "?": step.tree = step.tree.dropping(try probability())
            default: step.tree = try euclid(step.tree, open: place)
            }
            step.tree = try bounded(step.tree, at: place)
        }
        if let next, next == "%" {
            throw fault("A % belongs directly behind a group in braces: {a b c}%4.")
        }
        // A character that follows without a space would be a step by mistake.
        if position > first, !isAlone(at: position), let next {
            throw fault("Put a space before this \(next): a new step begins here.")
        }
    }

    /// Reads the hits and the steps of a rhythm, and how far it is turned.
    private mutating func euclid(_ tree: PatternTree, open: Int) throws(PatternError) -> PatternTree {
        var numbers: [[Int]] = []
        repeat {
            if !numbers.isEmpty { position += 1 }
            skipSpace()
            numbers.append(
                try list { reader throws(PatternError) in
                    if let number = reader.whole() { return number }
                    throw reader.fault(
                        "Whole numbers belong here: hits, steps and, if you like, a rotation, as in (3,8) or (3,8,2).")
                })
            skipSpace()
        } while next == "," && numbers.count < 3
        guard next == ")" else { throw fault("This ( has no end: write it as in (3,8) or (3,8,2).", at: open) }
        position += 1
        guard numbers.count >= 2 else {
            throw fault("A number of steps is missing: write (hits,steps), as in (3,8).", at: open)
        }
        // The lists come again after the least number of cycles into which all of them fit.
        let cycles = numbers.reduce(1) { $0 * Fraction($1.count, $0).numerator }
        guard cycles <= 64 else {
            throw fault("These lists come again after more than 64 cycles: make them as long as each other.", at: open)
        }
        var trees: [PatternTree] = []
        for cycle in 0..<cycles {
            let taken = numbers.map { $0[cycle % $0.count] }
            let (hits, steps) = (taken[0], taken[1])
            guard (1...PatternTree.mostSteps).contains(steps), (0...steps).contains(hits) else {
                throw fault(
                    "There are 1 to \(PatternTree.mostSteps) steps, and no more hits than steps: write it as in (3,8).",
                    at: open)
            }
            try count(steps, at: open)
            let rhythm = Rhythm.euclid(hits, of: steps, rotation: taken.count > 2 ? taken[2] : 0)
            trees.append(.row(rhythm.map { PatternTree.Step(tree: $0 ? tree : .rest, weight: 1) }))
        }
        return .turns(trees)
    }

    /// Reads a number, or several between < and >, of which each cycle takes the next.
    private mutating func list<Number>(
        _ read: (inout PatternParser) throws(PatternError) -> Number
    ) throws(PatternError) -> [Number] {
        guard next == "<" else { return [try read(&self)] }
        let open = position
        position += 1
        var result: [Number] = []
        skipSpace()
        while next != ">" {
            guard next != nil else { throw fault("This < has no end: write a > after the last number.", at: open) }
            try count(1, at: open)
            result.append(try read(&self))
            skipSpace()
        }
        position += 1
        guard !result.isEmpty else { throw fault("Numbers belong between this < and its >, as in <2 3>.", at: open) }
        return result
    }

    private mutating func count(ofRepeats place: Int) throws(PatternError) -> Int {
        let digits = digits()
        if digits.isEmpty { return 2 }
        guard let count = Int(digits), (1...PatternTree.mostSteps).contains(count) else {
            throw fault(
                "A step can be repeated 1 to \(PatternTree.mostSteps) times: write a number from there behind the !.",
                at: place)
        }
        return count
    }
}
