import RenderStack
import Synchronization
import Testing

/// `context.run`: what a module may do to the stack, and what is done when it does something else.
@Suite struct RunTests {
    @Test(
        "A module that leaves too much or too little: silence in its place, one fault with its name",
        arguments: [
            (StackEffect.generates, 0, 0), (.generates, 0, 3), (.edits, 1, 0), (.edits, 0, 1), (.edits, 1, 2),
            (StackEffect(pops: 2, pushes: 1), 0, 0), (StackEffect(pops: 1, pushes: 3), 1, 0),
            (StackEffect(pops: 0, pushes: 0), 0, 2), (StackEffect(pops: 1, pushes: 0), 0, 0),
        ])
    func unbalanced(effect: StackEffect, pops: Int, pushes: Int) async throws {
        let module = Misbehaving(declares: effect, pops: pops, pushes: pushes)
        let after = Shared<[[Float]]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            for _ in 0..<3 { context.push(channels: 1) }
            if !context.isDryRun {
                for index in 0..<3 { context.fill(Float(index + 10), at: index, channel: 0) }
            }
            context.run(module)
            if !context.isDryRun { after.value = context.firstSamples() }
        }
        let faults = try await faults(of: renderer, count: 1) { _ = renderer.next(8) }
        let below: [[Float]] = [[10], [11], [12]]
        let expected: [[Float]] = Array(repeating: [0], count: effect.pushes) + below[effect.pops...]
        #expect(after.value == expected)
        #expect(renderer.faultCount == 1)
        #expect(faults.map(\.kind) == [.unbalanced])
        #expect(faults.first?.module == "Misbehaving" && faults.first?.isInsideModule == true)
    }

    @Test("A module cannot pop what lies below its reach")
    func reach() async throws {
        let module = Misbehaving(declares: .edits, pops: 3, pushes: 1)
        let after = Shared<[[Float]]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            if context.isDryRun {
                context.push()
            } else {
                context.push([1])
                context.push([2])
                context.push([3])
            }
            context.run(module)
            if !context.isDryRun { after.value = context.firstSamples() }
        }
        let faults = try await faults(of: renderer, count: 1) { _ = renderer.next(8) }
        #expect(after.value == [[0], [2], [1]])
        #expect(faults.map(\.kind) == [.underflow])
        #expect(faults.first?.module == "Misbehaving")
    }

    @Test("A module that finds too few buffers does not run; what it leaves is there, and silent")
    func tooFew() async throws {
        let module = Misbehaving(declares: StackEffect(pops: 2, pushes: 2), pops: 0, pushes: 0)
        let state = Shared((low: false, after: [[Float]]()))
        let renderer = try Renderer(layout: smallLayout) { context in
            context.push(channels: 3)
            if !state.value.low { context.push() }
            context.run(module)
            if !context.isDryRun { state.value.after = context.firstSamples() }
        }
        state.value.low = true
        let faults = try await faults(of: renderer, count: 1) { _ = renderer.next(8) }
        #expect(state.value.after == [[0, 0, 0], [0, 0, 0]])
        #expect(faults.map(\.description) == ["Misbehaving needs 2 buffers and finds 1 buffer"])
    }

    @Test("A module inside of a module fails alone: the mixer's other members are heard")
    func failsAlone() throws {
        let (good, bad) = (Constant(3), Misbehaving(declares: .generates, pops: 0, pushes: 0))
        let foreign = Constant(100)
        let other = try Renderer(layout: smallLayout) { context in context.run(foreign) }
        let both = ClosureModule(.generates) { context in
            context.run(good)
            context.run(bad)
            context.run(foreign)
            context.mix(3)
        }
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(both)
            context.output()
        }
        #expect(renderer.next(16) == [16.of(3), 16.of(3)])
        #expect(renderer.faultCount == 2)
        _ = other
    }

    @Test(
        "In the first second a sample that is not finite is found wherever it is, in its slice",
        arguments: [Float.nan, .infinity, -.infinity, .signalingNaN], [0, 7, -1])
    func notFinite(bad: Float, frame: Int) async throws {
        for channel in 0...1 {
            let module = Breaking(bad, frame: frame, channel: channel, first: 5, count: 1)
            let renderer = try Renderer(sampleRate: 1000, layout: smallLayout) { context in
                context.push()
                for channel in 0...1 { context.fill(1, channel: channel) }
                context.run(module)
                context.output()
            }
            let output = Shared<[[Float]]>([])
            let faults = try await faults(of: renderer, count: 1) { output.value = renderer.next(160, cycle: 16) }
            let expected = 80.of(1) + 16.of(0) + 64.of(1)
            #expect(output.value == [expected, expected])
            #expect(faults.map(\.kind) == [.notFinite] && faults.first?.module == "Breaking")
            #expect(faults.first?.sampleTime == 80)
            #expect(module.resets.load(ordering: .relaxed) == 1)
            #expect(renderer.faultCount == 1)
        }
    }

    @Test("Later, one in the last frame is still found in its slice")
    func notFiniteLater() async throws {
        let module = Breaking(.nan, frame: -1, first: 100, count: 1)
        let renderer = try Renderer(sampleRate: 1000, layout: smallLayout) { context in
            context.push()
            context.fill(1, channel: 0)
            context.run(module)
            context.output()
        }
        let output = Shared<[[Float]]>([])
        let faults = try await faults(of: renderer, count: 1) { output.value = renderer.next(3200, cycle: 16) }
        #expect(output.value[0] == runs((1600, 1), (16, 0), (1584, 1)))
        #expect(faults.map(\.module) == ["Breaking"])
        #expect(module.resets.load(ordering: .relaxed) == 1)
        #expect(renderer.faultCount == 1)
    }

    @Test("Later, one in the middle does not reach the output; if it comes again its module is named and reset")
    func notFiniteInTheMiddleLater() async throws {
        let module = Breaking(.infinity, frame: 3, first: 100, count: 4)
        let renderer = try Renderer(sampleRate: 1000, layout: smallLayout) { context in
            context.push()
            context.fill(1, channel: 0)
            context.run(module)
            context.output()
        }
        let output = Shared<[[Float]]>([])
        let faults = try await faults(of: renderer, count: 4) { output.value = renderer.next(3200, cycle: 16) }
        #expect(output.value[0] == runs((1600, 1), (64, 0), (1536, 1)))
        let named = faults.filter { $0.module == "Breaking" }.map(\.count).reduce(0, +)
        #expect(named == 3 && renderer.faultCount == 4)
        #expect(module.resets.load(ordering: .relaxed) == 3)
    }

    @Test("A module that is never finite is silent always; others go on")
    func neverFinite() throws {
        let module = Breaking(.nan, frame: 0, first: 0, count: .max)
        let renderer = try Renderer(sampleRate: 1000, layout: smallLayout) { context in
            context.push()
            context.run(module)
            context.push()
            context.fill(2, channel: 1)
            context.mix(2)
            context.output()
        }
        #expect(renderer.next(4000, cycle: 16) == [4000.of(0), 4000.of(2)])
        #expect(module.resets.load(ordering: .relaxed) == renderer.faultCount)
        #expect(renderer.faultCount == 250, "one in each slice, by name")
    }

    @Test("Reset goes to the module, and to none that another renderer has")
    func reset() throws {
        let (mine, foreign) = (Breaking(0, frame: 0, first: 0, count: 0), Breaking(0, frame: 0, first: 0, count: 0))
        let other = try Renderer(layout: smallLayout) { context in
            context.push()
            context.run(foreign)
        }
        let renderer = try Renderer(layout: smallLayout) { context in
            context.push()
            context.run(mine)
            context.run(foreign)
            context.reset(mine)
            context.reset(foreign)
        }
        _ = renderer.next(8)
        #expect(mine.resets.load(ordering: .relaxed) == 1)
        #expect(foreign.resets.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 2)
        _ = other
    }
}
