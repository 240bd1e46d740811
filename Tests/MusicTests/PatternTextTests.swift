import RenderStack
import TestSupport
import Testing

@Suite struct PatternTextTests {
    @Test("Each sign has its known answer")
    func signs() {
        let known = [
            "a b": "a@0+2 b@2+2",
            "a ~ b ~": "a@0+1 b@2+1",
            "kick [~ hat] snare [hat hat]": "kick@0+1 hat@3/2+1/2 snare@2+1 hat@3+1/2 hat@7/2+1/2",
            "a*2 b": "a@0+1 a@1+1 b@2+2",
            "a!2 b": "a@0+4/3 a@4/3+4/3 b@8/3+4/3",
            "a! b b": "a@0+1 a@1+1 b@2+1 b@3+1",
            "a@3 b": "a@0+3 b@3+1",
            "a _ _ b": "a@0+3 b@3+1",
            "a@1.5 b@0.5": "a@0+3 b@3+1",
            "[a b, c]": "a@0+2 c@0+4 b@2+2",
            "a b, c d e": "a@0+2 c@0+4/3 d@4/3+4/3 b@2+2 e@8/3+4/3",
            "a(3,8)": "a@0+1/2 a@3/2+1/2 a@3+1/2",
            "a(3,8,2)": "a@1/2+1/2 a@2+1/2 a@3+1/2",
            "[a b](1,2) c": "a@0+1/2 b@1/2+1/2 c@2+2",
            "0..3": "0@0+1 1@1+1 2@2+1 3@3+1",
            "2..0 -1..-1": "2@0+1 1@1+1 0@2+1 -1@3+1",
            "[0..3]*2": "0@0+1/2 1@1/2+1/2 2@1+1/2 3@3/2+1/2 0@2+1/2 1@5/2+1/2 2@3+1/2 3@7/2+1/2",
            "{a b c}%4": "a@0+1 b@1+1 c@2+1 a@3+1",
            "{a b, c d e}": "a@0+2 c@0+2 b@2+2 d@2+2",
            "kick:2 808bd 7up": "kick:2@0+4/3 808bd@4/3+4/3 7up@8/3+4/3",
            "a  \n\t b": "a@0+2 b@2+2", "": "", "   ": "", "~": "", "[]": "", "<>": "", "{}": "", "{}%3": "", ",": "",
            "[a,,]": "a@0+4",
            "été 🥁 太鼓 👩‍🚀": "été@0+1 🥁@1+1 太鼓@2+1 👩‍🚀@3+1",
            "a?0": "a@0+4", "a?1 b": "b@2+2", "a*1.5": "a@0+8/3 a@8/3+8/3", "a*0.5": "a@0+8",
            "[a b]c": "a@0+1 b@1+1 c@2+2", "c'minor7": "c'minor7@0+4 c'minor7@0+4 c'minor7@0+4 c'minor7@0+4",
        ]
        for (text, answer) in known {
            let pattern = Pattern(text)
            #expect(pattern.shown() == answer && pattern.problem == nil, "\(text)")
        }
    }

    @Test("What takes turns goes on from cycle to cycle")
    func turns() {
        let known = [
            "<a b c>": "a b c a b c a", "<a b>*2": "a b a b a b a b a b a b a b",
            "<a b>!2": "a a b b a a b b a a b b a a",
            "<a!2 b>": "a a b a a b a", "<a@3 b>": "a b a", "<a _ b>": "a b a b a", "<<a b> c>": "a c b c a c b",
            "<a b , c d e>": "a c b d a e b c a d b e a c", "a/3": "a a a", "[a b c]/2": "a b c a b c a b c a b",
            "{a b c}%2": "a b c a b c a b c a b c a b", "<a [b c]>": "a b c a b c a b c a",
            "{<a b> c}%1": "a c b c a c b",
            "<a ~>": "a a a a", "[<a b>|<a b>]": "a b a b a b a", "<a b>(1,2)": "a b a b a b a",
            "a*<2 1>": "a a a a a a a a a a a", "<a b>*<2 1>": "a b b a b b a b b a b", "a/<1 2>": "a a a a",
            "a(<3 1>,8)": "a a a a a a a a a a a a a a a", "a(1,4,<0 1 2>)": "a a a a a a a",
        ]
        for (text, answer) in known { #expect(Pattern(text).words(cycles: 7) == answer, "\(text)") }
        #expect(Pattern("a(1,4,<0 1>)").events(from: 0, to: 8).map(shown) == ["a@0+1", "a@7+1"])
        #expect(Pattern("a*<1 2>").events(from: 0, to: 8).map(shown) == ["a@0+4", "a@4+2", "a@6+2"])
        // It began before 0, too.
        #expect(Pattern("<a b c>").events(from: -8, to: 4).map(shown) == ["b@-8+4", "c@-4+4", "a@0+4"])
        #expect(Pattern("a b", cycle: 3).shown(cycles: 2) == "a@0+3/2 b@3/2+3/2 a@3+3/2 b@9/2+3/2")
        #expect(Pattern("a b", cycle: 0).cycle == 4 && Pattern("a", cycle: -1).shown() == "a@0+4")
    }

    @Test("Names of notes and numbers have their numbers, other words have none")
    func numbers() {
        let known: [String: Double?] = [
            "c4": 60, "a4": 69, "A4": 69, "cs4": 61, "c#4": 61, "eb-1": 3, "ef4": 63, "b3": 59, "bb3": 58, "bf3": 58,
            "cb4": 59, "bs3": 60,
            "g9": 127, "c-1": 0, "60": 60, ".5": 0.5, "-.5": -0.5, ".": nil, "/": nil, "1-2": nil, "1.2.3": nil,
            "-3": -3, "0.5": 0.5, "c": nil, "kick": nil, "h4": nil, "c4x": nil, "e": nil,
            "cs": nil,
            "b": nil, "808bd": nil, "1e3": nil, "c123": nil, "c+4": nil, "c--4": nil, "nan": nil, "inf": nil,
            "0x10": nil, "é4": nil, "-": nil,
        ]
        for (word, number) in known { #expect(Note(word).number == number, "\(word)") }
        for key in 0...127 { #expect(Note(Note.name(of: Double(key))).number == Double(key)) }
        #expect(Note.name(of: 61) == "cs4" && Note.name(of: -1) == "b-2" && Note.name(of: .nan) == "nan")
        #expect(Note(String(repeating: "9", count: 400)).number == nil && Pattern(".5 -1").numbers() == [0.5, -1])
        #expect(Note(word: "").number == nil && Note("").number == nil)
    }

    @Test("Scales and chords have their known answers")
    func scales() {
        #expect(
            Pattern("0 2 4 <7 9>").scale(.minor, root: "A3").numbers(cycles: 2) == [57, 60, 64, 69, 57, 60, 64, 72])
        #expect(Pattern("-1 -7 -8 kick").scale(.major, root: "60").numbers() == [59, 48, 47, nil])
        #expect(Pattern("0 5 6").scale(.minorPentatonic).numbers() == [60, 72, 75])
        #expect(
            Pattern("c4'minor7 f").numbers() == [60, 63, 67, 70, nil] && Pattern("c'maj").numbers() == [60, 64, 67])
        #expect(Pattern("7'sus4 ef3'm").numbers() == [7, 12, 14, 51, 54, 58])
        #expect(Pattern("0 4").scale(.major).chord(.minor).numbers() == [60, 63, 67, 67, 70, 74])
        #expect(Pattern("kick").chord(.minor).words() == "kick" && Pattern("c4").chord(Chord([])).words().isEmpty)
        for name in Chord.names { #expect(Chord(named: name) != nil && Pattern("c4'\(name)").problem == nil) }
        for scale in [Scale([]), Scale([.nan]), Scale([0], octave: .infinity)] {
            for degree in [0, -1e300, 1e300, .nan, .infinity, 0.5] { #expect(scale.semitones(of: degree).isFinite) }
        }
        let wrong = Pattern("0 2").scale(.major, root: "H")
        #expect(wrong.words().isEmpty && wrong.problem?.description.hasPrefix("H\n^ This is no root") == true)
    }

    @Test("A second pattern gives velocities and transpositions")
    func controls() {
        let velocities = Pattern("a*4").velocity("1 0.5").velocities
        #expect(velocities == [1, 1, 0.5, 0.5])
        #expect(Pattern("60*2").transposed(by: "<0 5 ~>").numbers(cycles: 3) == [60, 60, 65, 65, 60, 60])
        #expect(Pattern("60").transposed(by: "[").problem != nil && Pattern("60").transposed(by: "[").numbers() == [60])
    }

    @Test("What is computed beforehand is what the same text plays without that")
    func tables() {
        var maker = PatternMaker(seed: 4)
        var compared = 0
        while compared < 300 {
            let text = maker.text()
            if text.contains(where: { "?|".contains($0) }) { continue }
            compared += 1
            // Nothing is left out, but a text with chance in it has no table.
            let (table, plain) = (Pattern(text, cycle: 3), Pattern("[\(text)]?0", cycle: 3))
            #expect(table.problem == nil && plain.problem == nil)
            for start in [-700, -3, 0, 100, 3_000_000] as [Fraction] {
                let (found, expected) = (
                    table.events(from: start, to: start + 20), plain.events(from: start, to: start + 20)
                )
                #expect(found == expected, "\(text)")
            }
        }
    }

    @Test("Random texts play what a second reading of their signs gives")
    func againstTheNaive() {
        var maker = NaiveMaker(random: SplitMix(state: 5))
        for _ in 0..<600 {
            let part = maker.row(depth: 3)
            let text = part.text.first == "[" ? String(part.text.dropFirst().dropLast()) : part.text
            let pattern = Pattern(text, cycle: 1)
            #expect(pattern.problem == nil, "\(text)")
            var expected: [String] = []
            for cycle in -3..<9 { expected += part.events(cycle).map { "\($0.word)@\($0.start)+\($0.length)" } }
            #expect(pattern.events(from: -3, to: 9).map(shown).sorted() == expected.sorted(), "\(text)")
        }
    }
}
