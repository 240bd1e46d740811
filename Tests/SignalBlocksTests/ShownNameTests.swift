import SignalBlocks
import Testing

@Suite struct ShownNameTests {
    @Test("A name stands in a sentence: in one line, and not longer than a line of it")
    func shown() {
        #expect("Bass".shown == "Bass")
        #expect("Höhe 🎸".shown == "Höhe 🎸")
        #expect("one\ntwo\u{2028}three\u{1B}[31m".shown == "one\\u{a}two\\u{2028}three\\u{1b}[31m")
        #expect("a \"b\" \\ c".shown == "a \\\"b\\\" \\\\ c")
        let long = String(repeating: "a", count: 1 << 20) + "end"
        #expect(long.shown.unicodeScalars.count < 200 && long.shown.hasSuffix("end"))
        #expect("".shown == "")
    }
}
