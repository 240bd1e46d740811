import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import RenderCore

@Suite struct SplitterTests {
    @Test("Rendered once, heard twice: samples, channels and time are the same", arguments: cycleLengths)
    func twice(cycles: [Int]) throws {
        let ramp = Ramp(channels: 3)
        let splitter = try Splitter(ramp)
        let renderer = try Renderer(channels: 6) { context in
            context.run(splitter)
            context.output(channels: 0...2)
            context.pop()
            context.run(splitter)
            context.output(channels: 3...5)
        }
        let output = render(renderer, frames: 12_000, cycles: cycles)
        for channel in 0..<3 {
            let expected: [Float] = (1...12_000).map { Float($0 + 1000 * channel) }
            #expect(output[channel] == expected)
            #expect(output[channel + 3] == output[channel])
        }
        #expect(ramp.frames.load(ordering: .relaxed) == 12_000)
        #expect(renderer.faultCount == 0 && splitter.renderer.faultCount == 0)
    }

    @Test(
        "Nested renderers get the same samples, whichever asks first, however they cut their slices",
        arguments: cycleLengths, [5, 64, 512])
    func inside(cycles: [Int], frames: Int) throws {
        for innerFirst in [false, true] {
            let ramp = Ramp()
            let outer = try Splitter(ramp)
            let again = Splitter(sharing: outer)
            let inner = try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 2, frames: frames)) {
                context in
                context.run(again)
                context.output()
            }
            _ = render(inner, frames: 0)
            let sub = SubRenderer(inner)
            let renderer = try Renderer(channels: 2) { context in
                if innerFirst {
                    context.run(sub)
                    context.output(channels: 1...1)
                    context.run(outer)
                    context.output(channels: 0...0)
                } else {
                    context.run(outer)
                    context.output(channels: 0...0)
                    context.run(sub)
                    context.output(channels: 1...1)
                }
            }
            let output = render(renderer, frames: 3000, cycles: cycles)
            #expect(output[0] == counted(1...3000))
            #expect(output[1] == output[0])
            #expect(ramp.frames.load(ordering: .relaxed) == 3000)
            #expect(renderer.faultCount == 0 && inner.faultCount == 0)
        }
    }

    @Test("An inner renderer whose clock is elsewhere hears the same; the source follows the outermost clock")
    func clocks() throws {
        let tone = Oscillator(frequency: 300)
        let outer = try Splitter(tone)
        let again = Splitter(sharing: outer)
        let inner = try Renderer(channels: 1) { context in
            context.run(again)
            context.output()
        }
        let sub = SubRenderer(inner)
        let isOn = Parameter(0, in: 0...1, glide: .none)
        let renderer = try Renderer(channels: 2) { context in
            context.run(outer)
            context.output(channels: 0...0)
            if context.isDryRun || isOn.current(context) > 0 {
                context.run(sub)
                context.output(channels: 1...1)
            }
        }
        _ = render(renderer, frames: 1000)
        isOn.value = 1
        let output = render(renderer, frames: 1000)
        #expect(inner.sampleTime == 1000 && renderer.sampleTime == 2000 && outer.renderer.sampleTime == 2000)
        #expect(output[0] == output[1])
    }

    @Test("Parts of a slice get what lies there; what was never asked for is silent") func parts() throws {
        let ramp = Ramp()
        let splitter = try Splitter(ramp)
        let renderer = try Renderer(channels: 2) { context in
            let half = context.frameCount / 2
            let rest = context.frameCount - half
            context.subBlock(offset: half, length: rest) { context in
                context.run(splitter)
                context.output(channels: 0...0)
                context.pop()
            }
            context.run(splitter)
            context.output(channels: 1...1)
        }
        let output = render(renderer, frames: 300, cycles: [100])
        var expected: [Float] = []
        for cycle in 0..<3 {
            expected += [Float](repeating: 0, count: 50)
            expected += (1...50).map { Float(50 * cycle + $0) }
        }
        #expect(output[0] == expected && output[1] == expected)
        #expect(ramp.frames.load(ordering: .relaxed) == 150)
    }

    @Test("Longer than what was asked for first: the source is asked for the rest") func rest() throws {
        let ramp = Ramp()
        let splitter = try Splitter(ramp)
        let renderer = try Renderer(channels: 2) { context in
            let part = context.frameCount / 3
            context.subBlock(offset: 0, length: part) { context in
                context.run(splitter)
                context.output(channels: 0...0)
                context.pop()
            }
            context.run(splitter)
            context.output(channels: 1...1)
        }
        let output = render(renderer, frames: 600, cycles: [99])
        #expect(output[1] == counted(1...600))
        #expect(zip(output[0], output[1]).allSatisfy { $0 == 0 || $0 == $1 })
        #expect(ramp.frames.load(ordering: .relaxed) == 600)
    }

    @Test("The source is reset once, and begins anew in all places") func reset() throws {
        let splitter = try Splitter(Ramp())
        let renderer = try Renderer(channels: 1) { context in
            context.run(splitter)
            context.run(splitter)
            context.mix(2)
            context.output()
        }
        let first = render(renderer, frames: 100)[0]
        try renderer.messages.send { context in context.reset(splitter) }
        #expect(render(renderer, frames: 100)[0] == first)
    }

    @Test("The channel count follows the source, also when it changes") func channels() throws {
        let wide = Parameter(0, in: 0...1, glide: .none)
        let source = Widening(wide)
        let splitter = try Splitter(source)
        let counts = MessagePort<Int>()
        let renderer = try Renderer(channels: 4) { context in
            context.run(splitter)
            context.pop()
            context.run(splitter)
            counts.send(context.channelCount())
            context.output()
        }
        _ = render(renderer, frames: 100, cycles: [100])
        wide.value = 1
        let output = render(renderer, frames: 100, cycles: [100])
        var seen: [Int] = []
        counts.drain { seen.append($0) }
        #expect(seen.suffix(2) == [1, 4])
        #expect(output[3].allSatisfy { $0 == 3 })
    }

    private final class Widening: Generator {
        let wide: Width
        struct Width: ~Copyable, Sendable { let parameter: Parameter }
        init(_ parameter: borrowing Parameter) { wide = Width(parameter: Parameter(sharing: parameter)) }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let channels = wide.parameter.current(context) > 0 ? 4 : 1
            context.push(channels: channels)
            for channel in 0..<channels { context.fill(Float(channel), channel: channel) }
        }
    }
}
