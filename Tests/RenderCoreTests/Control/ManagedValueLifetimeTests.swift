import Testing

@testable import RenderCore
@testable import Sharing

@Suite struct ManagedValueLifetimeTests {

    /// Holds a value, like a module.
    private final class Holder: Sendable {
        let value: ManagedValue<Mortal>
        init(_ lives: Lives) { value = ManagedValue(Mortal(0, lives)) }
        func renderer() throws -> Renderer {
            try Renderer(channels: 1) { [self] context in value.with(&context) { _, _ in } }
        }
    }

    @Test("Without a cycle every replaced value is freed, exactly once")
    func stopped() async throws {
        let lives = Lives()
        do {
            let holder = Holder(lives)
            let renderer = try holder.renderer()
            for number in 1...1000 { holder.value.set(Mortal(number, lives)) }
            #expect(await becomesTrue { lives.alive == 1 })
            withExtendedLifetime(renderer) {}
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.made.load(ordering: .relaxed) == 1001)
        #expect(lives.freed.load(ordering: .relaxed) == 1001)
    }

    @Test("Set on any thread while it runs, freed on none that renders, without a run loop")
    func running() async throws {
        let lives = Lives()
        do {
            let holder = Holder(lives)
            let renderer = try holder.renderer()
            let driver = TestDriver(renderer, watchedBy: lives)
            #expect(await becomesTrue { driver.cycles.load(ordering: .relaxed) > 0 })
            let threads = (0..<2).map { _ in
                TestThread { for number in 0..<1000 { holder.value.set(Mortal(number, lives)) } }
            }
            for thread in threads { thread.join() }
            #expect(await becomesTrue { lives.alive == 1 })
            driver.stop()
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freed.load(ordering: .relaxed) == 2001)
        #expect(lives.freedOnRenderThread.load(ordering: .relaxed) == 0)
    }

    @Test("Twenty thousand changes by transaction with the engine stopped: at most two values stay after any of them")
    func bounded() async throws {
        let lives = Lives()
        do {
            let holder = Holder(lives)
            let renderer = try holder.renderer()
            for round in 1...200 {
                for number in 1...100 { renderer.transaction { holder.value.set(Mortal(round * number, lives)) } }
                // One is heard and one waits. A cycle of another test's renderer may hold up more, until it ends.
                guard await becomesTrue({ lives.alive <= 2 }) else {
                    Issue.record("\(lives.alive) values are alive after round \(round).")
                    break
                }
            }
            _ = renderer.values(1)
            #expect(await becomesTrue { lives.alive == 1 })
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freed.load(ordering: .relaxed) == 20_001)
    }

    @Test("A value in a transaction whose container goes before the cycle is freed once")
    func containerGoes() async throws {
        let lives = Lives()
        let renderer = try Renderer(channels: 1) { _ in }
        do {
            let holder = Holder(lives)
            renderer.transaction { holder.value.set(Mortal(1, lives)) }
            #expect(await becomesTrue { lives.alive == 2 })
        }
        _ = renderer.values(1)
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freed.load(ordering: .relaxed) == 2)
    }

    @Test("A value set directly over one that a transaction holds: each is freed once")
    func superseded() async throws {
        let lives = Lives()
        do {
            let holder = Holder(lives)
            let renderer = try holder.renderer()
            renderer.transaction { holder.value.set(Mortal(1, lives)) }
            holder.value.set(Mortal(2, lives))
            renderer.transaction { holder.value.set(Mortal(3, lives)) }
            holder.value.set(Mortal(4, lives))
            _ = renderer.values(1)
            #expect(await becomesTrue { lives.alive == 1 })
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freed.load(ordering: .relaxed) == 5)
    }

    @Test("A renderer that goes with a transaction pending: its values are shown, and the old ones freed")
    func rendererGoes() async throws {
        let lives = Lives()
        let parameter = Parameter(0, in: 0...1, glide: .none)
        do {
            let holder = Holder(lives)
            do {
                let renderer = try holder.renderer()
                renderer.transaction {
                    holder.value.set(Mortal(1, lives))
                    parameter.value = 1
                }
            }
            #expect(await becomesTrue { lives.alive == 1 })
            let seen = Record<Float>()
            let other = try Renderer(channels: 1) { context in
                holder.value.with(&context) { value, _ in seen.add(Float(value.number)) }
                seen.add(parameter.current(context))
            }
            _ = other.values(1)
            #expect(seen.all == [1, 1, 1, 1])
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freed.load(ordering: .relaxed) == 2)
    }

    /// A value with an object in it.
    private struct Carrier: ~Copyable, Sendable {
        let object: MortalObject?
    }

    @Test("A value's objects may change things while they are freed, and so may its completion")
    func reentrant() async throws {
        let lives = Lives()
        let value = ManagedValue(Carrier(object: nil))
        let renderer = try Renderer(channels: 1) { context in value.with(&context) { _, _ in } }
        let parameter = Parameter(0, in: 0...1)
        let told = Record<Int>()
        let thread = TestThread {
            for number in 1...3 {
                renderer.transaction {
                    let object = MortalObject(lives) { renderer.transaction { parameter.value = Float(number) / 4 } }
                    value.set(Carrier(object: object)) {
                        renderer.transaction { parameter.value = 1 }
                        told.add(number)
                    }
                }
            }
        }
        // Two of them were overtaken. A thread that hangs shows here, instead of in a test run that never ends.
        #expect(await becomesTrue { lives.freed.load(ordering: .acquiring) == 2 })
        if lives.alive == 1 {
            thread.join()
            #expect(told.count == 0)
            _ = renderer.values(1)
            #expect(await becomesTrue { told.count == 3 })
            #expect(told.all == [1, 2, 3])
        }
    }

    @Test("An object that asks its renderer something as it goes does not hang it")
    func askingObject() async throws {
        let lives = Lives()
        let renderer = try Renderer(channels: 1) { _ in }
        let asked = Record<Double>()
        do {
            let object = MortalObject(lives) { [weak renderer] in if let renderer { asked.add(renderer.sampleRate) } }
            try renderer.replaceLoop { _ in object.touch() }
        }
        let thread = TestThread { renderer.removeLoop() }
        #expect(await becomesTrue { asked.count == 1 })
        if asked.count == 1 { thread.join() }
    }
}
