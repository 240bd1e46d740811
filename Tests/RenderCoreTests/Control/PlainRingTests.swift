import Glibc
import RenderCore
import Testing

@Suite struct PlainRingTests {
    @Test("Values pass from one thread to another in order, and a full ring says so")
    func ring() async {
        final class Shared: Sendable { let ring = PlainRing(capacity: 64, filledWith: SIMD2<Int>(0, 0)) }
        let shared = Shared()
        let count = 100_000
        let writer = Task.detached {
            var number = 0
            while number < count {
                if shared.ring.add(SIMD2(number, -number)) { number += 1 } else { sched_yield() }
            }
        }
        var expected = 0
        while expected < count {
            guard let first = shared.ring.first else {
                sched_yield()
                continue
            }
            #expect(first == SIMD2(expected, -expected))
            shared.ring.drop()
            expected += 1
        }
        await writer.value
        #expect(shared.ring.count == 0)
        let lost = shared.ring.lostCount
        for number in 0..<70 { shared.ring.add(SIMD2(number, 0)) }
        #expect(shared.ring.lostCount == lost + 6 && shared.ring.count == 64)
        #expect(shared.ring.first == SIMD2(0, 0))
    }
}
