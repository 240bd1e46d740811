/// Rhythms that spread hits over steps.
enum Rhythm {
    /// Returns which of the steps are hit, so that the hits are as even as they can be and the rhythm begins with one.
    ///
    /// It is the algorithm of Bjorklund (2003), which Toussaint (2005) found in traditional rhythms: the groups of steps that are
    /// fewer are put behind the others, one each, until at most one of them is left.
    static func euclid(_ hits: Int, of steps: Int, rotation: Int = 0) -> [Bool] {
        let steps = min(max(steps, 1), PatternTree.mostSteps)
        let hits = min(max(hits, 0), steps)
        if hits == 0 { return Array(repeating: false, count: steps) }
        var heads = Array(repeating: [true], count: hits)
        var tails = Array(repeating: [false], count: steps - hits)
        if !tails.isEmpty {
            repeat {
                let pairs = min(heads.count, tails.count)
                let joined = (0..<pairs).map { heads[$0] + tails[$0] }
                tails = heads.count > tails.count ? Array(heads[pairs...]) : Array(tails[pairs...])
                heads = joined
            } while tails.count > 1
        }
        let whole = (heads + tails).flatMap(\.self)
        let first = rotation.index(in: steps)
        return Array(whole[first...] + whole[..<first])
    }
}

extension Int {
    /// Returns the rest after whole counts: 0 or more, and less than the count, which is at least 1.
    func index(in count: Int) -> Int {
        let rest = self % count
        return rest < 0 ? rest + count : rest
    }
}
