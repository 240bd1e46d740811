import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import RenderCore

@Suite struct PublishedTests {
    private struct Numbers: BitwiseCopyable, Sendable {
        var words: InlineArray<9, Int>
    }

    private final class Shared: Sendable {
        let numbers = Published(Numbers(words: InlineArray(repeating: 0)))
        let isDone = Atomic<Bool>(false)
        let mixed = Atomic<Int>(0)
        let backward = Atomic<Int>(0)
    }

    @Test("Two threads that look while a third one writes see whole values, each as new as the one before or newer")
    func wholeValues() {
        let shared = Shared()
        DispatchQueue.concurrentPerform(iterations: 3) { thread in
            if thread == 0 {
                for turn in 1...200_000 { shared.numbers.store(Numbers(words: InlineArray(repeating: turn))) }
                shared.isDone.store(true, ordering: .releasing)
                return
            }
            var last = 0
            while !shared.isDone.load(ordering: .acquiring) {
                let words = shared.numbers.load().words
                for index in words.indices where words[index] != words[0] {
                    shared.mixed.wrappingAdd(1, ordering: .relaxed)
                }
                if words[0] < last { shared.backward.wrappingAdd(1, ordering: .relaxed) }
                last = words[0]
            }
        }
        #expect(shared.mixed.load(ordering: .relaxed) == 0)
        #expect(shared.backward.load(ordering: .relaxed) == 0)
        #expect(shared.numbers.load().words[8] == 200_000)
    }
}
