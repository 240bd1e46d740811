import RenderStack
import TestSupport

/// A part of a text, read by rules of one cycle each, without spans, factors or tables: what begins in a cycle, one by one.
indirect enum NaivePart {
    case word(String)
    case rest
    /// Steps of a number of shares each.
    case row([(part: NaivePart, shares: Int)])
    case turns([NaivePart])
    case polymetre([NaivePart], count: Int)
    case together([NaivePart])
    case faster(NaivePart, Int)
    case slower(NaivePart, Int)
    case euclid(NaivePart, String, turn: Int)

    typealias Event = (word: String, start: Fraction, length: Fraction)

    var text: String {
        switch self {
        case .word(let word): return word
        case .rest: return "~"
        case .row(let steps):
            return "[" + steps.map { $0.part.text + NaivePart.shares($0.shares) }.joined(separator: " ") + "]"
        case .turns(let parts): return "<" + parts.map(\.text).joined(separator: " ") + ">"
        case .polymetre(let parts, let count): return "{" + parts.map(\.text).joined(separator: " ") + "}%\(count)"
        case .together(let parts): return "[" + parts.map(\.text).joined(separator: ",") + "]"
        case .faster(let part, let factor): return "\(part.text)*\(factor)"
        case .slower(let part, let factor): return "\(part.text)/\(factor)"
        case .euclid(let part, let rhythm, let turn):
            return "\(part.text)(\(rhythm.count { $0 == "x" }),\(rhythm.count),\(turn))"
        }
    }

    /// Shares in one of their three ways of writing.
    private static func shares(_ count: Int) -> String {
        count == 1 ? "" : count == 2 ? " _" : count == 3 ? "@3" : "@\(count - 1) _"
    }

    func events(_ cycle: Int) -> [Event] {
        switch self {
        case .word(let word): return [(word, Fraction(cycle), 1)]
        case .rest: return []
        case .row(let steps):
            let all = steps.reduce(0) { $0 + $1.shares }
            var (result, at): ([Event], Int) = ([], 0)
            for step in steps {
                result += step.part.events(cycle).map {
                    Self.placed(
                        $0, from: Fraction(cycle), at: Fraction(cycle) + Fraction(at, all),
                        times: Fraction(step.shares, all))
                }
                at += step.shares
            }
            return result
        case .turns(let parts):
            let (index, round) = Self.divided(cycle, parts.count)
            return parts[index].events(round).map {
                Self.placed($0, from: Fraction(round), at: Fraction(cycle), times: 1)
            }
        case .polymetre(let parts, let count):
            return (0..<count).flatMap { step in
                let (index, round) = Self.divided(cycle * count + step, parts.count)
                return parts[index].events(round).map {
                    Self.placed(
                        $0, from: Fraction(round), at: Fraction(cycle) + Fraction(step, count),
                        times: Fraction(1, count))
                }
            }
        case .together(let parts): return parts.flatMap { $0.events(cycle) }
        case .faster(let part, let factor):
            return (0..<factor).flatMap { part.events(cycle * factor + $0) }.map {
                ($0.word, $0.start / Fraction(factor), $0.length / Fraction(factor))
            }
        case .slower(let part, let factor):
            let (_, whole) = Self.divided(cycle, factor)
            return part.events(whole).map { ($0.word, $0.start * Fraction(factor), $0.length * Fraction(factor)) }
                .filter { $0.1 >= Fraction(cycle) && $0.1 < Fraction(cycle + 1) }
        case .euclid(let part, let rhythm, let turn):
            let hits = Array(rhythm)
            return hits.indices.filter { hits[Self.divided($0 + turn, hits.count).index] == "x" }.flatMap { step in
                part.events(cycle).map {
                    Self.placed(
                        $0, from: Fraction(cycle), at: Fraction(cycle) + Fraction(step, hits.count),
                        times: Fraction(1, hits.count))
                }
            }
        }
    }

    private static func placed(_ event: Event, from: Fraction, at: Fraction, times: Fraction) -> Event {
        (event.word, at + (event.start - from) * times, event.length * times)
    }

    private static func divided(_ number: Int, _ count: Int) -> (index: Int, round: Int) {
        let index = (number % count + count) % count
        return (index, (number - index) / count)
    }
}

/// Makes such parts by chance.
struct NaiveMaker {
    var random: SplitMix

    mutating func row(depth: Int) -> NaivePart {
        // One step would be its part, as long as it may be.
        let count = Int.random(in: 2...4, using: &random)
        return .row(
            (0..<count).map { _ in (part(depth: depth - 1), Int.random(in: 1...8, using: &random) % 5 + 1) }.map {
                ($0.0, min($0.1, 4))
            })
    }

    private mutating func parts(depth: Int) -> [NaivePart] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in part(depth: depth) }
    }

    private mutating func part(depth: Int) -> NaivePart {
        let word = NaivePart.word(["a", "b", "cow", "60"].randomElement(using: &random) ?? "")
        guard depth > 0 else { return word }
        switch Int.random(in: 0...9, using: &random) {
        case 0: return .rest
        case 1, 2: return row(depth: depth)
        case 3: return .turns(parts(depth: depth - 1))
        case 4: return .polymetre(parts(depth: depth - 1), count: Int.random(in: 1...5, using: &random))
        case 5: return .together(parts(depth: depth - 1))
        case 6: return .faster(part(depth: depth - 1), Int.random(in: 2...3, using: &random))
        case 7: return .slower(part(depth: depth - 1), Int.random(in: 2...3, using: &random))
        case 8:
            let rhythm = ["x..x..x.", "x.x..", "x.xx.xx.", "x.x.x..", "x.xx"].randomElement(using: &random) ?? ""
            return .euclid(part(depth: depth - 1), rhythm, turn: Int.random(in: -3...9, using: &random))
        default: return word
        }
    }
}
