import Foundation
import RenderStack
import Synchronization
import Testing

/// Modules that come and go while they are heard, and closures as modules.
@Suite struct ModuleListTests {
    /// A generator of ones that is active as long as its own state says so.
    private final class Fading: Generator {
        private let left: RenderState<Int>
        init(slices: Int) { left = RenderState(slices) }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            left.write(left.read(context) - 1, context)
            context.push(channels: 1)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = 1 }
        }

        @_noLocks @_noAllocation
        func isActive(_ context: borrowing RenderContext) -> Bool { left.read(context) > 0 }
    }

    private func renderer(_ list: ModuleList) throws -> Renderer {
        try Renderer(sampleRate: 1000, layout: smallLayout) { context in
            context.run(list)
            context.output()
        }
    }

    @Test("A mixing list is the sum of its members; with none it is silence")
    func mixing() throws {
        let list = ModuleList(mixing: 2, [Constant(1), Constant(10)])
        let renderer = try renderer(list)
        #expect(renderer.next(20) == [20.of(11), 20.of(11)])
        list.removeAll()
        #expect(renderer.next(20) == [20.of(0), 20.of(0)])
        #expect(renderer.faultCount == 0)
    }

    @Test("A chaining list runs its members one after the other; with none it changes nothing")
    func chaining() throws {
        let (source, double, triple) = (Constant(1), Times(2), Times(3))
        let list = ModuleList(chaining: [double, triple])
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(source)
            context.run(list)
            context.output()
        }
        #expect(renderer.next(8)[0] == 8.of(6))
        list.remove(double)
        #expect(renderer.next(8)[0] == 8.of(3))
        list.removeAll()
        #expect(renderer.next(8)[0] == 8.of(1))
        #expect(renderer.faultCount == 0)
    }

    @Test("IsActive may look at the member's own state")
    func isActive() throws {
        let list = ModuleList(mixing: 1, [Fading(slices: 3), Fading(slices: 5)])
        let renderer = try renderer(list)
        #expect(renderer.next(8 * 8, cycle: 8)[0] == runs((24, 2), (16, 1), (24, 0)))
        #expect(renderer.faultCount == 0)
    }

    @Test("A member that another renderer has is silent, and the others are heard")
    func foreignMember() throws {
        let foreign = Constant(100, name: "Foreign")
        let other = try Renderer(layout: smallLayout) { $0.run(foreign) }
        let list = ModuleList(mixing: 2, [Constant(1), foreign, Constant(10)])
        let renderer = try renderer(list)
        #expect(renderer.next(8)[0] == 8.of(11))
        #expect(renderer.faultCount == 1)
        _ = other
    }

    @Test(
        "Members that stay keep their state through append, remove, replace and another order, while rendering")
    func staying() async throws {
        let counting = Counting()
        let list = ModuleList(mixing: 2, [counting])
        let renderer = try renderer(list)
        let isDone = Counter()
        let others = (0..<4).map { Constant(Float($0 + 1) * 1e6) }
        let rendering = Task.detached {
            var heard: [Float] = []
            // The count stays below the constants, also where the changes wait long for a processor.
            while isDone.value == 0 && heard.count < 900_000 { heard += renderer.next(160, cycle: 16)[0] }
            return heard
        }
        for round in 0..<300 {
            let other = others[round % 4]
            switch round % 5 {
            case 0, 1: list.append(other)
            case 2: list.modules = list.modules.reversed()
            case 3: list.replace(other, with: others[(round + 1) % 4])
            default: list.remove(other)
            }
        }
        for other in others { list.remove(other) }
        isDone.add()
        let heard = await rendering.value
        let rest = renderer.next(16)[0]
        // The others are constants far above: what is left over is the counting module, frame by frame.
        let counted = (heard + rest).map { $0 - ($0 / 1e6).rounded(.down) * 1e6 }
        let expected = counted.indices.map { Float($0 + 1) }
        #expect(counted == expected)
        #expect(renderer.faultCount == 0)
        #expect(list.modules.count == 1 && list.contains(counting))
    }

    @Test("Changes from several threads: what is heard in the end is what `modules` says")
    func concurrentUpdates() async throws {
        for _ in 0..<30 {
            let list = ModuleList(mixing: 1)
            let renderer = try renderer(list)
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<4 {
                    group.addTask { for bit in 0..<4 { list.append(Constant(Float(1 << (thread * 4 + bit)))) } }
                }
            }
            #expect(list.count == 16)
            #expect(renderer.next(8)[0] == 8.of(65_535))
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("Another renderer can use a removed member, and its memory is freed")
    func removed() async throws {
        let list = ModuleList(mixing: 2)
        let renderer = try renderer(list)
        let counting = Counting()
        list.append(counting)
        #expect(renderer.next(8)[0].last == 8)
        let other = try Renderer(layout: smallLayout) { context in
            context.run(counting)
            context.output()
        }
        #expect(other.next(8)[0] == 8.of(0))
        list.remove(counting)
        let heard = Shared<[Float]>([])
        #expect(
            try await eventually {
                heard.value = other.next(4)[0]
                return heard.value[0] != 0
            })
        #expect(heard.value == [9, 10, 11, 12])

        weak var gone: Constant?
        let released = Counter()
        do {
            let constant = Constant(1)
            gone = constant
            list.append(constant)
            _ = renderer.next(8)
            list.update({ $0.removeAll() }, whenOldIsReleased: { released.add() })
        }
        #expect(try await eventually { gone == nil })
        #expect(released.value == 1)
    }

    @Test("Releasing a list's old members while its renderer gets another loop does not deadlock")
    func releaseDuringReplacement() async throws {
        let steps = Counter()
        // Threads, and not tasks: they wait for each other.
        Thread.detachNewThread {
            for _ in 0..<20 {
                let list = ModuleList(mixing: 1, [Constant(1)])
                let (isInside, mayGo, isOut) = (Counter(), Counter(), Counter())
                let loop: RenderLoop = { context in
                    context.run(list)
                    if context.isDryRun { return }
                    isInside.add()
                    while mayGo.value == 0 { sched_yield() }
                }
                guard let renderer = try? Renderer(layout: smallLayout, loop) else { return }
                Thread.detachNewThread {
                    _ = renderer.next(1)
                    isOut.add()
                }
                while isInside.value == 0 { sched_yield() }
                // The old list waits for the end of the cycle; the next thread that frees something frees it too.
                list.append(Constant(2))
                mayGo.add()
                while isOut.value == 0 { sched_yield() }
                try? renderer.replaceLoop(loop)
                steps.add()
            }
        }
        #expect(try await eventually { steps.value == 20 })
    }

    @Test("A list in a list; a member that is appended to the inner one is prepared and heard")
    func nested() throws {
        let inner = ModuleList(mixing: 1, [Constant(1)])
        let outer = ModuleList(mixing: 1)
        outer.append(inner)
        let renderer = try renderer(outer)
        #expect(renderer.next(8)[0] == 8.of(1))
        let late = Constant(2)
        inner.append(late)
        #expect(renderer.next(8)[0] == 8.of(3))
        #expect(late.early.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("A list inside of itself, and a closure that runs itself, do not crash: silence there, and a fault")
    func recursion() throws {
        let list = ModuleList(mixing: 1, [Constant(1)])
        let renderer = try renderer(list)
        list.append(list)
        _ = renderer.next(8)
        #expect(renderer.faultCount > 0)
        list.remove(list)
        #expect(renderer.next(8)[0] == 8.of(1))

        let closure = ClosureModule(.edits) { $0.gain(2) }
        try renderer.replaceLoop { context in
            context.push()
            context.run(closure)
        }
        closure.replace { context in context.run(closure) }
        let before = renderer.faultCount
        _ = renderer.next(8)
        #expect(renderer.faultCount > before)
        // In a dry run too.
        _ = try? Renderer(layout: smallLayout) { context in
            context.push()
            context.run(closure)
        }
        closure.replace { $0.gain(2) }
    }

    @Test("A closure module has a name, and another closure from the next slice on")
    func closureModule() async throws {
        let source = Constant(1)
        let module = ClosureModule(.edits, name: "Halve") { $0.gain(0.5) }
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(source)
            context.run(module)
            context.output()
        }
        #expect(renderer.next(8)[0] == 8.of(0.5))
        module.replace { $0.gain(0.25) }
        #expect(renderer.next(8)[0] == 8.of(0.25))
        module.replace { $0.pop(2) }
        let faults = try await faults(of: renderer, count: 2) { #expect(renderer.next(8)[0] == 8.of(0)) }
        #expect(faults.allSatisfy { $0.module == "Halve" && $0.isInsideModule })
        #expect(Set(faults.map(\.kind)) == [.underflow, .unbalanced])
    }

    @Test("A closure module prepares by a closure, and a mixer does not run it while it says that it is silent")
    func closuresOfAModule() throws {
        let rates = Record<Double>()
        let runs = Atomic<Int>(0)
        let isOn = Atomic<Bool>(true)
        let module = ClosureModule(
            .generates, prepare: { rates.add($0.sampleRate) },
            isActive: { context in context.frameCount > 0 && isOn.load(ordering: .relaxed) }
        ) { context in
            if !context.isDryRun { runs.wrappingAdd(1, ordering: .relaxed) }
            context.push(channels: 1)
            var top = context.top
            top.change { _, _, _ in 0.5 }
        }
        let mixer = Mixer([MixerSource(module)])
        let renderer = try Renderer(sampleRate: 44_100, channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        #expect(rates.all == [44_100])
        // The mixer gives both sides of it, and a mono output their sum.
        #expect(renderer.values(8) == 8.of(1))
        #expect(runs.load(ordering: .relaxed) == 1)
        isOn.store(false, ordering: .relaxed)
        #expect(renderer.values(8) == 8.of(0))
        #expect(runs.load(ordering: .relaxed) == 1)
        isOn.store(true, ordering: .relaxed)
        #expect(renderer.values(8) == 8.of(1))
        renderer.configure(sampleRate: 48_000)
        #expect(rates.all == [44_100, 48_000])
    }

    @Test("A closure module resets by a closure")
    func resetOfAModule() throws {
        let resets = Atomic<Int>(0)
        let module = ClosureModule(.edits, reset: { _ in resets.wrappingAdd(1, ordering: .relaxed) }) { _ in }
        let renderer = try Renderer(channels: 1) { context in
            context.push()
            if context.sampleTime == 8 { context.reset(module) }
            context.run(module)
            context.output()
        }
        _ = renderer.values(8)
        let before = resets.load(ordering: .relaxed)
        _ = renderer.values(8)
        #expect(resets.load(ordering: .relaxed) == before + 1)
    }
}
