import RenderCore
import Synchronization
import Testing

@Suite struct OwnedArrayTests {
    /// Counts its ends.
    private struct Token: ~Copyable, Sendable {
        let number: Int
        let ended: Counter
        deinit { ended.count.wrappingAdd(1, ordering: .relaxed) }
    }
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    @Test("Elements are made in their order, lie where they were made, and end once, with the array")
    func life() {
        let ended = Counter()
        do {
            let tokens = OwnedArray(count: 5) { Token(number: $0 * $0, ended: ended) }
            #expect(tokens.count == 5 && tokens.indices == 0..<5)
            for i in tokens.indices { #expect(tokens[i].number == i * i) }
            #expect(ended.count.load(ordering: .relaxed) == 0)
        }
        #expect(ended.count.load(ordering: .relaxed) == 5)
        let none = OwnedArray(count: 0) { Token(number: $0, ended: ended) }
        #expect(none.count == 0 && none.indices.isEmpty)
    }

    @Test("Parameters in it are set in place") func parameters() {
        let gains = OwnedArray(count: 3) { Parameter(Float($0), in: 0...10) }
        gains[1].value = 7
        #expect(gains[0].value == 0 && gains[1].value == 7 && gains[2].value == 2)
    }
}
