import Glibc
import Synchronization
import Testing

@testable import RenderCore

/// A renderer that is configured many times while one cycle of it goes on. The cycle's loop keeps to what its modules were
/// prepared for.
@Suite struct PreparedWhileRenderedTests {
    /// A generator with memory for a slice, made anew when the slice changes. It counts the slices in which the memory is
    /// not that of its loop.
    private final class Sized: Generator {
        struct Memory: ~Copyable, Sendable {
            let mortal: Mortal
            var samples: RenderMemory<Float>
            init(_ frames: Int, _ lives: Lives) {
                mortal = Mortal(frames, lives)
                samples = RenderMemory(repeating: 0, count: frames)
            }
        }
        let memory: RenderState<Memory>
        let lives: Lives
        let slices = Atomic<Int>(0)
        let wrong = Atomic<Int>(0)
        private let last = Atomic<Int>(0)

        init(_ lives: Lives) {
            self.lives = lives
            memory = RenderState(Memory(1, lives))
        }

        func prepare(_ preparation: Preparation) {
            let frames = preparation.maximumFrameCount
            if last.exchange(frames, ordering: .relaxed) != frames { memory.replace(with: Memory(frames, lives)) }
        }

        // The lives of the memory are counted, which the compiler does not let an annotated function touch.
        func process(_ context: inout RenderContext) {
            memory.with(&context) { memory, context in
                if memory.samples.count != context.frameCount { wrong.wrappingAdd(1, ordering: .relaxed) }
            }
            slices.wrappingAdd(1, ordering: .relaxed)
            context.push(channels: 1)
        }
    }

    /// A place in a render loop where the render thread stands still, as one does that another thread has displaced.
    private final class Barrier: Sendable {
        let isClosed = Atomic<Bool>(false)
        let isReached = Atomic<Bool>(false)
        func pass() {
            while isClosed.load(ordering: .acquiring) {
                isReached.store(true, ordering: .releasing)
                usleep(100)
            }
        }
    }

    private static func layout(_ frames: Int) -> StackLayout { StackLayout(slots: 2, channels: 1, frames: frames) }

    /// How often control code configures the renderer while the cycle stands still, and whether each layout is used for
    /// two sample rates, so that every other preparation makes no memory.
    @Test(
        "A cycle that stands still while the renderer is configured goes on with the memory of its loop",
        arguments: [1, 8, 9, 100], [false, true])
    func standsStill(count: Int, changesRate: Bool) async throws {
        let lives = Lives()
        let barrier = Barrier()
        do {
            let module = Sized(lives)
            let renderer = try Renderer(channels: 1, layout: Self.layout(16)) { context in
                if !context.isDryRun { barrier.pass() }
                context.run(module)
                context.output()
            }
            func configure(_ number: Int) {
                let turn = changesRate ? number / 2 : number
                renderer.configure(
                    sampleRate: changesRate && number % 2 == 1 ? 44_100 : 48_000,
                    layout: Self.layout([16, 64, 32][turn % 3]))
            }
            @Sendable func render() {
                // Cycles are as long as each layout's slices, or a multiple.
                _ = renderer.renderOffline(frames: 64, cycle: 64)
            }
            render()
            for number in 1...(changesRate ? 3 : 1) { configure(number) }
            barrier.isClosed.store(true, ordering: .releasing)
            let hasEnded = Atomic<Bool>(false)
            let thread = TestThread {
                render()
                hasEnded.store(true, ordering: .releasing)
            }
            #expect(await becomesTrue { barrier.isReached.load(ordering: .acquiring) })
            let before = module.slices.load(ordering: .relaxed)
            for number in 1...count { configure((changesRate ? 3 : 1) + number) }
            #expect(module.slices.load(ordering: .relaxed) == before)
            barrier.isClosed.store(false, ordering: .releasing)
            #expect(await becomesTrue { hasEnded.load(ordering: .acquiring) })
            thread.join()
            #expect(module.slices.load(ordering: .relaxed) == before + 1)
            #expect(module.wrong.load(ordering: .relaxed) == 0)
            // The next cycle has the newest loop, whichever it is.
            render()
            #expect(module.wrong.load(ordering: .relaxed) == 0)
            #expect(renderer.faultCount == 0)
            // What no loop needs any more is freed while the renderer lives.
            #expect(await becomesTrue { lives.alive <= 2 })
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A renderer that stands still keeps the memory of few of the loops that it is configured for")
    func neverRendered() async throws {
        let lives = Lives()
        do {
            let module = Sized(lives)
            let renderer = try Renderer(channels: 1, layout: Self.layout(16)) { context in
                context.run(module)
                context.output()
            }
            _ = renderer.renderOffline(frames: 64, cycle: 64)
            for number in 1...200 { renderer.configure(layout: Self.layout(number % 2 == 0 ? 16 : 64)) }
            #expect(await becomesTrue { lives.alive <= 4 })
            _ = renderer.renderOffline(frames: 64, cycle: 64)
            #expect(module.wrong.load(ordering: .relaxed) == 0)
            #expect(renderer.faultCount == 0)
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A token tells a later preparation from an earlier one, also when thousands lie between")
    func epochs() throws {
        let token = try #require(Tokens.shared.make())
        defer { Tokens.shared.remove(token) }
        var later = token
        for number in 1...500_000 {
            later = later.nextEpoch
            let isLater = later.isLater(than: token) && !token.isLater(than: later)
            if !isLater { #expect(isLater, "after \(number)") }
        }
        #expect(later.withoutEpoch == token && Tokens.shared.forRendering.isAlive(later))
        #expect(later & RenderContext.busy == 0 && !token.isLater(than: token))
    }

    @Test("A state says whom it belongs to with the value for the loop in place")
    func belongs() throws {
        final class Asking: Generator {
            let frames = RenderState(0)
            let seen = Atomic<Int>(0)
            func prepare(_ preparation: Preparation) { frames.replace(with: preparation.maximumFrameCount) }
            @_noLocks @_noAllocation
            func process(_ context: inout RenderContext) {
                context.push(channels: 1)
                guard frames.belongs(to: context) else { return }
                seen.store(frames.read(context), ordering: .relaxed)
            }
        }
        let module = Asking()
        let renderer = try Renderer(channels: 1, layout: Self.layout(16)) { context in
            context.run(module)
            context.output()
        }
        for frames in [16, 64, 32] {
            renderer.configure(layout: Self.layout(frames))
            _ = renderer.renderOffline(frames: 64, cycle: 64)
            #expect(module.seen.load(ordering: .relaxed) == frames)
        }
        #expect(renderer.faultCount == 0)
    }
}
