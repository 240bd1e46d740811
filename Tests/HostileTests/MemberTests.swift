import RenderStack
import Synchronization
import TestSupport
import Testing

/// Modules made of modules, with the public interface alone.
@Suite struct MemberTests {
    private func renderer(_ source: some Module, _ effect: some Module, channels: Int = 1) throws -> Renderer {
        try Renderer(channels: channels) { context in
            context.run(source)
            context.run(effect)
            context.output()
        }
    }

    /// Returns the events that a renderer reports while a closure runs.
    private func told(
        until isEnough: @escaping @Sendable (RenderEvent) -> Bool, _ body: (Renderer) throws -> Void
    ) async throws -> [String] {
        let renderer = Renderer(channels: 1)
        let told = Notes<RenderEvent>()
        let subscription = renderer.by({ $0() }, { told.add($0) })
        defer { subscription.cancel() }
        try body(renderer)
        #expect(await becomesTrue(30) { told.all.contains(where: isEnough) })
        return told.all.map(\.description)
    }

    @Test("A module makes the same sound of its members as a closure, bit for bit", arguments: cycleLengths)
    func same(cycles: [Int]) throws {
        let (one, other) = (Noise(.white, seed: 7), Noise(.white, seed: 7))
        let pair = Pair(LowPass(cutoff: 700, resonance: 4), Delay(time: 0.01, feedback: 0.5))
        let (filter, echo) = (LowPass(cutoff: 700, resonance: 4), Delay(time: 0.01, feedback: 0.5))
        let apart = try Renderer(channels: 1) { context in
            context.run(other)
            context.run(filter)
            context.run(echo)
            context.output()
        }
        let together = try renderer(one, pair)
        #expect(render(together, frames: 10_000, cycles: cycles) == render(apart, frames: 10_000))
        #expect(together.faultCount == 0)
        #expect(together.modules.map(\.name) == ["Noise", "Pair", "LowPass", "Delay"])
    }

    @Test("Members are prepared with their module, in a closure, a list and a mixer, and again for another rate")
    func preparation() async throws {
        let scales = (0..<3).map { _ in Scale(2) }
        let strip = Pair(scales[0], Pair(Scale(1), scales[1]))
        let (list, mixer) = (ModuleList(chaining: []), Mixer(channels: 1))
        let renderer = try Renderer(sampleRate: 44_100, channels: 1) { context in
            context.run(mixer)
            context.run(list)
            context.output()
        }
        list.append(strip)
        mixer.append(CountingVoice(scales[2]), fadesIn: false)
        #expect(scales.map { $0.rate.load(ordering: .relaxed) } == [44_100, 44_100, 44_100])
        #expect(Array(render(renderer, frames: 4)[0]) == [8, 16, 24, 32])
        renderer.configure(sampleRate: 96_000)
        #expect(scales.map { $0.rate.load(ordering: .relaxed) } == [96_000, 96_000, 96_000])
        #expect(renderer.faultCount == 0)
    }

    @Test("Latencies of members add up, also inside of lists and mixers, unless the module says its own")
    func latencies() throws {
        final class Own: Effect {
            let inner = Member(Scale(1, latency: 100))
            var members: [any Module] { [inner.module] }
            func latency(at sampleRate: Double) -> Int { 7 }
            @_noLocks @_noAllocation
            func process(_ context: inout RenderContext) { context.run(inner) }
        }
        let deep = Pair(Scale(1, latency: 3), Pair(Scale(1, latency: 20), Own()))
        #expect(deep.latency(at: 48_000) == 30)
        let voice = CountingVoice(Scale(1, latency: 5))
        let mixer = Mixer(channels: 1, [MixerSource(voice)])
        let chain = Pair(ModuleList(chaining: [Scale(1, latency: 1), Scale(1, latency: 2)]), deep)
        #expect(chain.latency(at: 48_000) == 33 && mixer.latency(at: 48_000) == 5)
        #expect(try renderer(mixer, chain).latency == 38)
        #expect(Pair(Scale(latency: .max), Scale(latency: .max)).latency(at: 48_000) > 0)
        #expect(Pair(Scale(latency: .min), Scale(latency: -1)).latency(at: 48_000) == 0)
    }

    @Test("A fault of a member has its name, silences that slice, and leaves its module at work")
    func faults() async throws {
        let (poison, counter) = (Poison(), Counter())
        let pair = Pair(poison, Scale(1))
        let renderer = try renderer(counter, pair)
        let told = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { if case .fault(let fault) = $0 { told.add(fault) } }
        defer { subscription.cancel() }
        _ = render(renderer, frames: 64)
        poison.isDue.store(true, ordering: .relaxed)
        #expect(render(renderer, frames: 64)[0] == [Float](repeating: 0, count: 64))
        #expect(render(renderer, frames: 1)[0] == [129])
        #expect(await becomesTrue(30) { told.count > 0 })
        #expect(told.all.map(\.module) == ["Poison"] && told.all.map(\.kind) == [.notFinite])
    }

    @Test("A reset of a module resets its members, each once, however they are nested")
    func reset() throws {
        let scale = Scale(1), shared = Scale(1)
        let voice = CountingVoice(scale)
        let pair = Pair(Pair(shared, Scale(1)), shared)
        let renderer = try renderer(voice, pair)
        #expect(render(renderer, frames: 10)[0].last == 10)
        try renderer.messages.send { context in
            context.reset(voice)
            context.reset(pair)
        }
        #expect(render(renderer, frames: 10)[0].last == 10)
        #expect(scale.resets.load(ordering: .relaxed) == 1 && shared.resets.load(ordering: .relaxed) == 1)
        let list = ModuleList(chaining: [pair])
        try renderer.replaceLoop { context in
            context.run(voice)
            context.run(list)
            context.output()
        }
        try renderer.messages.send { context in context.reset(list) }
        _ = render(renderer, frames: 10)
        #expect(shared.resets.load(ordering: .relaxed) == 2)
    }

    @Test("A module that has made what is no number is reset with its members")
    func resetAfterPoison() throws {
        final class Sick: Effect {
            let inner = Member(Scale(1))
            let isDue = Atomic<Bool>(false)
            var members: [any Module] { [inner.module] }
            @_noLocks @_noAllocation
            func process(_ context: inout RenderContext) {
                context.run(inner)
                let value: Float = isDue.load(ordering: .relaxed) ? .infinity : 1
                var top = context.top
                var samples = top[0]
                samples[samples.count - 1] *= value
            }
        }
        let sick = Sick()
        let renderer = try renderer(Counter(), sick)
        _ = render(renderer, frames: 8)
        sick.isDue.store(true, ordering: .relaxed)
        _ = render(renderer, frames: 8)
        #expect(sick.inner.module.resets.load(ordering: .relaxed) == 1 && renderer.faultCount == 1)
    }

    @Test("A member that is not listed is silent with a fault, until the renderer has prepared it")
    func unlisted() async throws {
        let (scale, counter) = (Scale(1), Counter())
        let pair = Pair(scale, Scale(3), lists: [])
        let sentences = try await told(until: { if case .fault = $0 { true } else { false } }) { renderer in
            try renderer.replaceLoop { context in
                context.run(counter)
                context.run(pair)
                context.output()
            }
            #expect(render(renderer, frames: 4)[0] == [0, 0, 0, 0])
        }
        #expect(sentences.contains { $0.contains("Pair runs a module that is not among its members") })
        let renderer = try renderer(Counter(), Pair(Scale(1), Scale(3), lists: []))
        #expect(
            await becomesTrue(30) {
                _ = render(renderer, frames: 4)
                return renderer.modules.count == 4
            })
        #expect(render(renderer, frames: 1)[0][0] > 3)
    }

    @Test("A renderer tells who is a member twice, of two modules, of itself, and runs outside of its module too")
    func twice() async throws {
        func notice(_ name: String, _ make: @Sendable () -> any Module, _ also: (any Effect)? = nil) async throws
            -> Bool
        {
            let module = ModuleList(chaining: [make()])
            let also = ModuleList(chaining: also.map { [$0] } ?? [])
            let isNotice: @Sendable (RenderEvent) -> Bool = { if case .notice = $0 { true } else { false } }
            let sentences = try await told(until: isNotice) { renderer in
                try renderer.replaceLoop { context in
                    context.push(channels: 1)
                    context.run(module)
                    context.run(also)
                    context.output()
                }
                _ = render(renderer, frames: 64)
            }
            return sentences.contains { $0.contains(name) }
        }
        let scale = Scale(1)
        #expect(try await notice("Scale is a member of Pair and of Pair.", { Pair(scale, scale) }))
        #expect(
            try await notice(
                "Scale is a member of A and of B",
                {
                    Pair(Pair(scale, Scale(1), name: "A"), Pair(Scale(1), scale, name: "B"))
                }))
        #expect(try await notice("runs outside of it too", { Pair(scale, Scale(1)) }, scale))
        let circle = Circle()
        circle.member = circle
        #expect(try await notice("Circle is a member of itself", { circle }))
        circle.member = nil
    }

    @Test("Modules inside of themselves and of one another: it ends, with a fault, on every way to ask them")
    func circles() async throws {
        let ended = await ends {
            // So many that to go all ways through them would take forever.
            let many = (0..<12).map { _ in Circle() }
            for circle in many { circle.member = ModuleList(chaining: many) }
            let list = ModuleList(chaining: many)
            let all = try Renderer(channels: 1) { context in
                context.push(channels: 1)
                context.run(list)
                context.output()
            }
            #expect(
                many.allSatisfy { $0.latency(at: 48_000) >= 0 } && all.latency(at: 48_000) >= 0
                    && list.latency(at: 48_000) >= 0)
            for circle in many { circle.member = nil }
            let circles = (0..<4).map { _ in Circle() }
            for circle in circles { circle.member = ModuleList(chaining: circles) }
            let source = Counter()
            let renderer = try Renderer(channels: 1) { context in
                context.run(source)
                context.run(circles[0])
                context.output()
            }
            #expect(circles.allSatisfy { $0.latency(at: 48_000) >= 0 } && renderer.latency >= 0)
            try renderer.messages.send { context in context.reset(circles[0]) }
            for circle in circles { circle.member = circle }
            _ = renderer.renderOffline(frames: 256)
            #expect(renderer.faultCount > 0)
            for circle in circles { circle.member = nil }
        }
        #expect(ended)
    }

    @Test("Modules that are too many inside of one another are silent, and the thread's stack does not end")
    func depth() async throws {
        var module: any Effect = Scale(1)
        for _ in 0..<300 { module = wrap(module) }
        let list = ModuleList(chaining: [module])
        let counter = Counter()
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(list)
            context.output()
        }
        #expect(renderer.latency >= 0 && renderer.modules.count > 600)
        #expect(render(renderer, frames: 8)[0] == [Float](repeating: 0, count: 8) && renderer.faultCount > 0)
        try renderer.messages.send { context in context.reset(list) }
        _ = render(renderer, frames: 8)
    }

    /// A module with one member, whatever that is.
    final class Shell: Effect {
        let inner: Member<ModuleList>
        init(_ module: any Effect) { inner = Member(ModuleList(chaining: [module])) }
        var members: [any Module] { [inner.module] }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) { context.run(inner) }
    }
    private func wrap(_ module: any Effect) -> any Effect { Shell(module) }

    @Test("Members that change while it plays, from another thread: no crash, and it goes on")
    func changing() async throws {
        let scales = (0..<8).map { Scale(1, name: "Scale \($0)") }
        let pair = Pair(scales[0], scales[1])
        let counter = Counter()
        let renderer = try renderer(counter, pair)
        let driver = Driver(renderer)
        #expect(
            await ends {
                for turn in 0..<200 {
                    pair.members = turn % 7 == 0 ? [] : [scales[turn % 8], scales[0], pair, scales[turn % 3]]
                    renderer.configure(sampleRate: turn % 2 == 0 ? 44_100 : 48_000)
                    if turn % 5 == 0 { try renderer.messages.send { context in context.reset(pair) } }
                }
                pair.members = scales
                renderer.configure(sampleRate: 96_000)
            })
        #expect(await driver.stop())
        // Messages that wait come first.
        _ = render(renderer, frames: 2)
        // From 1 on again: behind 16,777,216 frames, which a fast machine renders here, a Float has no odd numbers.
        try renderer.messages.send { context in context.reset(counter) }
        #expect(render(renderer, frames: 2)[0] == [1, 2])
    }

    @Test("A module in two renderers is silent in the second, with its members")
    func foreign() throws {
        let pair = Pair(Scale(1), Scale(1))
        let first = try renderer(Counter(), pair), second = try renderer(Counter(), pair)
        #expect(render(first, frames: 3)[0] == [1, 2, 3])
        #expect(render(second, frames: 3)[0] == [0, 0, 0])
        #expect(first.faultCount == 0 && second.faultCount > 0)
    }
}
