import Testing

@testable import RenderCore

/// Counts frames in a state that is copied.
private final class CopyCounter: Generator {
    let count = RenderState<Float>(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        var number = count.read(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            samples[i] = number
            number += 1
        }
        count.write(number, context)
    }
}

private struct Memory: ~Copyable, Sendable {
    var values: RenderMemory<Float>
    private let lives: Lives
    init(_ value: Float, _ lives: Lives) {
        values = RenderMemory(repeating: value, count: 4)
        self.lives = lives
        lives.begin()
    }
    deinit { lives.end() }
}

/// Counts frames in a state that is used in place, and counted: a closure's, for the count of references in it.
private final class PlaceCounter: Sendable {
    let memory: RenderState<Memory>

    init(_ lives: Lives) { memory = RenderState(Memory(0, lives)) }

    func renderer() throws -> Renderer {
        try Renderer(channels: 1) { [self] context in
            context.push(channels: 1)
            memory.with(&context) { memory, context in
                var top = context.top
                var samples = top[0]
                for i in samples.indices {
                    samples[i] = memory.values[0]
                    memory.values[0] += 1
                }
            }
            context.output()
        }
    }
}

@Suite struct RenderStateTests {
    private func renderer(_ module: some Module) throws -> Renderer {
        try Renderer(channels: 1) { context in
            context.run(module)
            context.output()
        }
    }

    @Test("A state keeps what was written, by copy and in place")
    func keeps() async throws {
        #expect(try renderer(CopyCounter()).values(6, cycle: 4) == [0, 1, 2, 3, 4, 5])
        let lives = Lives()
        do {
            let renderer = try PlaceCounter(lives).renderer()
            #expect(renderer.values(6, cycle: 4) == [0, 1, 2, 3, 4, 5])
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A dry run changes no state")
    func dryRun() throws {
        let state = RenderState<Float>(1)
        let seen = Record<Float>()
        let lives = Lives()
        let place = RenderState(Memory(1, lives))
        let loop: RenderLoop = { context in
            seen.add(state.read(context))
            state.write(99, context)
            seen.add(state.read(context))
            place.with(&context) { memory, _ in
                seen.add(memory.values[0])
                memory.values[0] = 99
            }
        }
        let renderer = try Renderer(channels: 1, loop)
        #expect(seen.all == [1, 1, 1])
        _ = renderer.values(1)
        #expect(seen.all[3...] == [1, 99, 1])
        // While another owns it a dry run sees the beginning, never what is being written.
        try renderer.replaceLoop(loop)
        #expect(seen.all[6...] == [1, 1, 1])
        _ = renderer.values(1)
        #expect(seen.all[9...] == [99, 99, 99])
        #expect(renderer.faultCount == 0)
        #expect(lives.alive == 1)
    }

    @Test("A replaced state is seen at the next access, and the old one freed once")
    func replaces() async throws {
        let lives = Lives()
        let module = PlaceCounter(lives)
        let renderer = try module.renderer()
        #expect(renderer.values(3) == [0, 1, 2])
        module.memory.replace(with: Memory(100, lives))
        #expect(renderer.values(3) == [100, 101, 102])
        #expect(await becomesTrue { lives.alive == 1 })
    }

    @Test("Replaced while it runs, every state is freed once, and not on the render thread")
    func replacesWhileRunning() async throws {
        let lives = Lives()
        do {
            let module = PlaceCounter(lives)
            let renderer = try module.renderer()
            let driver = TestDriver(renderer, watchedBy: lives)
            #expect(await becomesTrue { driver.cycles.load(ordering: .relaxed) > 0 })
            for number in 0..<2000 { module.memory.replace(with: Memory(Float(number), lives)) }
            driver.stop()
            #expect(renderer.faultCount == 0)
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.made.load(ordering: .relaxed) >= 2001)
        #expect(lives.freedOnRenderThread.load(ordering: .relaxed) == 0)
    }

    @Test("A state used inside its own use is a fault, and the inner body does not run")
    func nested() throws {
        let state = RenderState<Int>(0)
        let ran = Record<Int>()
        let renderer = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            state.with(&context) { value, context in
                value = 1
                state.with(&context) { _, _ in ran.add(1) }
                ran.add(value)
            }
            ran.add(state.read(context))
        }
        _ = renderer.values(1)
        #expect(ran.all == [1, 1])
        #expect(renderer.faultCount == 1)
    }

    @Test("A stranger reads the beginning, changes nothing and raises a fault")
    func stranger() throws {
        let state = RenderState<Float>(5)
        let owner = try Renderer(channels: 1) { context in state.write(6, context) }
        let seen = Record<Float>()
        let stranger = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            seen.add(state.read(context))
            state.write(7, context)
            state.with(&context) { _, _ in seen.add(-1) }
        }
        _ = owner.values(1)
        _ = stranger.values(1)
        #expect(seen.all == [5])
        #expect(stranger.faultCount == 3)
        #expect(owner.faultCount == 0)
    }

    @Test("When its owner is gone, a state is the next one's")
    func inherited() async throws {
        let state = RenderState<Float>(5)
        do {
            let owner = try Renderer(channels: 1) { context in state.write(6, context) }
            _ = owner.values(1)
        }
        let seen = Record<Float>()
        let heir = try Renderer(channels: 1) { context in
            if !context.isDryRun { seen.add(state.read(context)) }
        }
        // The collector may hold the owner for a moment.
        #expect(
            await becomesTrue {
                _ = heir.values(1)
                return seen.all.last == 6
            })
        #expect(heir.faultCount == seen.count - 1)
    }
}
