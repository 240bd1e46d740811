import Foundation
import RenderStack
import TestSupport
import Testing

/// Keeps the filters, which would be computed anew for each test.
private let filters = Resampler(channels: 1, steps: 0.25...4)

@Suite("Varispeed")
struct VarispeedTests {
    @Test("A speed multiplies every frequency", arguments: [0.25, 0.5, 0.9, 1, 1.5, 4])
    func speed(_ speed: Double) throws {
        let machine = Varispeed(try monoRenderer(ClockSine(1_000)))
        machine.speed.value = Float(speed)
        let exact = Double(machine.speed.value)
        let inner = machine.renderer
        let outer = try monoRenderer(machine)
        let result = render(outer, frames: 4_000)[0]
        let fit = SineFit(result[2_000...], frequency: exact * 1_000 / 48_000, from: 2_000)
        #expect(fit.signalToNoise >= 120 && abs(fit.gain(over: 0.5)) < 0.01)
        #expect(abs(Double(inner.sampleTime) - 4_000 * exact) < 300)
        #expect(outer.faultCount == 0)
    }

    @Test("At a speed of 1 it is as late as it says")
    func latency() throws {
        let machine = Varispeed(try monoRenderer(ClockSine(1_000)))
        let result = render(try monoRenderer(machine), frames: 2_000)[0]
        #expect(machine.latency(at: 48_000) == 224)
        let fit = SineFit(result[1_000...], frequency: 1_000 / 48_000, from: 1_000 - 224)
        #expect(abs(fit.turns) < 1e-6)
    }

    @Test("Speed and cents are two names of one thing, and keep their range")
    func cents() {
        let machine = Varispeed(Renderer())
        #expect(machine.cents == 0)
        machine.cents = 1_200
        #expect(machine.speed.value == 2)
        machine.cents = -700
        #expect(abs(machine.speed.value - 0.66741993) < 1e-6)
        machine.cents = -9_999
        #expect(machine.speed.value == 0.25 && machine.cents == -2_400)
        machine.speed.value = 99
        #expect(machine.speed.value == 4 && machine.cents == 2_400)
    }

    @Test("Cycles of any length give the same bits, also while the speed glides", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        _ = filters.lookAhead
        func run(_ lengths: [Int]) throws -> [Float] {
            let machine = Varispeed(try monoRenderer(ClockSine(1_234)))
            let outer = try monoRenderer(machine)
            try outer.transaction(at: .sample(100)) { machine.speed.value = 1.7 }
            try outer.transaction(at: .sample(1_000)) { machine.speed.value = 0.6 }
            return render(outer, frames: 2_000, cycles: lengths)[0]
        }
        #expect(try run(lengths) == run([333]))
    }

    @Test("A change of speed glides: no step, no click")
    func glide() throws {
        let machine = Varispeed(try monoRenderer(ClockSine(1_000)))
        let outer = try monoRenderer(machine)
        _ = render(outer, frames: 1_000)
        machine.speed.value = 2
        let result = render(outer, frames: 3_000)[0]
        // A sine of 2 kHz at most bends by no more than its own curvature: (2 π f / rate)² · 0.5.
        let limit = Float(pow(2 * Double.pi * 2_000 / 48_000, 2) * 0.5 * 1.05)
        for n in 1..<result.count - 1 {
            #expect(abs(result[n - 1] - 2 * result[n] + result[n + 1]) < limit)
        }
        let fit = SineFit(result[2_000...], frequency: 2_000 / 48_000, from: 0)
        #expect(fit.signalToNoise >= 120)
    }

    @Test("The inner renderer has the outer one's rate; it can be exchanged")
    func exchange() throws {
        let (first, second) = (Renderer(channels: 1), Renderer(channels: 2))
        let machine = Varispeed(first)
        let outer = try monoRenderer(machine, rate: 44_100)
        #expect(first.sampleRate == 44_100)
        outer.configure(sampleRate: 96_000)
        #expect(first.sampleRate == 96_000)
        machine.renderer = second
        #expect(second.sampleRate == 96_000 && second.channelCount == 1 && machine.renderer === second)
        #expect(render(outer, frames: 100)[0].allSatisfy { $0 == 0 })
    }

    @Test("Reset repeats, bit for bit; silence stays silent")
    func reset() throws {
        let machine = Varispeed(try monoRenderer(Constant(0.5)))
        machine.speed.value = 1.3
        let outer = try monoRenderer(machine)
        let first = render(outer, frames: 600)[0]
        #expect(first[0] == 0 && abs(first[599] - 0.5) < 1e-5)
        try outer.messages.send { context in context.reset(machine) }
        #expect(render(outer, frames: 600)[0] == first)
        #expect(render(try monoRenderer(Varispeed(Renderer())), frames: 300)[0].allSatisfy { $0 == 0 })
    }
}
