import RenderStack
import TestSupport
import Testing

/// Modules of a kind that the module around them cannot run: they are silent and a fault, and the others play on.
@Suite struct WrongKindTests {
    private let half = Constant(0.5)
    private let effect = ClosureModule(.edits, name: "Effect") { context in context.gain(3) }
    private let pair = ClosureModule(StackEffect(pops: 0, pushes: 2), name: "Pair") { context in
        context.push()
        context.push()
    }

    private func faults(_ renderer: Renderer, _ make: () throws -> Void) async throws -> [Fault] {
        let faults = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) } }
        try make()
        await subscription.finish()
        return faults.all
    }

    @Test("A mixer's source that takes a buffer, or pushes two, is silent, and the fault says why")
    func mixer() async throws {
        let mixer = Mixer(channels: 1, [MixerSource(half)])
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        mixer.append(effect, fadesIn: false)
        mixer.append(MixerSource(pair, panning: .equalPower), fadesIn: false)
        let found = try await faults(renderer) {
            let sound = render(renderer, frames: 100)[0]
            #expect(sound.allSatisfy { $0 == 0.5 })
            #expect(renderer.renderOffline(frames: 10)[0, 9] == 0.5)
        }
        #expect(Set(found.map(\.kind)) == [.wrongKind] && Set(found.map(\.module)) == ["Effect", "Pair"])
        let sentence = found.first { $0.module == "Effect" }?.description ?? ""
        #expect(
            sentence.contains("Effect takes 1 buffer and leaves 1 buffer; where it is, a module must take no buffer"))
    }

    @Test("A render loop whose mixer, list or environment has such a module is refused with a sentence")
    func refused() throws {
        let chain = ModuleList(chaining: [half], name: "Chain")
        let list = ModuleList(mixing: 1)
        list.append(effect)
        let environment = Environment(reverb: half)
        environment.append(SpatialSource(effect))
        let modules: [any Module] = [Mixer([MixerSource(effect)]), list, environment]
        for module in modules {
            let error = #expect(throws: RenderLoopError.self) {
                func run(_ module: some Module) throws {
                    _ = try Renderer { context in
                        context.run(module)
                        context.output()
                    }
                }
                try run(module)
            }
            #expect(
                error?.description.contains("takes 1 buffer and leaves 1") == true, "\(module.name): \(error as Any)")
        }
        #expect(throws: RenderLoopError.self) {
            _ = try Renderer { context in
                context.push()
                context.run(chain)
                context.output()
            }
        }
    }

    @Test("A chain that gets a generator while it plays, and a sum that gets an effect, are silent there and no worse")
    func lists() async throws {
        let (chain, sum) = (ModuleList(chaining: []), ModuleList(mixing: 1, [half]))
        let renderer = try Renderer(channels: 1) { context in
            context.run(sum)
            context.run(chain)
            context.output()
        }
        #expect(render(renderer, frames: 10)[0] == Array(repeating: 0.5, count: 10))
        sum.append(effect)
        sum.modules.append(pair)
        #expect(render(renderer, frames: 10)[0] == Array(repeating: 0.5, count: 10))
        let found = try await faults(renderer) {
            chain.append(Constant(0.25))
            chain.replace(chain.modules[0], with: pair)
            #expect(render(renderer, frames: 10)[0] == Array(repeating: 0, count: 10))
            chain.removeAll()
            sum.removeAll()
            sum.append(half)
            #expect(renderer.renderOffline(frames: 10)[0, 9] == 0.5)
        }
        #expect(Set(found.map(\.kind)) == [.wrongKind] && !found.isEmpty)
    }

    @Test("A source and a reverb of the wrong kind in an environment")
    func environment() async throws {
        let environment = Environment(reverb: nil)
        let renderer = try Renderer { context in
            context.run(environment)
            context.output()
        }
        environment.append(half, rendering: .passThrough)
        environment.append(SpatialSource(effect, rendering: .passThrough))
        let found = try await faults(renderer) {
            let sound = renderer.renderOffline(frames: 4_800)
            #expect(abs(sound[0, 4_000]) > 0.1)
        }
        #expect(found.contains { $0.kind == .wrongKind && $0.module == "Effect" })
    }

    @Test("An oversampled module of the wrong kind is silent, and its renderer has said so")
    func oversampled() throws {
        let module = Oversampled(half, times: 2)
        let renderer = try Renderer(channels: 1) { context in
            context.push()
            context.run(module)
            context.output()
        }
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0 == 0 } && renderer.faultCount == 0)
    }
}
