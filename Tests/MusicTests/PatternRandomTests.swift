import RenderStack
import Testing

/// The answers come from another implementation of the same numbers, in another language. They stay for ever: a piece that was made with
/// a seed sounds as it did.
@Suite struct PatternRandomTests {
    @Test("Chance gives the same answers on every machine and in every version")
    func fixedAnswers() {
        let eighths = Pattern("a*8")
        #expect(eighths.degraded(by: 0.5, seed: 7).events(from: 0, to: 4).map(\.start) == [0, 0.5, 1, 2, 3.5])
        let picked = eighths.sometimes(0.5, seed: 2) { $0.map { _ in Note("b") } }
        #expect(picked.words() == "a b a a b a a a")
        let steps = Pattern.random(["kick", "hat", "snare"], steps: 8, seed: 5)
        #expect(
            steps.words() == "kick snare hat kick snare kick hat hat" && steps.events(from: 0, to: 4)[1].length == 0.5)
        let velocities = Pattern("a*4").humanised(0.1, seed: 1).velocities
        #expect(velocities == [0.7667282352374204, 0.7697036484135951, 0.711445844875572, 0.7071337066477386])
    }

    @Test("Chance in texts gives the same answers, and repeats have choices of their own")
    func texts() {
        #expect(Pattern("a?!8").events(from: 0, to: 4).map(\.start) == [0.5, 1, 3])
        #expect(Pattern("a?!8", seed: 3).events(from: 0, to: 4).map(\.start) == [0.5, 2, 3])
        #expect(Pattern("a?*8").events(from: 0, to: 8).map(\.start) == [0.5, 2, 2.5, 3.5, 4, 4.5, 5, 5.5, 6.5])
        #expect(
            Pattern("[a|b|c]*8").words() == "b b a a c b a b" && Pattern("a|b|c").words(cycles: 8) == "b b a a c b a b")
        // Another tempo of the text has the same choices, since a position counts in cycles.
        #expect(Pattern("a?!8", cycle: 3).events(from: 0, to: 3).map(\.start) == [Fraction(3, 8), 0.75, 2.25])
    }

    @Test("A thousand choices are spread as chance is")
    func spread() {
        let count = Pattern("a*1000").degraded(by: 0.3).events(from: 0, to: 40).count
        #expect(abs(count - 7_000) < 200)
        let words = Pattern.random(["a", "b", "c", "d"], steps: 1_000).events(from: 0, to: 40).map(shown)
        for word in ["a", "b", "c", "d"] { #expect(abs(words.count { $0.hasPrefix(word) } - 2_500) < 200) }
        // Two seeds, and two changes with one seed, are independent of each other.
        let (a, b) = (Pattern("a*1000").degraded(seed: 1), Pattern("a*1000").degraded(seed: 2))
        let both = Set(a.events(from: 0, to: 40).map(\.start)).intersection(b.events(from: 0, to: 40).map(\.start))
            .count
        #expect(abs(both - 2_500) < 200)
        let twice = a.sometimes(0.5, seed: 1) { _ in .silence }.events(from: 0, to: 40).count
        #expect(abs(twice - 2_500) < 200)
    }

    @Test("Probabilities and amounts out of their range are harmless")
    func hostile() {
        for number in [-1, 2, .nan, .infinity, -.infinity, 1e300] {
            _ = Pattern("a b").degraded(by: number).sometimes(number) { $0.fast(2) }.events(from: 0, to: 8)
            for event in Pattern("a b").humanised(number).velocity(number).transposed(by: number).events(from: 0, to: 8)
            {
                if case .note(let note) = event.content { #expect((0...1).contains(note.velocity)) }
            }
        }
        #expect(Pattern.random([]).words().isEmpty && Pattern.random([], steps: -4).words().isEmpty)
        #expect(Pattern.random(["a"], steps: -4).words() == "a" && Pattern.random(["a", "["]).problem != nil)
    }
}
