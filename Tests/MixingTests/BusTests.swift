import RenderStack
import TestSupport
import Testing

@Suite struct BusTests {
    @Test(
        "A bus adds what each sender sends at its level, and leaves the senders' own sound alone",
        arguments: cycleLengths)
    func sum(cycles: [Int]) throws {
        func samples(_ cycles: [Int]) throws -> ([[Float]], Int) {
            let bus = Bus(channels: 2)
            let (one, two) = (Oscillator(frequency: 440, level: 0.5), Constant(0.25, channels: 2))
            let sends = (bus.send(0.5), bus.send(2))
            let renderer = try Renderer(channels: 4) { context in
                context.run(one)
                context.run(sends.0)
                context.run(two)
                context.run(sends.1)
                context.output(channels: 2...3)
                context.mix(2)
                context.pop()
                context.run(bus)
                context.output(channels: 0...1)
            }
            try renderer.transaction(at: .sample(700)) { sends.0.level.value = 1 }
            return (render(renderer, frames: 6000, cycles: cycles), renderer.faultCount)
        }
        let (output, faults) = try samples(cycles)
        #expect(faults == 0)
        #expect(try output == samples([512]).0)
        let tone = try Renderer(channels: 1) { [tone = Oscillator(frequency: 440, level: 0.5)] context in
            context.run(tone)
            context.output()
        }
        let dry = render(tone, frames: 6000)[0]
        for i in 0..<700 { #expect(output[0][i] == dry[i] * 0.5 + 0.5) }
        for i in 1200..<6000 { #expect(output[1][i] == dry[i] + 0.5) }
        #expect(output[2].allSatisfy { $0 == 0.25 })
    }

    @Test("Mono goes to every channel, into mono everything sums, else channel to channel", arguments: [1, 2, 4])
    func channels(count: Int) throws {
        let bus = Bus(channels: count)
        let (mono, stereo) = (Constant(1), Constant(0.5, channels: 2))
        let sends = (bus.send(), bus.send())
        let renderer = try Renderer(channels: count) { context in
            context.run(mono)
            context.run(sends.0)
            context.run(stereo)
            context.run(sends.1)
            context.popAll()
            context.run(bus)
            context.output()
        }
        let last = render(renderer, frames: 600).map(\.last!)
        let expected: [Int: [Float]] = [1: [2], 2: [1.5, 1.5], 4: [1.5, 1.5, 1, 1]]
        #expect(last == expected[count])
    }

    @Test(
        "A send after the bus is heard if the bus runs again, and never in the next slice",
        arguments: cycleLengths)
    func late(cycles: [Int]) throws {
        let bus = Bus(channels: 1)
        let source = Constant(1)
        let send = bus.send()
        let renderer = try Renderer(channels: 3) { context in
            context.run(source)
            context.run(bus)
            context.output(channels: 0...0)
            context.pop()
            context.run(send)
            context.run(bus)
            context.output(channels: 1...1)
            context.pop()
            context.run(bus)
            context.output(channels: 2...2)
            context.pop()
            context.run(send)
        }
        let output = render(renderer, frames: 3000, cycles: cycles)
        #expect(output[0].allSatisfy { $0 == 0 })
        #expect(output[1].allSatisfy { $0 == 1 })
        #expect(output[2].allSatisfy { $0 == 0 })
        #expect(renderer.faultCount == 0)
    }

    @Test("A bus in a renderer inside, whose slices are shorter, gives all that was sent outside")
    func busInside() throws {
        let bus = Bus(channels: 1)
        let (ramp, send) = (Ramp(), bus.send())
        let inner = try Renderer(channels: 1, layout: StackLayout(slots: 2, channels: 1, frames: 5)) { context in
            context.run(bus)
            context.output()
        }
        let sub = SubRenderer(inner)
        let renderer = try Renderer(channels: 1) { context in
            context.run(ramp)
            context.run(send)
            context.run(sub)
            context.output()
        }
        #expect(render(renderer, frames: 2000, cycles: [512])[0] == counted(1...2000))
    }

    @Test("A send in a renderer inside, and in a part of a slice, lands where it is") func inside() throws {
        let bus = Bus(channels: 1)
        let (ramp, flat) = (Ramp(), Constant(100_000))
        let sends = (bus.send(), bus.send())
        let inner = try Renderer(channels: 1, layout: StackLayout(slots: 2, channels: 1, frames: 5)) { context in
            context.run(ramp)
            context.run(sends.0)
        }
        let sub = SubRenderer(inner)
        let renderer = try Renderer(channels: 1) { context in
            context.run(sub)
            context.run(flat)
            let half = context.frameCount / 2
            context.subBlock(offset: 0, length: half) { context in context.run(sends.1) }
            context.popAll()
            context.run(bus)
            context.output()
        }
        let output = render(renderer, frames: 300, cycles: [100])[0]
        let expected = (0..<300).map { (i: Int) -> Float in Float(i + 1) + (i % 100 < 50 ? 100_000 : 0) }
        #expect(output == expected)
        #expect(renderer.faultCount == 0 && inner.faultCount == 0)
    }
}
