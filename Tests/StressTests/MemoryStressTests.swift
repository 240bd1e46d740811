import Synchronization
import Testing

@testable import RenderCore

/// Memory that goes from thread to thread, which ThreadSanitizer must not take for a race.
@Suite struct MemoryStressTests {
    private final class Owner: Sendable {
        let block: AudioBlock

        init(_ sample: Float) {
            var block = AudioBlock(channels: 1, frames: 16)
            block[0, 0] = sample
            self.block = block
        }
    }

    @Test("memory that another thread has read serves the next owner")
    func reuse() {
        let given = Atomic<Unmanaged<Owner>?>(nil)
        let sum = Atomic<Int>(0)
        let crew = Crew(seconds: 0)
        crew.add { _, _ in
            guard let owner = given.exchange(nil, ordering: .acquiring)?.takeRetainedValue() else { return }
            let sample = Int(owner.block[0, 0])
            withExtendedLifetime(consume owner) {}
            // Without an order, so that only the count of references orders what the two threads do to the memory.
            sum.wrappingAdd(sample, ordering: .relaxed)
        }
        for number in 1...100 {
            let before = sum.load(ordering: .relaxed)
            withExtendedLifetime(Owner(Float(number))) { owner in
                given.store(.passRetained(owner), ordering: .releasing)
                while sum.load(ordering: .relaxed) == before {}
            }
        }
        crew.join { true }
        #expect(sum.load(ordering: .relaxed) == 5_050)
    }
}
