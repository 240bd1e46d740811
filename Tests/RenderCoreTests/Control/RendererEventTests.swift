import Composition
import Testing

@testable import RenderCore

@Suite struct RendererEventTests {
    private func faults(_ events: [RenderEvent]) -> [Fault] {
        events.compactMap { if case .fault(let fault) = $0 { fault } else { nil } }
    }

    @Test("The renderer reports faults with their kind, place and count, equal ones in one event")
    func coalesced() async throws {
        let fails = Parameter(0, in: 0...1, glide: .none)
        let bad = ClosureModule(.generates, name: "Bad") { context in
            context.push(channels: 1)
            if fails.current(context) > 0 { context.pop(5) }
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(bad)
            if fails.current(context) > 0 { context.mix(7) }
            context.output()
        }
        let events = Record<RenderEvent>()
        let subscription = renderer.by({ $0() }) { events.add($0) }
        _ = renderer.values(10)
        #expect(renderer.faultCount == 0)
        fails.value = 1
        for _ in 0..<100 { _ = renderer.values(1) }
        fails.value = 0
        let total = renderer.faultCount
        #expect(total >= 200)
        #expect(await becomesTrue { faults(events.all).reduce(0) { $0 + $1.count } == total })
        let told = faults(events.all)
        #expect(told.count < total)
        let pops = told.filter { $0.operation == .pop }
        #expect(pops.allSatisfy { $0.module == "Bad" && $0.isInsideModule && $0.kind == .underflow })
        #expect(pops.reduce(0) { $0 + $1.count } == 100)
        #expect(pops.first?.sampleTime == 10)
        let mixes = told.filter { $0.operation == .mix }
        #expect(mixes.allSatisfy { $0.module == "Bad" && !$0.isInsideModule })
        #expect(mixes.reduce(0) { $0 + $1.count } == 100)
        #expect(pops.first?.description.contains("in Bad") == true)
        subscription.cancel()
    }

    @Test("Two listeners get everything; one that came later gets what came later")
    func listeners() async throws {
        let renderer = try Renderer(channels: 1) { context in if !context.isDryRun { context.pop(1) } }
        let (first, second, third) = (Record<RenderEvent>(), Record<RenderEvent>(), Record<RenderEvent>())
        let subscriptions = [renderer.by({ $0() }) { first.add($0) }, renderer.by({ $0() }) { second.add($0) }]
        func count(_ record: Record<RenderEvent>) -> Int { faults(record.all).reduce(0) { $0 + $1.count } }
        _ = renderer.values(1)
        #expect(await becomesTrue { count(first) == 1 && count(second) == 1 })
        let late = renderer.by({ $0() }) { third.add($0) }
        _ = renderer.values(1)
        #expect(await becomesTrue { count(first) == 2 && count(second) == 2 && count(third) == 1 })
        withExtendedLifetime((subscriptions, late)) {}
    }

    @Test("The stream ends with the renderer")
    func ends() async throws {
        let events: AsyncStream<RenderEvent>
        do {
            let renderer = try Renderer(channels: 1) { _ in }
            events = renderer.events
        }
        for await _ in events { Issue.record("nothing happened") }
    }

    @Test("A renderer that is called while it renders gives silence and a fault, from any thread")
    func busy() async throws {
        let inner = Lock<Renderer?>(nil, .output)
        let heard = Record<Float>()
        let renderer = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            context.push(channels: 1)
            var block = AudioBlock([[Float](repeating: 1, count: 4)])
            inner.withLock { $0 }?.render(into: &block)
            heard.add(block[0, 3])
        }
        inner.withLock { $0 = renderer }
        let events = Record<RenderEvent>()
        let subscription = renderer.by({ $0() }) { events.add($0) }
        _ = renderer.values(1)
        #expect(heard.all == [0])
        #expect(renderer.faultCount == 1)
        #expect(await becomesTrue { faults(events.all).first?.kind == .busyRenderer })
        inner.withLock { $0 = nil }
        subscription.cancel()
    }

    @Test("The times of the last and the next cycle")
    func times() throws {
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { _ in }
        #expect(renderer.lastRenderTime == nil)
        #expect(renderer.nextRenderTime == nil)
        var block = AudioBlock(channels: 1, frames: 250)
        renderer.render(into: &block, hostTime: 5_000_000_000)
        #expect(renderer.lastRenderTime == 5_000_000_000)
        #expect(renderer.nextRenderTime == 5_250_000_000)
        renderer.render(into: &block, frames: 100, hostTime: 6_000_000_000)
        #expect(renderer.nextRenderTime == 6_100_000_000)
        #expect(renderer.sampleTime == 350)
        // A cycle without frames is none.
        renderer.render(into: &block, frames: 0, hostTime: 9_000_000_000)
        #expect(renderer.lastRenderTime == 6_000_000_000)
    }
}
