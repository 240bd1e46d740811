import RenderStack
import Synchronization
import TestSupport
import Testing

/// Modules, lists and inner renderers that no user would write, and some do.
@Suite struct ModuleAttackTests {
    /// A module that claims what the test gives it.
    final class Lying: Module {
        let stackEffect: StackEffect
        private let delay: Int
        let name: String
        let isRepeatable: Bool
        private let active: Bool
        private let body: RenderLoop
        init(
            _ effect: StackEffect = .edits, latency: Int = 0, name: String = "Lying", isRepeatable: Bool = false,
            active: Bool = true, _ body: @escaping RenderLoop = { _ in }
        ) {
            (stackEffect, delay, self.name) = (effect, latency, name)
            (self.isRepeatable, self.active, self.body) = (isRepeatable, active, body)
        }
        func latency(at sampleRate: Double) -> Int { delay }
        func process(_ context: inout RenderContext) { body(&context) }
        func isActive(_ context: borrowing RenderContext) -> Bool { active }
    }

    static let edges: [Int] = [.min, -1, 0, 1, 3, 64, 2_000, .max]

    @Test("Latencies that cannot be, summed over many modules and inner renderers")
    func latencies() throws {
        for latency in Self.edges {
            let modules = (0..<4).map { _ in Lying(latency: latency) }
            let generators = (0..<3).map { _ in Lying(.generates, latency: latency) { $0.push() } }
            let inner = try Renderer { context in
                context.push()
                for module in modules { context.run(module) }
                context.output()
            }
            let sub = SubRenderer(inner), speed = Varispeed(inner)
            let rate = RateConverter(inner, sampleRate: 44_100), parallel = Parallel([inner], workers: 0)
            let list = ModuleList(chaining: [Lying(latency: latency), Lying(latency: latency)])
            let renderer = try Renderer { context in
                context.run(sub)
                context.run(parallel)
                for generator in generators { context.run(generator) }
                context.mixAll()
                context.run(list)
                context.output()
            }
            for sampleRate in [1, 48_000, 1e6] {
                let modules: [any Module] = [sub, speed, rate, parallel]
                for module in modules { #expect(module.latency(at: sampleRate) >= 0) }
            }
            #expect(renderer.latency >= 0 && inner.latency >= 0)
            _ = renderer.renderOffline(frames: 64)
        }
    }

    @Test("A renderer inside of itself, directly, in a circle, and by every module that renders another")
    func circles() async throws {
        let makers: [@Sendable (Renderer) -> any Module] = [
            { SubRenderer($0) }, { Varispeed($0) }, { RateConverter($0, sampleRate: 44_100) },
            { Parallel([$0], workers: 0) }, { Parallel([$0], workers: 1, priority: 0) },
        ]
        for make in makers {
            let ended = await ends {
                let (first, second) = (Renderer(), Renderer())
                let (itself, other, back) = (make(first), make(second), make(first))
                for module in [itself, other] {
                    try? first.replaceLoop { context in
                        context.run(module)
                        context.output()
                    }
                    try? second.replaceLoop { context in
                        context.run(back)
                        context.output()
                    }
                    _ = (first.latency, second.latency, first.description, first.modules.count)
                    first.configure(sampleRate: 44_100)
                    second.configure(sampleRate: 96_000, layout: StackLayout(frames: 64))
                    _ = first.renderOffline(frames: 100)
                    _ = second.renderOffline(frames: 100)
                }
                first.removeLoop()
                second.removeLoop()
            }
            #expect(ended)
        }
        #expect(try await eventsStillCome())
    }

    @Test("Names that are empty, long, and full of odd characters")
    func names() async throws {
        for name in ["", String(repeating: "name ", count: 20_000), "\0", "%s%n%@", "\u{202E}\n\u{1F4A5}"] {
            let lying = Lying(name: name) { context in context.pop(3) }
            let renderer = try Renderer { context in
                context.push()
                context.run(lying)
                context.output()
            }
            let told = Notes<String>()
            let subscription = renderer.by({ $0() }) { told.add($0.description) }
            _ = renderer.renderOffline(frames: 10)
            #expect(await becomesTrue { told.count > 0 })
            _ = (renderer.description, renderer.moduleTimes.count)
            subscription.cancel()
        }
    }

    @Test("Renderers in renderers, forty deep")
    func depth() throws {
        let tone = Oscillator()
        var inner = try Renderer { context in
            context.run(tone)
            context.output()
        }
        for turn in 0..<40 {
            let module: any Module = turn % 3 == 0 ? Varispeed(inner) : SubRenderer(inner)
            inner = try Renderer { context in
                context.run(module)
                context.output()
            }
        }
        _ = (inner.latency, inner.description)
        inner.configure(sampleRate: 44_100, layout: StackLayout(slots: 2, frames: 100))
        _ = inner.renderOffline(frames: 300)
    }

    @Test("One inner renderer in two outer ones, on two threads")
    func sharedInner() async throws {
        let tone = Oscillator()
        let inner = try Renderer { context in
            context.run(tone)
            context.output()
        }
        let modules: [any Module] = [
            SubRenderer(inner), Varispeed(inner), RateConverter(inner, sampleRate: 44_100),
            Parallel([inner], workers: 1, priority: 0),
        ]
        let renderers = try modules.map { module in
            try Renderer { context in
                context.run(module)
                context.output()
            }
        }
        var bodies: [@Sendable () throws -> Void] = renderers.map { renderer in
            { for _ in 0..<100 { _ = renderer.renderOffline(frames: 64) } }
        }
        bodies.append { for turn in 0..<20 { inner.configure(sampleRate: turn % 2 == 0 ? 44_100 : 48_000) } }
        #expect(await allEnd(bodies))
    }

    @Test("Lists that hold themselves, one another, the wrong kind, one module many times, a thousand modules")
    func lists() async throws {
        let first = ModuleList(mixing: 2, name: "First"), second = ModuleList(mixing: 64, name: "Second")
        let chain = ModuleList(chaining: [])
        let tone = Oscillator(level: 0.01), filter = LowPass(cutoff: 300)
        let renderer = try Renderer { context in
            context.run(first)
            context.run(chain)
            context.output()
        }
        first.append(first)
        first.append(second)
        second.append(first)
        chain.append(chain)
        for _ in 0..<20 { chain.append(filter) }
        for list in [first, second] {
            for _ in 0..<20 { list.append(tone) }
        }
        #expect(await ends { _ = renderer.renderOffline(frames: 500) })
        for list in [first, second, chain] {
            for index in Self.edges { _ = list[index] }
            list.replace(list === chain ? filter : tone, with: list)
            list.remove(list)
        }
        #expect(await ends { _ = renderer.renderOffline(frames: 500) })
        for list in [first, second, chain] { list.removeAll() }
        first.update { modules in for _ in 0..<1_000 { modules.append(Oscillator(level: 0.001)) } }
        let last = renderer.renderOffline(frames: 50)
        let finite = isFinite(last)
        #expect(finite)
    }

    @Test("Lists and closures that change on the render thread, in the midst of being run")
    func changedWhileRun() async throws {
        let list = ModuleList(mixing: 2), mixer = Mixer()
        let held = Guarded<ClosureModule?>(nil)
        let module = ClosureModule(.edits, name: "Changing") { context in
            if context.isDryRun { return }
            list.append(Oscillator())
            if list.count > 3 { list.removeAll() }
            mixer.append(Noise())
            if mixer.sources.count > 3 { mixer.removeAll() }
            held.now?.replace { context in
                list.removeAll()
                context.gain(0.5)
            }
        }
        held.withLock { $0 = module }
        let renderer = try Renderer { context in
            context.run(list)
            context.run(mixer)
            context.mix()
            context.run(module)
            context.output()
        }
        #expect(await ends { for _ in 0..<50 { _ = renderer.renderOffline(frames: 32) } })
        held.withLock { $0 = nil }
        list.removeAll()
        mixer.removeAll()
    }

    @Test("A closure that replaces, configures, removes and renders its own renderer")
    func ownRenderer() async throws {
        let holder = Holder()
        let turn = Atomic<Int>(0)
        let tone = Oscillator(level: 0.1)
        @Sendable func loop(_ context: inout RenderContext) {
            context.run(tone)
            context.output()
            guard !context.isDryRun, let renderer = holder.renderer else { return }
            switch turn.add(1, ordering: .relaxed).newValue % 7 {
            case 0: try? renderer.replaceLoop { loop(&$0) }
            case 1: renderer.configure(sampleRate: 44_100, layout: StackLayout(slots: 2, frames: 32))
            case 2: renderer.configure(sampleRate: 48_000, channels: 3, layout: StackLayout())
            case 3: _ = renderer.renderOffline(frames: 10)
            case 4: _ = (renderer.description, renderer.latency, renderer.modules.count)
            case 5: renderer.transaction { tone.level.value = 0.2 }
            default:
                renderer.removeLoop()
                try? renderer.replaceLoop { loop(&$0) }
            }
        }
        let renderer = try Renderer { loop(&$0) }
        holder.renderer = renderer
        #expect(await ends { for _ in 0..<60 { _ = renderer.renderOffline(frames: 64) } })
        holder.renderer = nil
        #expect(try await eventsStillCome())
    }

    @Test("Mixers in circles, sources in two mixers, places that are not there")
    func mixers() async throws {
        let first = Mixer(channels: 1), second = Mixer(channels: 8)
        let source = MixerSource(Oscillator(level: 0.1), volume: 1e30, pan: -7)
        let renderer = try Renderer { context in
            context.run(first)
            context.run(second)
            context.mix()
            context.output()
        }
        for index in Self.edges { first.insert(source, at: index) }
        second.append(source)
        first.append(source)
        first.append(first)
        first.append(second)
        second.append(first)
        first.replace(source, with: source)
        first.replace(source, with: MixerSource(second))
        second.remove(source)
        second.remove(first)
        source.isSolo = true
        source.isMuted = true
        #expect(await ends { _ = renderer.renderOffline(frames: 600) })
        first.removeAll()
        second.removeAll()
        let last = renderer.renderOffline(frames: 600)
        let finite = isFinite(last)
        #expect(finite)
    }

    @Test("A splitter whose generator runs the splitter, and one that is shared on two threads")
    func splitters() async throws {
        final class Late: Generator {
            let splitter = Guarded<Splitter?>(nil)
            func process(_ context: inout RenderContext) {
                if let splitter = splitter.now { context.run(splitter) } else { context.push() }
            }
        }
        let late = Late()
        let splitter = try Splitter(late, slots: 1)
        late.splitter.withLock { $0 = splitter }
        let renderer = try Renderer { context in
            context.run(splitter)
            context.output()
        }
        #expect(await ends { _ = renderer.renderOffline(frames: 100) })
        late.splitter.withLock { $0 = nil }

        let shared = try Splitter(Noise())
        let renderers = try (0..<3).map { _ in
            let part = Splitter(sharing: shared)
            return try Renderer { context in
                context.run(part)
                context.run(part)
                context.mix()
                context.output()
            }
        }
        #expect(
            await allEnd(renderers.map { renderer in { for _ in 0..<100 { _ = renderer.renderOffline(frames: 64) } } }))
    }

    @Test("A bus that is sent to by itself, and in two renderers")
    func buses() async throws {
        let bus = Bus(channels: 64), narrow = Bus(channels: 1)
        let send = bus.send(1e30), other = bus.send(-1e30), third = narrow.send(-1)
        let renderers = try (0..<2).map { _ in
            try Renderer { context in
                context.run(bus)
                context.run(send)
                context.run(send)
                context.run(other)
                context.run(narrow)
                context.run(third)
                context.run(bus)
                context.mixAll()
                context.run(other)
                context.output()
            }
        }
        #expect(
            await allEnd(renderers.map { renderer in { for _ in 0..<100 { _ = renderer.renderOffline(frames: 64) } } }))
    }

    @Test("prepare that configures, replaces and drops its own renderer")
    func preparations() async throws {
        let holder = Holder()
        let turns = Atomic<Int>(0)
        let module = Preparing { preparation in
            guard let renderer = holder.renderer, turns.add(1, ordering: .relaxed).newValue < 30 else { return }
            renderer.configure(sampleRate: preparation.sampleRate == 48_000 ? 44_100 : 48_000)
            try? renderer.replaceLoop { context in context.push() }
            renderer.removeLoop()
            _ = renderer.renderOffline(frames: 8)
            if turns.load(ordering: .relaxed) == 20 { holder.renderer = nil }
        }
        holder.renderer = Renderer()
        #expect(
            await ends {
                for _ in 0..<10 {
                    try holder.renderer?.replaceLoop { context in
                        context.push()
                        context.run(module)
                        context.output()
                    }
                }
            })
        holder.renderer = nil
        #expect(try await eventsStillCome())
    }

    @Test("A module whose last reference goes on the render thread")
    func lastReference() async throws {
        let held = Guarded<[any Module]>([])
        let census = Census()
        for _ in 0..<20 { held.withLock { $0.append(census.count(Oscillator(level: 0.1))) } }
        let renderer = try Renderer { context in
            if context.isDryRun { return }
            let module = held.withLock { $0.popLast() }
            if let module { context.run(module) } else { context.push() }
            context.output()
        }
        #expect(await ends { for _ in 0..<40 { _ = renderer.renderOffline(frames: 16) } })
        renderer.removeLoop()
        _ = renderer.renderOffline(frames: 16)
        #expect(await becomesTrue { census.living.isEmpty })
    }
}
