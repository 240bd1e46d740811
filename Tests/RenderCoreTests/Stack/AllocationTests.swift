import CAllocationCounter
import RenderStack
import TestSupport
import Testing

/// A cycle after the first neither allocates nor frees. Counted by a `malloc` of the test program's own.
@Suite(.notSanitized(allocation_counter_works() != 0)) struct AllocationTests {
    /// Calls of the allocator on this thread in some cycles.
    private func calls(_ renderer: Renderer, cycles: Int = 200, frames: Int = 16) -> Int {
        var block = AudioBlock(channels: renderer.channelCount, frames: frames)
        // The first cycles may do what is done once: here and in Swift's runtime.
        for _ in 0..<70 { renderer.render(into: &block, hostTime: 0) }
        allocation_counter_begin()
        for _ in 0..<cycles { renderer.render(into: &block, hostTime: 0) }
        return allocation_counter_end()
    }

    @Test("The counter counts: an array is an allocation and a release")
    func counts() {
        allocation_counter_begin()
        let array = [Float](repeating: 0, count: 100_000 + Int(HostClock.now % 2))
        let calls = allocation_counter_end()
        #expect(calls >= 1 && array.count >= 100_000)
    }

    @Test("An empty loop")
    func empty() { #expect(calls(Renderer(layout: smallLayout)) == 0) }

    @Test("Every operation of the stack")
    func stack() throws {
        let block = AudioBlock(channels: 2, frames: 64)
        let renderer = try Renderer(layout: smallLayout) { context in
            context.push(3)
            context.duplicate()
            context.swap()
            context.remove(at: 1)
            context.mix(gains: [1, 0.5] as InlineArray)
            context.gain(0.5)
            context.fade(volume: Glide(0.5), balance: Glide(-0.5))
            context.push(channels: 1)
            context.pan(Glide(0.25))
            context.withExternal(block) { context in context.mix(2) }
            context.subBlock(offset: 0, length: context.frameCount / 2) { context in
                context.push()
                context.mix(2)
            }
            context.withTop2 { a, b in
                var samples = a[0]
                for i in samples.indices { samples[i] = b.samples(0)[i] }
            }
            context.output(2)
            context.outputAll()
            context.mixAll()
            context.silence()
        }
        #expect(calls(renderer) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("Modules, closures, lists, a renderer inside, parameters that glide")
    func modules() throws {
        let (source, times, counting) = (Constant(1), Times(2), Counting())
        let list = ModuleList(mixing: 2, [Constant(2), Constant(3)])
        let chain = ModuleList(chaining: [Times(3)])
        let closure = ClosureModule(.edits) { $0.gain(0.5) }
        let gain = Parameter(0, in: 0...1, glide: .linear(.seconds(1000)))
        let inner = try Renderer(layout: smallLayout) { context in
            context.run(counting)
            context.output()
        }
        let sub = SubRenderer(inner)
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(source)
            context.run(times)
            context.run(list)
            context.run(chain)
            context.run(closure)
            context.run(sub)
            context.mix(3)
            context.gain(gain.glide(context))
            context.output()
        }
        gain.value = 1
        #expect(calls(renderer) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("Mistakes of every kind")
    func faults() throws {
        let (bad, nothing) = (
            Breaking(.nan, frame: 0, first: 0, count: .max), Misbehaving(declares: .generates, pops: 0, pushes: 0)
        )
        let foreign = Constant(1)
        let other = try Renderer(layout: smallLayout) { $0.run(foreign) }
        let state = RenderState<Int>(0)
        let renderer = try Renderer(layout: smallLayout) { context in
            if context.isDryRun {
                context.push()
                context.run(bad)
                context.run(nothing)
                context.run(foreign)
                return
            }
            context.pop()
            context.swap()
            context.push(channels: 2)
            context.run(bad)
            context.run(nothing)
            context.run(foreign)
            context.push(40, channels: 100)
            context.mix(100)
            state.with(&context) { _, context in state.with(&context) { _, _ in } }
            context.output(5, to: .auxiliary(3))
        }
        #expect(calls(renderer) == 0)
        #expect(renderer.faultCount > 1000)
        _ = other
    }

    @Test("Transactions, messages and scheduled changes that arrive")
    func changes() throws {
        let level = Parameter(0, in: 0...1)
        let renderer = try Renderer(layout: smallLayout) { context in
            context.push()
            context.gain(level.glide(context))
            context.output()
        }
        for step in 0..<100 {
            try renderer.transaction(at: .sample(Int64(70 * 16 + step * 30))) { level.value = Float(step) / 100 }
            try renderer.schedule(at: .sample(Int64(70 * 16 + step * 31))) { context in context.push() }
        }
        #expect(calls(renderer) == 0)
        #expect(level.value == 0.99)
    }

    @Test("A renderer at another rate, and one at another speed")
    func resampling() throws {
        let (tone, other) = (Oscillator(frequency: 440), Oscillator(frequency: 660))
        let converter = RateConverter(
            try Renderer(channels: 1) { context in
                context.run(tone)
                context.output()
            }, sampleRate: 44_100)
        let machine = Varispeed(
            try Renderer(channels: 1) { context in
                context.run(other)
                context.output()
            })
        let outer = try Renderer(channels: 1) { context in
            context.run(converter)
            context.run(machine)
            context.mix(2)
            context.output()
        }
        var block = AudioBlock(channels: 1, frames: 32)
        for _ in 0..<70 { outer.render(into: &block, hostTime: 0) }
        machine.speed.value = 2
        allocation_counter_begin()
        for _ in 0..<40 { outer.render(into: &block, hostTime: 0) }
        #expect(allocation_counter_end() == 0 && outer.faultCount == 0)
    }
}
