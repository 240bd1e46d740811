import Testing

@testable import RenderCore
@testable import Sharing

@Suite struct ManagedValueTests {
    /// A renderer that puts the value on its output.
    private final class Reader: Generator {
        let value: ManagedValue<Float>
        init(_ first: Float) { value = ManagedValue(first) }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            context.pushUninitialized(channels: 1)
            value.with(&context) { value, context in
                var top = context.top
                var samples = top[0]
                for i in samples.indices { samples[i] = value }
            }
        }

        func renderer() throws -> Renderer {
            try Renderer(channels: 1) { [self] context in
                context.run(self)
                context.output()
            }
        }
    }

    @Test("A new value is seen by the next cycle, and by control code at once")
    func seen() throws {
        let reader = Reader(1)
        let renderer = try reader.renderer()
        #expect(renderer.values(1) == [1])
        reader.value.set(2)
        #expect(reader.value.value == 2)
        #expect(renderer.values(1) == [2])
    }

    @Test("Three values of a transaction are seen in one cycle, by control code at once")
    func transaction() throws {
        let readers = [Reader(1), Reader(2), Reader(3)]
        let (a, b, c) = (readers[0], readers[1], readers[2])
        let renderer = try Renderer(channels: 1) { context in
            context.run(a)
            context.run(b)
            context.run(c)
            context.mix(3)
            context.output()
        }
        #expect(renderer.values(1) == [6])
        renderer.transaction {
            a.value.set(10)
            #expect(renderer.values(1) == [6])
            b.value.set(20)
            #expect(a.value.value == 10)
            renderer.transaction { c.value.set(30) }
            #expect(c.value.value == 30)
            #expect(renderer.values(1) == [6])
        }
        #expect(readers.map { $0.value.value } == [10, 20, 30])
        #expect(renderer.values(1) == [60])
    }

    @Test("Two transactions before one cycle show the later one's values")
    func twoTransactions() throws {
        let (a, b) = (Reader(1), Reader(1))
        let renderer = try Renderer(channels: 1) { context in
            context.run(a)
            context.run(b)
            context.mix(2)
            context.output()
        }
        renderer.transaction {
            a.value.set(10)
            b.value.set(100)
        }
        renderer.transaction { a.value.set(20) }
        #expect(a.value.value == 20)
        #expect(renderer.values(1) == [120])
    }

    @Test("A value set directly after a transaction is the newer one")
    func superseded() throws {
        let reader = Reader(1)
        let renderer = try reader.renderer()
        renderer.transaction { reader.value.set(2) }
        reader.value.set(3)
        #expect(reader.value.value == 3)
        #expect(renderer.values(1) == [3])
        #expect(renderer.values(1) == [3])
        #expect(reader.value.value == 3)
    }

    @Test("Two renderers read one value")
    func shared() throws {
        let value = ManagedValue<Float>(4)
        let seen = Record<Float>()
        let loop: RenderLoop = { context in value.with(&context) { value, _ in seen.add(value) } }
        let (first, second) = (try Renderer(channels: 1, loop), try Renderer(channels: 1, loop))
        value.set(5)
        _ = first.values(1)
        _ = second.values(1)
        #expect(seen.all == [4, 4, 5, 5])
        #expect(first.faultCount == 0 && second.faultCount == 0)
    }

    @Test("The completion of a set runs once, when the old value has been freed")
    func completion() async throws {
        let reader = Reader(1)
        let renderer = try reader.renderer()
        let told = Record<Int>()
        reader.value.set(2) { told.add(1) }
        #expect(await becomesTrue { told.count == 1 })
        renderer.transaction { reader.value.set(3) { told.add(2) } }
        try? await Task.sleep(for: .milliseconds(20))
        #expect(told.all == [1])
        _ = renderer.values(1)
        #expect(await becomesTrue { told.count == 2 })
        #expect(told.all == [1, 2])
    }
}
