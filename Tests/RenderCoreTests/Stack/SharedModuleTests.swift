import Glibc
import RenderCore
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A module, or a state, is one renderer's at a time.
@Suite struct SharedModuleTests {
    private func player(_ counting: Counting) -> RenderLoop {
        { context in
            context.run(counting)
            context.output()
        }
    }

    @Test("A module in two renderers: the first has it, the second is silent, with a fault in its name")
    func second() async throws {
        let counting = Counting("Shared")
        let first = try Renderer(layout: smallLayout, player(counting))
        let second = try Renderer(layout: smallLayout, player(counting))
        #expect(first.next(16)[0] == counted(1...16))
        let faults = try await faults(of: second, count: 1) { #expect(second.next(16)[0] == 16.of(0)) }
        #expect(faults.map(\.kind) == [.foreignModule])
        #expect(faults.first?.module == "Shared" && faults.first?.isInsideModule == true)
        #expect(first.next(16)[0] == counted(17...32))
        #expect(first.faultCount == 0)
    }

    @Test("The second renderer gets it, with its state, when the first drops it; and gives it back")
    func takeover() async throws {
        let counting = Counting()
        let first = try Renderer(layout: smallLayout, player(counting))
        let second = try Renderer(layout: smallLayout, player(counting))
        #expect(first.next(16)[0].last == 16)
        first.removeLoop()
        let heard = Shared<[Float]>([])
        #expect(
            try await eventually {
                heard.value = second.next(4)[0]
                return heard.value[0] != 0
            })
        #expect(heard.value == [17, 18, 19, 20])
        try first.replaceLoop(player(counting))
        #expect(first.next(4)[0] == 4.of(0))
        second.removeLoop()
        #expect(
            try await eventually {
                heard.value = first.next(4)[0]
                return heard.value[0] != 0
            })
        #expect(heard.value == [21, 22, 23, 24])
    }

    /// A client that keeps the collector busy for long.
    private final class Slow: Collectable {
        let rounds = Atomic<Int>(0)
        func collect() -> Bool {
            rounds.wrappingAdd(1, ordering: .relaxed)
            usleep(100_000)
            return true
        }
    }

    @Test("A renderer that is freed releases its modules at once, also while the collector looks after it")
    func givenUp() async throws {
        let slow = Slow()
        Collector.shared.add(slow)
        let counting = Counting()
        for _ in 0..<5 {
            var first: Renderer? = try Renderer(layout: smallLayout, player(counting))
            #expect(first?.next(8)[0][0] != 0)
            // Then it is in the round, and that goes on.
            let round = slow.rounds.load(ordering: .relaxed)
            #expect(try await eventually { slow.rounds.load(ordering: .relaxed) >= round + 2 })
            first = nil
            let second = try Renderer(layout: smallLayout, player(counting))
            #expect(second.next(8)[0][0] != 0)
        }
        withExtendedLifetime(slow) {}
    }

    @Test("The second renderer gets the module when the first is gone, and so does a later one, with its state")
    func freed() async throws {
        let counting = Counting()
        var first: Renderer? = try Renderer(layout: smallLayout, player(counting))
        let second = try Renderer(layout: smallLayout, player(counting))
        #expect(first?.next(8)[0].last == 8)
        first = nil
        let heard = Shared<[Float]>([])
        #expect(
            try await eventually {
                heard.value = second.next(4)[0]
                return heard.value[0] != 0
            })
        #expect(heard.value == [9, 10, 11, 12])
        second.removeLoop()
        let third = try Renderer(layout: smallLayout, player(counting))
        #expect(
            try await eventually {
                heard.value = third.next(4)[0]
                return heard.value[0] != 0
            })
        #expect(heard.value == [13, 14, 15, 16])
    }

    @Test("It is prepared for the renderer that takes it over, before it is heard there")
    func preparedForTheNext() async throws {
        let constant = Constant(1)
        let first = try Renderer(sampleRate: 1000, layout: smallLayout) { $0.run(constant) }
        let second = try Renderer(sampleRate: 3000, layout: smallLayout) { context in
            context.run(constant)
            context.output()
        }
        #expect(constant.rate.load(ordering: .acquiring) == 1000)
        first.removeLoop()
        #expect(try await eventually { second.next(4)[0] == 4.of(1) })
        #expect(constant.rate.load(ordering: .acquiring) == 3000)
        #expect(constant.preparations.load(ordering: .acquiring) == 2)
    }

    @Test("Two renderers on two threads that fight for a module: one hears it, the other has silence")
    func fight() async throws {
        for _ in 0..<20 {
            let counting = Counting()
            let renderers = try (0..<2).map { _ in try Renderer(layout: smallLayout, player(counting)) }
            let heard = await withTaskGroup(of: [Float].self) { group in
                for renderer in renderers { group.addTask { renderer.next(4000, cycle: 16)[0] } }
                return await group.reduce(into: [[Float]]()) { $0.append($1) }
            }
            #expect(heard.contains(counted(1...4000)))
            #expect(heard.contains(4000.of(0)))
        }
    }

    @Test("process called directly in two renderers: the state is the first one's, until that is gone")
    func direct() async throws {
        let counting = Counting()
        let loop: RenderLoop = { context in
            if !context.isDryRun {
                counting.process(&context)
                context.output()
            }
        }
        var first: Renderer? = try Renderer(layout: smallLayout, loop)
        let second = try Renderer(layout: smallLayout, loop)
        #expect(first?.next(8)[0].last == 8)
        let faults = try await faults(of: second, count: 2) {
            // It reads the initial value each time, and what it writes is dropped.
            #expect(second.next(8)[0] == counted(1...8))
        }
        #expect(faults.map(\.kind) == [.foreignState] && faults.first?.count == 2)
        #expect(first?.next(8)[0] == counted(9...16))
        #expect(first?.faultCount == 0)
        first = nil
        #expect(try await eventually { second.next(1)[0] == [17] })
    }

    @Test("process called directly by two threads at once: one of them counts on, the other always begins")
    func directFight() async throws {
        for _ in 0..<20 {
            let counting = Counting()
            let loop: RenderLoop = { context in
                if !context.isDryRun {
                    counting.process(&context)
                    context.output()
                }
            }
            let renderers = try (0..<2).map { _ in try Renderer(layout: smallLayout, loop) }
            let heard = await withTaskGroup(of: [Float].self) { group in
                for renderer in renderers { group.addTask { renderer.next(1600, cycle: 16)[0] } }
                return await group.reduce(into: [[Float]]()) { $0.append($1) }
            }
            #expect(heard.contains(counted(1...1600)))
            #expect(heard.contains((0..<100).flatMap { _ in counted(1...16) }))
        }
    }

    @Test(
        "A state inside its own use: the inner body does not run, reading gives the initial value, writing is dropped")
    func nested() async throws {
        let state = RenderState<Float>(1)
        let seen = Shared<[Float]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            if context.isDryRun { return }
            state.with(&context) { value, context in
                value += 1
                state.with(&context) { inner, _ in
                    inner = 100
                    seen.value.append(-1)
                }
                seen.value.append(state.read(context))
                state.write(50, context)
                seen.value.append(value)
            }
            seen.value.append(state.read(context))
        }
        let faults = try await faults(of: renderer, count: 3) { _ = renderer.next(8) }
        #expect(seen.value == [1, 2, 2])
        #expect(faults.map(\.kind) == [.nestedState] && faults.first?.count == 3)
        _ = renderer.next(8)
        #expect(seen.value == [1, 2, 2, 1, 3, 3])
    }

    @Test("A state of the closure is not a module's, and the other way round")
    func closureAndModule() throws {
        let state = RenderState<Float>(1)
        let module = ClosureModule(StackEffect(pops: 0, pushes: 0)) { state.write(7, $0) }
        let seen = Shared<Float>(0)
        let renderer = try Renderer(layout: smallLayout) { context in
            state.write(3, context)
            context.run(module)
            seen.value = state.read(context)
        }
        _ = renderer.next(8)
        #expect(seen.value == 3)
        #expect(renderer.faultCount == 1)
    }
}
