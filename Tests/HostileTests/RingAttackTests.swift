import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Rings and ports from both ends at once, and at places that do not exist.
@Suite struct RingAttackTests {
    @Test("A ring that is read and written at impossible places, with grants and chunks of other rings")
    func ring() throws {
        let ring = AudioRing(frames: 32, channels: 2, sampleRate: 48_000)
        let other = AudioRing(frames: 1, channels: 64, sampleRate: 1)
        var block = AudioBlock(channels: 2, frames: 40)
        for turn in 0..<20 {
            for edge in ControlAttackTests.edges {
                for time in [ControlAttackTests.times[turn % ControlAttackTests.times.count]] {
                    let first = ring.reserve(frames: edge, time: time)
                    let second = ring.reserve(frames: 5, time: time)
                    other.commit(first)
                    ring.commit(second)
                    ring.write(block, from: edge, frames: 3, time: time)
                    ring.write(block, from: 0, frames: edge, time: time)
                    var grant = other.reserve(frames: 1, time: time)
                    ring.write(block.samples(0), channel: edge, to: &grant)
                    ring.write(block.samples(0), channel: 0, to: &grant)
                    ring.commit(grant)
                }
                let chunk = ring.peek(frames: edge)
                let foreign = other.peek()
                ring.copy(chunk, into: &block, at: edge)
                var span = block[0]
                ring.copy(chunk, channel: edge, into: &span, at: edge)
                ring.copy(foreign, channel: 0, into: &span, at: 0)
                _ = ring.peekContiguous(frames: edge, tolerance: edge, wrappingAt: Int64(edge))
                other.consume(chunk)
                ring.consume(foreign)
                ring.consume(chunk)
                ring.consume(chunk)
                ring.skip(frames: edge)
                ring.read(into: &block, frames: edge, at: 0)
                ring.read(into: &block, frames: 1, at: edge)
                #expect(ring.availableFrames >= 0 && ring.availableFrames <= ring.capacity)
                #expect(ring.freeFrames >= 0 && ring.freeFrames <= ring.capacity)
            }
            if turn % 3 == 0 { ring.clear() }
        }
    }

    @Test("A ring with two producers and two consumers, against its rule")
    func ringFromManyThreads() async {
        final class Held: Sendable { let ring = AudioRing(frames: 64, channels: 1, sampleRate: 48_000) }
        let held = Held()
        let ended = await allEnd(
            (0..<4).map { thread in
                {
                    var block = AudioBlock(channels: 1, frames: 20)
                    for turn in 0..<2_000 {
                        switch thread {
                        case 0, 1: held.ring.write(block, time: .sample(Int64(turn)))
                        case 2: held.ring.read(into: &block)
                        default: turn % 10 == 0 ? held.ring.clear() : held.ring.consume(held.ring.peek())
                        }
                    }
                }
            })
        #expect(ended)
        #expect(held.ring.availableFrames <= held.ring.capacity)
    }

    @Test("A port that is drained while it is drained, from four threads, and by handlers that cancel themselves")
    func port() async {
        final class Held: Sendable {
            let port = MessagePort<Int>(capacity: 1)
            let wide = MessagePort<Int>(capacity: 65_536)
            let subscription = Guarded<Subscription?>(nil)
        }
        let held = Held()
        held.port.send(1)
        held.port.drain { _ in
            held.port.send(2)
            held.port.drain { _ in held.port.send(3) }
        }
        #expect(
            await allEnd(
                (0..<4).map { thread in
                    {
                        for turn in 0..<2_000 {
                            if thread % 2 == 0 { held.wide.send(turn) } else { held.wide.drain { _ in } }
                        }
                    }
                }))
        let count = Atomic<Int>(0)
        let subscription = held.port.by({ $0() }) { _ in
            count.add(1, ordering: .relaxed)
            held.subscription.now?.cancel()
            held.subscription.withLock { $0 = nil }
        }
        held.subscription.withLock { $0 = subscription }
        held.port.send(4)
        #expect(await becomesTrue { count.load(ordering: .relaxed) > 0 })
    }
}
