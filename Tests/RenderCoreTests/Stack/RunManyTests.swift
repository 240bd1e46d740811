import RenderStack
import TestSupport
import Testing

/// `context.run` and `context.add` of many modules, and `context.forEach`: what a loop over them does.
@Suite struct RunManyTests {
    private struct Voice: Sendable {
        let source: Constant
        let factor: Times
    }

    @Test("Modules of one kind run in their order: 2, 3, 5 times is 30 times")
    func inOrder() throws {
        let (source, factors) = (Constant(1), [Times(2), Times(3), Times(5)])
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            context.run(source)
            context.run(factors)
            context.output()
        }
        for count in [8, 1, 16] { #expect(renderer.next(count)[0] == count.of(30)) }
        #expect(renderer.faultCount == 0)
    }

    @Test("Each element, in its order, with all that it holds")
    func eachElement() throws {
        let voices = (1...5).map { Voice(source: Constant(Float($0)), factor: Times(Float($0))) }
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            context.push(channels: 1)
            context.forEach(voices) { context, voice in
                context.run(voice.source)
                context.run(voice.factor)
                context.mix(2)
            }
            context.output()
        }
        for count in [8, 1, 16] { #expect(renderer.next(count)[0] == count.of(55)) }
        #expect(renderer.faultCount == 0)
    }

    @Test("Generators are added to the top, whatever width they and it have", arguments: [1, 2, 3])
    func added(channels: Int) throws {
        let (mono, stereo) = ((1...4).map { Constant(Float($0)) }, [Counting(), Counting()])
        let width = Shared(0)
        let renderer = try Renderer(channels: channels, layout: smallLayout) { context in
            context.push(channels: channels)
            context.add(mono)
            context.add(stereo)
            width.value = context.channelCount()
            context.output()
        }
        let heard = renderer.next(8)
        // Mono goes to every channel, and a counting buffer has numbers on its left only. The sum gets as wide as they are;
        // into an output of one channel everything sums.
        #expect(width.value == max(channels, 2))
        let base: Float = channels == 1 ? 20 : 10
        #expect(heard[0] == counted(1...8).map { (number: Float) in base + 2 * number })
        if channels > 1 { #expect(heard[1] == 8.of(10)) }
        #expect(renderer.faultCount == 0)
    }

    @Test("Added to read-only memory, to nothing, and inside of a part of the slice: as run and mix do it")
    func addedElsewhere() throws {
        let sources = (1...3).map { Constant(Float($0)) }
        func sum(_ body: @escaping @Sendable (inout RenderContext, _ isAdded: Bool) -> Void) throws -> [[[Float]]] {
            try [true, false].map { isAdded in
                let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
                    context.push(channels: 1)
                    body(&context, isAdded)
                    context.output()
                }
                return [renderer.next(8)[0], renderer.next(3)[0]]
            }
        }
        @Sendable func all(_ context: inout RenderContext, _ isAdded: Bool) {
            if isAdded {
                context.add(sources)
            } else {
                for source in sources {
                    context.run(source)
                    context.mix(2)
                }
            }
        }
        let parts = try sum { context, isAdded in
            context.subBlock(offset: 1, length: context.frameCount - 2) { context in all(&context, isAdded) }
        }
        #expect(parts[0] == parts[1] && parts[0] == [[0, 6, 6, 6, 6, 6, 6, 0], [0, 6, 0]])
        let memory = AudioBlock([16.of(1)])
        let external = try sum { context, isAdded in
            context.withExternal(memory) { context in
                all(&context, isAdded)
                context.mix(2)
            }
        }
        #expect(external[0] == external[1])
        #expect(memory.array(0) == 16.of(1))
    }

    @Test("None at all: the stack stays as it is")
    func none() throws {
        let none: [Times] = []
        let after = try renderSlice { context in
            context.push(channels: 1)
            context.run(none)
            context.add(none)
            context.forEach(none) { context, _ in context.popAll() }
            return context.bufferCount
        }
        #expect(after.value == 1 && after.faults == 0)
    }

    @Test("One that another renderer has, one that is not finite, and one out of turn: only they are silent or late")
    func silentOnes() async throws {
        let sources = (1...4).map { Constant(Float($0), name: "source \($0)") }
        let other = try Renderer(layout: smallLayout) { context in context.run(sources[1]) }
        let bad = Constant(.infinity, name: "infinite")
        let turned = Shared(false)
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            let all = turned.value ? [sources[3], bad, sources[2], sources[1], sources[0]] : sources + [bad]
            context.push(channels: 1)
            context.forEach(all) { context, source in
                context.run(source)
                context.mix(2)
            }
            context.output()
        }
        turned.value = true
        let faults = try await faults(of: renderer, count: 2) { #expect(renderer.next(8)[0] == 8.of(1 + 3 + 4)) }
        #expect(
            Set(faults.map { "\($0.kind) \($0.module ?? "")" }) == ["foreignModule source 2", "notFinite infinite"])
        turned.value = false
        #expect(renderer.next(8)[0] == 8.of(1 + 3 + 4))
        withExtendedLifetime(other) {}
    }

    @Test("A fault of the closure comes after the module that ran last, not after a member of a list")
    func afterAList() async throws {
        let list = ModuleList(mixing: 1, [Constant(1, name: "a member")])
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            context.run(list)
            context.pop(context.isDryRun ? 1 : 2)
        }
        let faults = try await faults(of: renderer, count: 1) { _ = renderer.next(8) }
        #expect(faults.first?.module == "ModuleList" && faults.first?.isInsideModule == false)
    }
}
