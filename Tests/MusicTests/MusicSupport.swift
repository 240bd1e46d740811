import RenderStack
import TestSupport

/// An event in few words: `kick@0+1`.
func shown(_ event: MusicEvent) -> String {
    switch event.content {
    case .note(let note): "\(note.word)@\(event.start)+\(event.length)"
    case .message(let message): "\(message)@\(event.start)"
    }
}

extension Pattern {
    /// The events that begin in the first cycles, in few words.
    func shown(cycles: Fraction = 1) -> String {
        events(from: 0, to: cycle * cycles).map(MusicTests.shown).joined(separator: " ")
    }

    /// The words that begin in the first cycles.
    func words(cycles: Fraction = 1) -> String {
        events(from: 0, to: cycle * cycles).compactMap(\.note?.word).joined(separator: " ")
    }

    /// The numbers of notes that begin in the first cycles.
    func numbers(cycles: Fraction = 1) -> [Double?] {
        events(from: 0, to: cycle * cycles).compactMap(\.note).map(\.number)
    }

    /// The velocities of notes that begin in the first cycle.
    var velocities: [Double] { events(from: 0, to: cycle).compactMap(\.note?.velocity) }
}

extension [MusicEvent] {
    /// The events in an order that does not depend on how they were made.
    var inOneOrder: [String] {
        map { event in
            // All that an event has: what Swift writes of it by itself takes ten times as long.
            shown(event) + (event.note.map { " \($0.velocity) \($0.number ?? .nan)" } ?? "+\(event.length)")
        }.sorted()
    }
}

/// Makes patterns by chance.
struct PatternMaker {
    var random: SplitMix

    init(seed: UInt64) { random = SplitMix(state: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func fraction() -> Fraction { Fraction(number(-40...40), number(1...12)) }

    /// A text that is right, with all signs.
    mutating func text(depth: Int = 3) -> String {
        (0..<number(1...4)).map { _ in step(depth: depth) }.joined(separator: " ")
    }

    private mutating func step(depth: Int) -> String {
        var result: String
        switch depth == 0 ? number(0...2) : number(0...9) {
        case 0: result = ["kick", "snare", "c3", "e4", "60", "-2", "hat:3"].randomElement(using: &random) ?? ""
        case 1: result = "a"
        case 2: result = "~"
        case 3: result = "[\(text(depth: depth - 1))]"
        case 4: result = "<\(text(depth: depth - 1))>"
        case 5: result = "{\(text(depth: depth - 1)), \(text(depth: depth - 1))}%\(number(1...5))"
        case 6: result = "[\(text(depth: depth - 1)), \(text(depth: depth - 1))]"
        case 7: result = "[\(text(depth: depth - 1))|\(text(depth: depth - 1))]"
        case 8: return "0..\(number(-3...3))"
        default: result = "c4'minor7"
        }
        switch number(0...13) {
        case 0: result += "*\(number(1...3))"
        case 1: result += "/\(number(1...3))"
        case 2: result += "!\(number(1...3))"
        case 3: result += "@\(number(1...3))"
        case 4: result += "?"
        case 5: result += "(\(number(0...3)),\(number(3...5)),\(number(-2...2)))"
        case 6: result += "*1.5 _"
        case 7: result += "?0.3"
        case 8: result += "*<1 2 1.5>"
        case 9: result += "(<1 3>,<4 5>)"
        default: break
        }
        return result
    }

    /// A pattern of a text or a function, changed a few times.
    mutating func pattern(changes: Int = 3) -> Pattern {
        let cycles: [Fraction] = [4, 3, Fraction(7, 2), 1]
        let cycle = cycles.randomElement(using: &random) ?? 4
        var result = number(0...9) == 0 ? steadyClosure : Pattern(text(), cycle: cycle, seed: UInt64(number(0...9)))
        for _ in 0..<number(0...changes) { result = changed(result) }
        return result
    }

    private var steadyClosure: Pattern {
        Pattern(cycle: 3) { from, to in
            let step = Fraction(3, 5)
            return ((from / step).floor...(to / step).floor).map {
                MusicEvent(.note(Note("\($0)")), at: Fraction($0) * step, length: 2)
            }
        }
    }

    mutating func changed(_ pattern: Pattern) -> Pattern {
        let (beats, seed) = (fraction(), UInt64(number(0...99)))
        switch number(0...18) {
        case 0: return pattern.fast(Fraction(number(1...9), number(1...5)))
        case 1: return pattern.slow(Fraction(number(1...9), number(1...5)))
        case 2: return pattern.delayed(by: beats)
        case 3: return pattern.rotated(by: beats)
        case 4: return pattern.reversed()
        case 5: return pattern.every(number(1...4), at: number(-2...3)) { $0.reversed().fast(2) }
        case 6: return pattern.swing(Fraction(number(-8...8), 10), grid: Fraction(1, number(1...4)))
        case 7: return pattern + Pattern("x [y z]")
        case 8: return pattern.degraded(by: 0.3, seed: seed)
        case 9: return pattern.sometimes(0.4, seed: seed) { $0.transposed(by: 12).delayed(by: 1 / 4) }
        case 10: return pattern.humanised(0.2, seed: seed)
        case 11: return pattern.velocity("1 0.5 <0.2 0.7>")
        case 12: return pattern.transposed(by: "<0 5 7>")
        case 13: return pattern.scale(.minor, root: "A3").chord(.minor)
        case 14: return .sequence([pattern, Pattern("p q r", cycle: 2)])
        case 15: return .steps([pattern, "p q", "[r s]*2"], weights: [2, 1])
        case 16: return .random([pattern, "p q"], seed: seed)
        case 17: return pattern.filter { $0.word != "a" }.legato(1 / 2)
        default: return .euclid(3, of: 8, rotation: 1, note: pattern)
        }
    }
}
