import RenderStack
import TestSupport
import Testing

@Suite struct PatternErrorTests {
    @Test("A wrong text gives silence, and a mark at the character with a sentence")
    func messages() {
        let known: [(text: String, mark: Int, says: String)] = [
            ("kick [~ hat", 5, "This [ has no end: write a ] after the last step of the group."),
            ("<a b", 0, "write a >"), ("{a", 0, "write a }"), ("a b]", 3, "Nothing is open that this ] could close"),
            ("[a > b]", 3, "this >"), ("a *2", 2, "directly before this *"), ("*2", 0, "directly before"),
            ("a*", 2, "as in *2"),
            ("a*0", 2, "above 0"), ("a/0", 2, "above 0"), ("a@0", 2, "above 0"), ("a*-1", 2, "above 0"),
            ("a*1e9x", 3, "space before this e"),
            ("a*9999999999999999999999", 2, "up to 1000000"), ("a!0", 1, "1 to 4096"),
            ("a!99999999999999999999", 1, "1 to 4096"),
            ("a?2", 2, "from 0 to 1"), ("a?0.30000000000001", 2, "from 0 to 1"), ("_ a", 0, "No step is before this _"),
            ("a - b", 2, "write a ~"),
            ("a . b", 2, "brackets"), ("a, b | c", 5, "either , or |"), ("<a|b>", 2, "Only [ ] chooses"),
            ("a(3)", 1, "as in (3,8)"),
            ("a(3,8", 1, "no end"), ("a(3,8,1,2)", 1, "no end"), ("a(9,8)", 1, "no more hits"),
            ("a(1,0)", 1, "1 to 4096"), ("a(-1,8)", 1, "no more hits"),
            ("a(x,8)", 2, "Whole numbers"), ("a()", 2, "Whole numbers"),
            ("[a b]%4", 5, "directly behind a group in braces"),
            ("{a b}%", 6, "as in %2"), ("0..", 0, "both sides"), ("a..b", 0, "both sides"), ("0..1.5", 0, "both sides"),
            ("0..99999", 0, "more than 4096"),
            ("0..3*2", 4, "as in [0..3]*"), ("c'foo", 2, "No chord is called foo"),
            ("c'", 2, "No chord is called nothing"), ("h'major", 0, "no root"),
            ("'major", 0, "root before"), ("a*<2 3", 2, "This < has no end"), ("a*<>", 2, "Numbers belong"),
            ("a*<2 x>", 5, "above 0"),
            ("a(<3 5>,<1 8>)", 1, "no more hits"),
            ("a(<1 1 1 1 1 1 1 1 1>,<9 9 9 9 9 9 9 9 9 9 9>)", 1, "more than 64 cycles"),
            ("a(<3 b>,8)", 5, "Whole numbers"), ("a*2b", 3, "Put a space before this b"),
            ("a\nb\n[c", 4, "This [ has no end"),
            ("bd*1000000", 2, "more than 4096 steps in a cycle"), ("[[a*100]*100]*100", 8, "more than 4096"),
            ("a!3000 b!3000", 7, "more than 4096"),
            ("~*5000", 1, "more than 4096"), (String(repeating: "[", count: 40), 32, "32 deep"),
            ("a" + String(repeating: "?", count: 17), 17, "16 signs"), ("🥁 ]", 2, "Nothing is open"),
        ]
        for (text, mark, says) in known {
            let pattern = Pattern(text)
            #expect(pattern.events(from: 0, to: 100).isEmpty, "\(text)")
            guard let problem = pattern.problem else {
                Issue.record("\(text) has no problem")
                continue
            }
            #expect(problem.position == mark && problem.reason.contains(says), "\(problem)")
            let lines = problem.description.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(
                lines.count == 2 && lines[1].hasSuffix("^ " + problem.reason) && problem.reason.hasSuffix("."),
                "\(problem)")
            #expect(throws: problem) { try Pattern(checking: text) }
        }
        #expect(
            Pattern("kick [~ hat").problem?.description == """
                kick [~ hat
                     ^ This [ has no end: write a ] after the last step of the group.
                """)
        #expect(Pattern("a\nb\n[c").problem?.description.hasPrefix("[c\n^ ") == true)
        let long = String(repeating: "abcd ", count: 100) + "]" + String(repeating: " abcd", count: 100)
        let lines = Pattern(long).problem?.description.split(separator: "\n") ?? []
        #expect(lines.count == 2 && lines[0].count < 120 && Array(lines[0])[lines[1].prefix { $0 == " " }.count] == "]")
        #expect(Pattern(String(repeating: "a ", count: 40_000)).problem?.reason.contains("65536 bytes") == true)
    }

    @Test("A problem stays with all that is made of the pattern")
    func problems() {
        let wrong: Pattern = "["
        #expect((wrong + "a").problem != nil && ("a" + wrong).problem != nil && ("a" + wrong).words() == "a")
        #expect(wrong.fast(2).reversed().swing().problem == wrong.problem)
        #expect(
            Pattern("a").every(2) { _ in wrong }.problem != nil && Pattern("a").sometimes { _ in wrong }.problem != nil)
        #expect(Pattern.sequence(["a", wrong]).problem != nil && Pattern.steps(["a", wrong]).problem != nil)
        #expect(Pattern.stack(["a", wrong]).problem != nil && Pattern.euclid(3, of: 8, note: wrong).problem != nil)
        #expect(Pattern("a").velocity(wrong).problem != nil && Pattern("a").problem == nil)
    }

    @Test("Texts that are changed by chance end, with events or with a problem")
    func fuzz() {
        var random = SplitMix(state: 11)
        var maker = PatternMaker(seed: 12)
        let signs = Array("[]<>{}(),|*/!@?%~_.:'-0123456789abc# \n\té🥁\u{301}\u{0}")
        var good: [[Character]] = []
        while good.count < 500 {
            let text = Array(maker.text(depth: 2))
            if text.count < 60 { good.append(text) }
        }
        var (wrong, most) = (0, 0)
        for round in 0..<200_000 {
            var text = good[Int.random(in: 0..<good.count, using: &random)]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0...text.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: text.insert(signs[Int.random(in: 0..<signs.count, using: &random)], at: place)
                case 1 where place < text.count: text.remove(at: place)
                case 2 where place < text.count: text[place] = signs[Int.random(in: 0..<signs.count, using: &random)]
                default:
                    let other = good[Int.random(in: 0..<good.count, using: &random)]
                    text.insert(contentsOf: other.prefix(Int.random(in: 0...6, using: &random)), at: place)
                }
            }
            let pattern = Pattern(String(text))
            if let problem = pattern.problem {
                wrong += 1
                #expect(problem.position >= 0 && problem.position <= text.count && problem.reason.hasSuffix("."))
            } else if round % 20 == 0 {
                let start = Fraction(Int.random(in: -1_000_000...1_000_000, using: &random))
                most = max(most, pattern.events(from: start, to: start + 4).count)
            }
        }
        #expect(wrong > 40_000 && wrong < 180_000 && most <= 4_096, "\(wrong) \(most)")
    }

    @Test("Texts that are made to take all time and memory end soon")
    func bombs() {
        func nested(_ open: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + "a" + String(repeating: close, count: count)
        }
        let texts = [
            nested("[", "]", 30_000), nested("[", "]*2", 31), nested("[", "]!2", 31), nested("<", ">!3", 31),
            nested("[", "]*0.5", 31),
            nested("{", "}%4000", 31), nested("[", "]/999983", 31), nested("<", ">/999979", 31),
            nested("[", "](4000,4096)", 3),
            nested("<", " b>!4096", 3), "<" + String(repeating: "[a!4096] ", count: 7_000) + ">",
            nested("[", "|b]!8", 31), nested("[", "]@0.000001", 31),
            String(repeating: "a*4096 ", count: 5_000), String(repeating: "a/999983 ", count: 4_000),
            nested("[", "?]", 31),
            "a" + String(repeating: "*<\(String(repeating: "1 ", count: 300))>", count: 16),
            "a" + String(repeating: "(<1 2 3 1 2 3 1>,<4 5 6 7 8 9>)", count: 6),
            "a*<\(String(repeating: "1 ", count: 30_000))>", "<" + String(repeating: "a*4096 ", count: 4_000) + ">",
            "{" + String(repeating: "a*4096 ", count: 4_000) + "}%0.000001",
            "a" + String(repeating: "\u{301}", count: 30_000), String(repeating: "(", count: 60_000),
            String(repeating: "a!", count: 30_000),
            (2...60).map { "<a!\($0)>" }.joined(separator: " "), "[a/999999]*999999", "a*0.000001",
            "a@999999 b@0.000001",
        ]
        for text in texts {
            let pattern = Pattern(text)
            for start in [Fraction(0), 1_000_003, -1_000_003, Fraction(1 << 39)] {
                #expect(pattern.events(from: start, to: start + 4).count <= 8_192)
            }
        }
    }

    @Test("A pattern that is changed again and again ends in silence with a problem, not in a crash")
    func depth() {
        var (pattern, doubled, controlled) = (Pattern("a b"), Pattern("~"), Pattern("1"))
        for _ in 0..<200 {
            pattern = pattern.delayed(by: 1 / 4).reversed().reversed().reversed().reversed().rotated(by: 1)
        }
        #expect(pattern.words().isEmpty && pattern.problem?.description.hasPrefix("More than 256 changes") == true)
        var kept = Pattern("a b")
        for _ in 0..<128 { kept = kept.rotated(by: 1).rotated(by: -1) }
        #expect(kept.shown() == "a@0+2 b@2+2" && kept.problem == nil)
        // So many changes that each look at whole cycles have room in the work for a span.
        var turned = Pattern("a b")
        for _ in 0..<30 { turned = turned.delayed(by: 1).reversed() }
        #expect(turned.events(from: 0, to: 4).count == 2)
        // Each of these asks two as many times as the one before.
        for _ in 0..<100 {
            doubled = doubled + doubled
            controlled = controlled.velocity(controlled)
        }
        #expect(doubled.words().isEmpty && controlled.events(from: 0, to: 4).count <= 1)
    }

    @Test("Spans and changes with numbers out of any range end, and end no program")
    func hostileNumbers() {
        let edges: [Fraction] = [
            0, -1, 1_000, Fraction(.max), Fraction(.min), Fraction(1, .max), Fraction(.max, .max - 1), 1_000_000,
            0.000001,
        ]
        for pattern in [
            Pattern("a b?"), Pattern(Clip(length: Fraction(.max), events: [MusicEvent(.note(Note("a")), at: 0)])),
        ] {
            for number in edges {
                let changed = [
                    pattern.fast(number), pattern.slow(number), pattern.delayed(by: number),
                    pattern.rotated(by: number), pattern.legato(number),
                    pattern.swing(number), pattern.swing(1 / 3, grid: number), Pattern("a", cycle: number),
                    pattern.every(number.numerator) { $0 },
                    .steps([pattern, pattern], weights: [number], cycle: number),
                    .euclid(number.numerator, of: 8, rotation: .min, note: pattern),
                    pattern.reversed(), .sequence([pattern, Pattern("a", cycle: number)]),
                    pattern.every(2, at: number.numerator) { $0 },
                ]
                for pattern in changed {
                    for start in edges.prefix(6) {
                        _ = pattern.events(from: start, to: start + 1)
                        #expect(
                            pattern.events(from: start, to: start).isEmpty && pattern.events(from: 1, to: 0).isEmpty)
                    }
                }
            }
        }
        let strict = Pattern { from, to in
            #expect(from < to)
            return [MusicEvent(.note(Note("a")), at: from)]
        }
        for beat in edges {
            let pattern = strict.delayed(by: beat).fast(4_096).delayed(by: beat).swing(grid: beat)
            #expect(
                pattern.events(from: 1 / 8, to: 1 / 4).count <= 1
                    && strict.delayed(by: beat).events(from: 1 / 8, to: 1 / 4).count <= 1)
        }
        // Some hundred thousand events are enough for one span.
        let shortest = Clip(length: Fraction(1, .max), events: [MusicEvent(.note(Note("a")), at: 0)]).pattern
        #expect(shortest.events(from: 0, to: 1).isEmpty && shortest.slow(4_096).events(from: 0, to: 1).count <= 1 << 18)
        let count = Pattern("a*64").fast(4_096).fast(4_096).events(from: 0, to: 1_000).count
        #expect(count > 1 << 16 && count <= 1 << 18)
    }
}
