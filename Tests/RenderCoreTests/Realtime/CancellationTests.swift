import Glibc
import Synchronization
import Testing

@testable import LinuxRealtime

@Suite("A library's end of its threads")
struct CancellationTests {
    /// The steps that a thread has come to.
    private final class Steps: Sendable {
        let begun = Atomic<Bool>(false)
        let mayEnd = Atomic<Bool>(false)
        let ended = Atomic<Bool>(false)
    }

    /// A thread that is ended lets go of nothing, so it holds nothing of its own.
    private static let steps = Steps()

    @Test("A thread that is ended in the middle of a callback ends after it")
    func afterTheCallback() throws {
        let steps = Self.steps
        var thread = pthread_t()
        let error = startThread(&thread) {
            let steps = Self.steps
            pthread_setcanceltype(Int32(PTHREAD_CANCEL_ASYNCHRONOUS), nil)
            withoutCancellation {
                steps.begun.store(true, ordering: .releasing)
                while !steps.mayEnd.load(ordering: .acquiring) {}
                steps.ended.store(true, ordering: .releasing)
            }
            while true { usleep(1000) }
        }
        try #require(error == 0)
        while !steps.begun.load(ordering: .acquiring) { usleep(100) }
        #expect(pthread_cancel(thread) == 0)
        // An end at any instruction would be here by now.
        usleep(50_000)
        steps.mayEnd.store(true, ordering: .releasing)
        pthread_join(thread, nil)
        let ended = steps.ended.load(ordering: .acquiring)
        #expect(ended)
    }
}
