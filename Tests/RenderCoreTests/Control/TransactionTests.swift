import Synchronization
import Testing

import func TestSupport.extent

@testable import RenderCore
@testable import Sharing

@Suite struct TransactionTests {
    private struct Refusal: Error {}

    @Test("Parameters of a transaction change in one cycle; until then the old ones are heard")
    func together() throws {
        let (a, b) = (GlideProbe(1, glide: .none), GlideProbe(2, glide: .none))
        let renderer = try Self.pair(a, b)
        #expect(renderer.values(1) == [201])
        renderer.transaction {
            a.parameter.value = 3
            #expect(renderer.values(1) == [201])
            b.parameter.value = 4
            #expect(a.parameter.value == 3)
            #expect(renderer.values(1) == [201])
        }
        #expect(a.parameter.value == 3 && b.parameter.value == 4)
        #expect(renderer.values(1) == [403])
    }

    @Test("A transaction in a transaction belongs to the outer one")
    func nested() throws {
        let (a, b) = (GlideProbe(1, glide: .none), GlideProbe(2, glide: .none))
        let renderer = try Self.pair(a, b)
        renderer.transaction {
            renderer.transaction { a.parameter.value = 5 }
            #expect(renderer.values(1) == [201])
            b.parameter.value = 6
        }
        #expect(renderer.values(1) == [605])
    }

    @Test("A value set directly after a transaction is the newer one, before and after the cycle")
    func directAfter() throws {
        let probe = GlideProbe(1, glide: .none)
        let renderer = try probe.renderer()
        renderer.transaction { probe.parameter.value = 2 }
        probe.parameter.value = 3
        #expect(renderer.values(1) == [3])
        #expect(renderer.values(1) == [3])
        #expect(probe.parameter.value == 3)
        probe.parameter.value = 4
        renderer.transaction { probe.parameter.value = 5 }
        #expect(renderer.values(1) == [5])
    }

    @Test("A body that throws changes nothing: not what is heard, not what control code sees")
    func throwing() async throws {
        let lives = Lives()
        let (a, b) = (GlideProbe(1, glide: .none), GlideProbe(2, glide: .none))
        let value = ManagedValue(7)
        let mortal = ManagedValue(Mortal(1, lives))
        let voices = ManagedArray<Int, Mortal>()
        voices.update([1]) { key, _ in Mortal(key, lives) }
        let renderer = try Self.pair(a, b)
        let ran = Record<Int>()
        for _ in 0..<3 {
            #expect(throws: Refusal.self) {
                try renderer.transaction {
                    a.parameter.value = 9
                    a.parameter.value = 10
                    value.set(8)
                    mortal.set(Mortal(2, lives))
                    voices.update([1, 2]) { key, _ in Mortal(key, lives) }
                    let object = MortalObject(lives)
                    try renderer.messages.send { _ in
                        object.touch()
                        ran.add(1)
                    }
                    throw Refusal()
                }
            }
        }
        #expect(a.parameter.value == 1)
        #expect(value.value == 7)
        #expect(voices.keys == [1])
        #expect(renderer.values(1) == [201])
        #expect(ran.count == 0)
        #expect(await becomesTrue { lives.alive == 2 })
        // Everything works as before.
        a.parameter.value = 3
        value.set(9)
        #expect(renderer.values(1) == [203])
        #expect(value.value == 9)
        withExtendedLifetime(mortal) {}
    }

    @Test("An inner body that throws takes back what it did, and no more")
    func throwingInside() throws {
        let (a, b) = (GlideProbe(1, glide: .none), GlideProbe(2, glide: .none))
        let renderer = try Self.pair(a, b)
        renderer.transaction {
            a.parameter.value = 5
            #expect(throws: Refusal.self) {
                try renderer.transaction {
                    a.parameter.value = 6
                    b.parameter.value = 7
                    throw Refusal()
                }
            }
            #expect(a.parameter.value == 5)
            #expect(b.parameter.value == 2)
        }
        #expect(renderer.values(1) == [205])
    }

    @Test("Bodies that throw take no places in the queue")
    func throwingKeepsPlaces() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        for _ in 0..<(2 * Inbox.capacity) {
            #expect(throws: Refusal.self) {
                try renderer.transaction {
                    try renderer.messages.send { _ in }
                    throw Refusal()
                }
            }
        }
        #expect(throws: Never.self) { try renderer.messages.send { _ in } }
        for _ in 0..<(2 * Inbox.capacity) {
            #expect(throws: Refusal.self) {
                try renderer.transaction(at: .sample(9)) {
                    try renderer.messages.send { _ in }
                    throw Refusal()
                }
            }
        }
        #expect(throws: Never.self) { try renderer.messages.send { _ in } }
    }

    @Test("Any number of transactions on a stopped renderer are one change that waits")
    func coalesces() throws {
        let probe = GlideProbe(1, glide: .none)
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        for number in 0..<extent(1_000_000, inDebug: 50_000) {
            renderer.transaction { probe.parameter.value = Float(number % 1000) }
        }
        let waiting = try #require(renderer.state.inbox.takePending()?.takeRetainedValue())
        #expect(waiting.count == 1)
        renderer.transaction { probe.parameter.value = 7 }
        #expect(renderer.values(1) == [7])
    }

    @Test("Transactions of several threads are never mixed", .timeLimit(.minutes(2)))
    func threads() async throws {
        let (a, b) = (GlideProbe(0, glide: .none), GlideProbe(0, glide: .none))
        let torn = Atomic<Int>(0)
        let renderer = try Renderer(channels: 1) { context in
            if a.parameter.current(context) != b.parameter.current(context) { torn.wrappingAdd(1, ordering: .relaxed) }
        }
        let driver = TestDriver(renderer)
        let threads = (1...3).map { thread in
            TestThread {
                for step in 0..<3000 {
                    renderer.transaction {
                        a.parameter.value = Float(thread * 1000 + step % 1000)
                        b.parameter.value = Float(thread * 1000 + step % 1000)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        driver.stop()
        _ = renderer.values(1)
        #expect(torn.load(ordering: .relaxed) == 0)
        #expect(a.parameter.value == b.parameter.value)
    }

    @Test("A message that is sent after a transaction finds its values")
    func order() throws {
        let probe = GlideProbe(1, glide: .none)
        let renderer = try probe.renderer()
        let seen = Record<Float>()
        renderer.transaction { probe.parameter.value = 2 }
        try renderer.messages.send { context in seen.add(probe.parameter.current(context)) }
        _ = renderer.values(1)
        #expect(seen.all == [2])
    }

    @Test("Values and messages of one transaction come in one cycle, in the order in which they were set")
    func mixed() throws {
        let probe = GlideProbe(1, glide: .none)
        let renderer = try probe.renderer()
        let seen = Record<Float>()
        try renderer.transaction {
            try renderer.messages.send { context in seen.add(probe.parameter.current(context)) }
            probe.parameter.value = 2
            try renderer.messages.send { context in seen.add(probe.parameter.current(context)) }
        }
        #expect(renderer.values(1) == [2])
        #expect(seen.all == [1, 2])
    }

    static func pair(_ a: GlideProbe, _ b: GlideProbe) throws -> Renderer {
        try Renderer(sampleRate: 1, channels: 1) { context in
            context.run(a)
            context.run(b)
            context.gain(100)
            context.mix(2)
            context.output()
        }
    }
}
