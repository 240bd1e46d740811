import Glibc
import RenderStack
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct EventRingTests {
        @Test("MIDI: messages pass from one thread to another in order, and a full ring says so")
        func ring() async {
            final class Shared: Sendable { let ring = EventRing(capacity: 64) }
            let shared = Shared()
            let count = 100_000
            let writer = Task.detached {
                var number = 0
                while number < count {
                    let message = TimedMessage(hostTime: Int64(number), port: number, message: .songPosition(7))
                    if shared.ring.add(message) { number += 1 } else { sched_yield() }
                }
            }
            var expected = 0
            while expected < count {
                guard let first = shared.ring.first else {
                    sched_yield()
                    continue
                }
                #expect(first.hostTime == Int64(expected) && first.port == expected)
                shared.ring.drop()
                expected += 1
            }
            await writer.value
            let lost = shared.ring.lostCount
            for number in 0..<70 { shared.ring.add(TimedMessage(hostTime: Int64(number), port: 0, message: .clock)) }
            #expect(shared.ring.lostCount == lost + 6)
            #expect(shared.ring.first?.hostTime == 0)
        }
    }
}
