import RenderStack
import TestSupport
import Testing

@Suite struct ClipTests {
    private var riff: Clip {
        var clip = Clip(length: 4)
        clip.add("A1", at: 0, length: 1 / 2)
        clip.add("kick", at: 1.125, length: 1, velocity: 0.5)
        clip.add(.controller(channel: 0, number: 7, value: 100), at: 2)
        clip.add("C2", at: 3.875, length: 1)
        return clip
    }

    @Test("A clip is a pattern that comes again, and a pattern is a clip")
    func patterns() {
        #expect(riff.pattern.cycle == 4)
        #expect(riff.pattern.events(from: 3, to: 6).map(shown) == ["C2@31/8+1", "A1@4+1/2", "kick@41/8+1"])
        #expect(riff.pattern.events(from: -1, to: 0).map(shown) == ["C2@-1/8+1"])
        #expect(Clip(riff.pattern, length: 4) == riff)
        #expect(Clip(Pattern("<a b>"), from: 4, length: 8).events.map(shown) == ["b@0+4", "a@4+4"])
        #expect(Clip(Pattern("a*4"), length: 1_000).events.count == 1_000)
        var outside = riff
        outside.add("x", at: 4)
        outside.add("x", at: -1)
        #expect(outside.pattern.events(from: -8, to: 8) == riff.pattern.events(from: -8, to: 8))
        #expect(Clip(length: 0, events: riff.events).pattern.events(from: 0, to: 8).isEmpty)
        #expect(
            Clip(length: -4, events: riff.events).pattern.events(from: 0, to: 8).isEmpty
                && Clip("a", length: -1).events.isEmpty)
    }

    @Test("Quantised, cut, looped, transposed and merged clips have known answers")
    func changes() {
        let grid = riff.quantised(to: 1 / 2)
        #expect(grid.events.map(\.start) == [0, 0, 1, 2] && grid.events.map(shown).contains("C2@0+1"))
        #expect(
            riff.quantised(to: 1 / 2, strength: 0.5).events.map(\.start) == [0, Fraction(17, 16), 2, Fraction(63, 16)])
        #expect(
            riff.quantised(to: 1, strength: 0) == riff && riff.quantised(to: 0) == riff
                && riff.quantised(to: 1, strength: .nan) == riff)
        #expect(riff.quantised(to: 1 / 2, strength: 7) == grid)
        #expect(riff.cut(from: 1, to: 2).events.map(shown) == ["kick@1/8+7/8"] && riff.cut(from: 1, to: 2).length == 1)
        #expect(riff.cut(from: 2, to: 1) == Clip(length: 0))
        let looped = riff.looped(3)
        #expect(
            looped.length == 12 && looped.events.count == 12
                && looped.pattern.events(from: 0, to: 12) == riff.pattern.events(from: 0, to: 12))
        #expect(
            riff.looped(0) == Clip(length: 0) && riff.looped(-1).length == 0
                && riff.looped(.max).events.count <= 1_000_000)
        let high = riff.transposed(by: 12).events.compactMap(\.note?.number)
        #expect(high == [45, 48] && riff.transposed(by: .nan) == riff)
        let both = riff.merged(with: Clip(length: 8, events: [MusicEvent(.note(Note("hat")), at: 1)]))
        #expect(both.length == 8 && both.events.count == 5 && both.events[1].start == 1)
    }

    @Test("Text is read to an equal clip")
    func text() throws {
        #expect(
            riff.text == "clip 4\n0 1/2 note A1 0.8\n9/8 1 note kick 0.5\n2 0 controller 0 7 100\n31/8 1 note C2 0.8\n")
        #expect(try Clip(text: riff.text) == riff)
        var clip = Clip(length: Fraction(22, 7))
        let words = [
            "", " ", "a b", "\"", "\\", "#", "é", "e\u{301}", "🥁", "\n", "\u{301}", "a\"b", "\\{22}", "\u{2028}",
            "none", "60", "\u{0}", "x#",
        ]
        for (index, word) in words.enumerated() {
            clip.events.append(
                MusicEvent(.note(Note(word, velocity: 1 / 3)), at: Fraction(index, 3), length: Fraction(1, 7)))
            clip.events.append(MusicEvent(.note(Note(word: word, number: 1 / 3.0)), at: -1))
            clip.events.append(MusicEvent(.note(Note(word: word, number: nil, velocity: -1e300)), at: 0))
        }
        let chunk = MIDIChunk(
            bytes: SIMD16(0xF0, 0x7E, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xF7), count: 16, isFirst: true,
            isLast: true)
        let messages: [MIDIMessage] = [
            .noteOn(channel: 1, note: 60, velocity: 3), .noteOff(channel: 255, note: 60, velocity: 3),
            .keyPressure(channel: 1, note: 2, pressure: 3),
            .controller(channel: 1, number: 2, value: 3), .program(channel: 1, number: 2),
            .pressure(channel: 1, pressure: 2),
            .bend(channel: 1, value: -8192), .systemExclusive(chunk), .timeCode(3), .songPosition(16_383),
            .songSelect(4), .tuneRequest, .clock, .start,
            .continue, .stop, .activeSensing, .reset,
        ]
        for message in messages { clip.add(message, at: 1) }
        let text = clip.text
        #expect(try Clip(text: text) == clip)
        #expect(try Clip(text: text).text == text)
        #expect(
            try Clip(
                text: "\n# a\r\n  clip 0.5 # length\r\n\t1/4\t.5".replacing(
                    ".5", with: "0.5 stop # go", maxReplacements: 2
                )
                .replacing("00.5 stop # go", with: "0.5")
            ).events == [MusicEvent(.message(.stop), at: 1 / 4, length: 0.5)])
    }

    @Test("A text that is wrong is told by line and column")
    func wrongTexts() {
        let known: [(text: String, place: String, says: String)] = [
            ("", "Line 1, column 1:", "clip 4"), ("\n\n", "Line 1, column 1:", "clip 4"),
            ("clap 4", "Line 1, column 1:", "first line"),
            ("clip", "Line 1, column 5:", "is missing"), ("clip x", "Line 1, column 6:", "“x” is no number of beats"),
            ("clip 4 5", "Line 1, column 8:", "complete before"),
            ("clip 4\n\n0 1/0 note a 1", "Line 3, column 3:", "“1/0”"),
            ("clip 4\n0 1", "Line 2, column 4:", "note, controller"),
            ("clip 4\n0 1 bang 3", "Line 2, column 5:", "“bang”"),
            ("clip 4\n0 1 note a x", "Line 2, column 12:", "velocity"),
            ("clip 4\n0 1 note a 1 b", "Line 2, column 14:", "or none"),
            ("clip 4\n0 1 note \"a 1", "Line 2, column 10:", "no end"),
            ("clip 4\n0 1 note \"a\\n\" 1", "Line 2, column 12:", "\\{22}"),
            ("clip 4\n0 0 controller 0 1", "Line 2, column 19:", "is missing"),
            ("clip 4\n0 0 controller 0 1 256", "Line 2, column 20:", "0 to 127"),
            ("clip 4\n0 0 bend 0 99999", "Line 2, column 12:", "-8192 to 8191"),
            ("clip 4\n0 0 exclusive now", "Line 2, column 15:", "begins"),
            (
                "clip 4\n0 0 exclusive begins ends" + String(repeating: " 1", count: 17), "Line 2, column 59:",
                "16 bytes"
            ),
        ]
        for (text, place, says) in known {
            do {
                _ = try Clip(text: text)
                Issue.record("\(text) has no mistake")
            } catch {
                #expect(error.description.hasPrefix(place) && error.description.contains(says), "\(text): \(error)")
            }
        }
    }

    @Test("Texts that are changed by chance end")
    func fuzz() throws {
        var random = SplitMix(state: 21)
        let good = Array(
            (riff.text + "0 0 exclusive begins ends 240 1 247\n1 1 note \"a\\{22} b\" 0.5 none\n").unicodeScalars)
        let signs = Array("\"\\{}# \n\t/.-0123456789abcefno\u{301}\u{2028}".unicodeScalars)
        var right = 0
        for _ in 0..<10_000 {
            var scalars = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<scalars.count, using: &random)
                let sign = signs[Int.random(in: 0..<signs.count, using: &random)]
                if Bool.random(using: &random) { scalars[place] = sign } else { scalars.insert(sign, at: place) }
            }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            guard let clip = try? Clip(text: String(text)) else { continue }
            right += 1
            #expect(try Clip(text: clip.text) == clip)
        }
        #expect(right > 500)
    }
}
