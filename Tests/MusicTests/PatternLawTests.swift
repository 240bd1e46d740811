import RenderStack
import TestSupport
import Testing

@Suite struct PatternLawTests {
    /// Returns whether two patterns play the same, but for the order of events that begin together.
    private func areEqual(_ a: Pattern, _ b: Pattern, from: Fraction = -6, to: Fraction = 14) -> Bool {
        a.events(from: from, to: to).inOneOrder == b.events(from: from, to: to).inOneOrder
    }

    @Test("A span that is cut anywhere has the events of the whole one, in the same order")
    func cuts() {
        var maker = PatternMaker(seed: 1)
        for _ in 0..<300 {
            let pattern = maker.pattern()
            let (first, last): (Fraction, Fraction) = (-5, 13)
            let whole = pattern.events(from: first, to: last)
            var cuts = (0..<maker.number(1...8)).map { _ in maker.fraction() }.filter { first < $0 && $0 < last }
            // Places where something begins are the hard ones.
            cuts += whole.indices.filter { $0 % 5 == 0 }.map { whole[$0].start }
            cuts = [first] + cuts.sorted() + [last]
            var parts: [MusicEvent] = []
            for (from, to) in zip(cuts, cuts.dropFirst()) { parts += pattern.events(from: from, to: to) }
            #expect(parts == whole)
            #expect(whole.allSatisfy { $0.start >= first && $0.start < last })
            #expect(zip(whole, whole.dropFirst()).allSatisfy { $0.start <= $1.start })
        }
    }

    @Test("Changes that undo each other leave the pattern as it is")
    func inverses() {
        var maker = PatternMaker(seed: 2)
        for _ in 0..<60 {
            let pattern = maker.pattern()
            let (factor, beats) = (Fraction(maker.number(1...9), maker.number(1...9)), maker.fraction())
            #expect(areEqual(pattern.fast(factor).slow(factor), pattern))
            #expect(areEqual(pattern.slow(factor).fast(factor), pattern))
            #expect(areEqual(pattern.delayed(by: beats).delayed(by: -beats), pattern))
            #expect(areEqual(pattern.rotated(by: beats).rotated(by: -beats), pattern))
            #expect(areEqual(pattern.rotated(by: pattern.cycle), pattern))
            #expect(areEqual(pattern.reversed().reversed(), pattern))
            #expect(areEqual(pattern.transposed(by: 7).transposed(by: -7), pattern))
            #expect(areEqual(pattern.legato(1 / 3).legato(3), pattern))
        }
    }

    @Test("Laws of stacks, sequences, turns and picks")
    func laws() {
        var maker = PatternMaker(seed: 3)
        for _ in 0..<60 {
            let (a, b, c) = (maker.pattern(), maker.pattern(), maker.pattern())
            #expect(areEqual(a + b, b + a) && areEqual((a + b) + c, .stack([a, b, c])) && areEqual(a + .silence, a))
            #expect(areEqual(.sequence([a]), a) && areEqual(.steps([a], cycle: a.cycle), a))
            #expect(areEqual(a.every(1) { $0.reversed() }, a.reversed()))
            #expect(areEqual(a.every(3) { $0 }, a) && areEqual(a.every(0) { _ in b }, a))
            // Chance decides once for each event: it is changed, or it stays.
            #expect(areEqual(a.sometimes(0.4, seed: 3) { $0 }, a))
            #expect(areEqual(a.degraded(by: 0), a) && a.degraded(by: 1).events(from: -6, to: 14).isEmpty)
            #expect(areEqual(a.degraded(by: .nan), a) && areEqual(a.humanised(0), a) && areEqual(a.swing(0), a))
            #expect(areEqual(a.filter { _ in true }, a) && areEqual(a.map { $0 }, a) && areEqual(a.fast(1), a))
            #expect(areEqual((a + b).fast(2), a.fast(2) + b.fast(2)))
            #expect(areEqual(.random([a, a, a], seed: 9), a))
        }
    }

    @Test("A sequence plays the cycles of each in turn, steps play them in one")
    func turns() {
        let (a, b) = (Pattern("<a b c>"), Pattern("x y"))
        #expect(Pattern.sequence([a, b]).words(cycles: 6) == "a x y b x y c x y")
        #expect(Pattern.steps([a, b]).shown(cycles: 2) == "a@0+2 x@2+1 y@3+1 b@4+2 x@6+1 y@7+1")
        #expect(Pattern.steps([a, b], weights: [3]).shown() == "a@0+3 x@3+1/2 y@7/2+1/2")
        let uneven = Pattern.sequence([Pattern("a", cycle: 3), Pattern("b", cycle: 2)])
        #expect(uneven.cycle == 5 && uneven.events(from: 0, to: 10).map(shown) == ["a@0+3", "b@3+2", "a@5+3", "b@8+2"])
        #expect(
            Pattern.sequence([]).shown().isEmpty && Pattern.steps([]).shown().isEmpty
                && Pattern.stack([]).shown().isEmpty)
    }

    @Test("Reversed, rotated, every and swing have known answers")
    func knownAnswers() {
        let pattern = Pattern("a b@2 c")
        #expect(pattern.reversed().shown() == "c@0+1 b@1+2 a@3+1")
        #expect(pattern.rotated(by: 1).shown() == "c@0+1 a@1+1 b@2+2")
        #expect(pattern.delayed(by: 1).shown() == "c@0+1 a@1+1 b@2+2")
        #expect(Pattern("<a b> c").rotated(by: 2).words(cycles: 2) == "c a c b")
        #expect(Pattern("<a b> c").delayed(by: 2).words(cycles: 2) == "c a c b")
        #expect(Pattern("a b").every(3) { $0.reversed() }.words(cycles: 4) == "b a a b a b b a")
        #expect(Pattern("a b").every(3, at: -1) { $0.reversed() }.words(cycles: 3) == "a b a b b a")
        // Eighths in triplets: the second of two begins after two thirds of a beat.
        #expect(Pattern("a*8").swing().events(from: 0, to: 2).map(\.start) == [0, Fraction(2, 3), 1, Fraction(5, 3)])
        #expect(
            Pattern("a*8").swing().events(from: 0, to: 2).map(\.length) == [
                Fraction(2, 3), Fraction(1, 3), Fraction(2, 3), Fraction(1, 3),
            ])
        #expect(Pattern("a*4").swing(1 / 2, grid: 1).events(from: 0, to: 4).map(\.start) == [0, 1.5, 2, 3.5])
    }

    @Test("The rhythms of Bjorklund's algorithm are those that Toussaint lists")
    func euclid() {
        let known = """
            x. x.. x... x.x x.x.. x.xx x.x.x x.x.x.. x..x..x. x.x.x.x x.x.x.x.. x..x..x..x. x.xxxx x.xx.xx x.xx.xx. x.x.x.x.x
            x.x.x.x.x.. x..x.x..x.x. x..x..x..x..x... x.xxxxxx x.xx.x.xx.x. x..x.x.x..x.x.x. x.xx.x.x.xx.x.x.
            x..x.x.x.x.x..x.x.x.x.x. x.xx.x.x.x.x.xx.x.x.x.x. xxxx .... x .
            """
        for rhythm in known.split(whereSeparator: \.isWhitespace).map(String.init) {
            let (hits, steps) = (rhythm.count { $0 == "x" }, rhythm.count)
            func word(_ pattern: Pattern) -> String {
                let starts = Set(pattern.events(from: 0, to: Fraction(steps)).map(\.start))
                return String((0..<steps).map { starts.contains(Fraction($0)) ? "x" : "." })
            }
            let cycle = Fraction(steps)
            #expect(word(.euclid(hits, of: steps, note: "a", cycle: cycle)) == rhythm)
            #expect(word(Pattern("a(\(hits),\(steps))", cycle: cycle)) == rhythm)
            let turned = Array(rhythm)[1...] + Array(rhythm)[..<1]
            #expect(word(Pattern("a(\(hits),\(steps),1)", cycle: cycle)) == String(turned))
            #expect(word(.euclid(hits, of: steps, rotation: 1 - 3 * steps, note: "a", cycle: cycle)) == String(turned))
        }
        #expect(Pattern.euclid(9, of: 4, note: "a").shown() == Pattern("a*4").shown())
        #expect(Pattern.euclid(-1, of: 0, note: "a").shown().isEmpty)
        #expect(Pattern.euclid(1, of: .max, note: "a").words() == "a")
    }
}
