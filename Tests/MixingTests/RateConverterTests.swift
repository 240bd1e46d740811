import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A sine that is a function of the sample clock: what came out of a converter can be computed.
private final class ClockSine: Generator {
    let frequency: Double
    let channels: Int
    let clock = MessagePort<(sample: Int64, host: Int64)>(capacity: 1_024)
    init(_ frequency: Double, channels: Int = 1) {
        self.frequency = frequency
        self.channels = channels
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        clock.send((context.sampleTime, context.hostTime))
        let (start, rate) = (context.sampleTime, context.sampleRate)
        var top = context.top
        for channel in 0..<channels {
            var samples = top[channel]
            for i in samples.indices {
                let turns = frequency / rate * Double(start + Int64(i))
                let fraction = turns - Double(Int64(turns))
                samples[i] = Float(0.5 * RenderMath.sin(2 * Double.pi * fraction)) * Float(1 + channel)
            }
        }
    }
}

/// The value of a parameter, at once.
private final class Level: Generator {
    let level = Parameter(0, in: 0...1, glide: .none)
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let value = level.current(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = value }
    }
}

private func renderer(_ module: some Generator, rate: Double = 48_000, channels: Int = 1) throws -> Renderer {
    let layout = StackLayout(slots: 4, channels: 4, frames: 64)
    return try Renderer(sampleRate: rate, channels: channels, layout: layout) { context in
        context.run(module)
        context.output()
    }
}

@Suite("RateConverter")
struct RateConverterTests {
    @Test(
        "A renderer at 44.1 kHz is the same sound at 48 kHz, as late as its latency says",
        arguments: [44_100.0, 96_000, 8_000])
    func sound(innerRate: Double) throws {
        let converter = RateConverter(try renderer(ClockSine(2_000)), sampleRate: innerRate)
        let outer = try renderer(converter)
        let latency = converter.latency(at: 48_000)
        // 56 frames of the lower of the two rates.
        #expect(latency == [44_100: 61, 96_000: 56, 8_000: 336][innerRate])
        let result = render(outer, frames: 3_000)[0]
        let fit = SineFit(result[1_000...], frequency: 2_000 / 48_000, from: 1_000 - latency)
        #expect(fit.signalToNoise >= 128 && abs(fit.gain(over: 0.5)) < 0.01 && abs(fit.turns) < 1e-6)
        #expect(outer.faultCount == 0)
    }

    @Test("The inner renderer's clock runs at its own rate")
    func clock() throws {
        let inner = try renderer(ClockSine(100))
        let outer = try renderer(RateConverter(inner, sampleRate: 44_100))
        _ = render(outer, frames: 48_000)
        #expect(abs(inner.sampleTime - 44_100) <= 1)
    }

    @Test("Cycles of any length give the same bits", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        func run(_ lengths: [Int]) throws -> [[Float]] {
            let converter = RateConverter(try renderer(ClockSine(3_210, channels: 2), channels: 2), sampleRate: 44_100)
            return render(try renderer(converter, channels: 2), frames: 2_000, cycles: lengths)
        }
        #expect(try run(lengths) == run([333]))
    }

    @Test("Equal rates pass on every bit, without latency")
    func equalRates() throws {
        let converter = RateConverter(try renderer(ClockSine(1_000), channels: 2), sampleRate: 48_000)
        let result = render(try renderer(converter, channels: 2), frames: 1_000, cycles: [100])
        #expect(converter.latency(at: 48_000) == 0)
        #expect(result == render(try renderer(ClockSine(1_000), channels: 2), frames: 1_000))
    }

    @Test("The inner rate and channels are set when it is made, when it is exchanged, and stay")
    func rates() throws {
        let (first, second) = (Renderer(), Renderer())
        let converter = RateConverter(first, sampleRate: 44_100, channels: 1)
        let outer = try renderer(converter)
        #expect(first.sampleRate == 44_100 && first.channelCount == 1 && converter.renderer === first)
        #expect(outer.latency == 61)
        outer.configure(sampleRate: 96_000)
        #expect(first.sampleRate == 44_100 && outer.latency == 122)
        outer.configure(sampleRate: 44_100)
        #expect(outer.latency == 0)
        converter.renderer = second
        #expect(second.sampleRate == 44_100 && second.channelCount == 1 && converter.renderer === second)
    }

    @Test("After the outer rate has changed it is the same sound again")
    func outerRate() throws {
        let outer = try renderer(RateConverter(try renderer(ClockSine(2_000)), sampleRate: 44_100))
        _ = render(outer, frames: 500)
        outer.configure(sampleRate: 96_000)
        let result = render(outer, frames: 3_000)[0]
        let fit = SineFit(result[1_000...], frequency: 2_000 / 96_000, from: 1_000)
        #expect(fit.signalToNoise >= 128 && abs(fit.gain(over: 0.5)) < 0.01)
    }

    @Test("Channels keep their number; more than the stack has are left out")
    func channels() throws {
        let inner = try renderer(ClockSine(1_000, channels: 3), channels: 3)
        let outer = try renderer(RateConverter(inner, sampleRate: 44_100), channels: 4)
        let result = render(outer, frames: 500)
        for channel in 1..<3 {
            #expect(largestDifference(result[channel], result[0].map { $0 * Float(channel + 1) }) < 1e-6)
        }
        #expect(result[3].allSatisfy { $0 == 0 } && result[0].contains { $0 > 0.4 })
        let wide = Renderer(channels: 6)
        let narrow = try renderer(RateConverter(wide, sampleRate: 44_100), channels: 4)
        #expect(render(narrow, frames: 100).count == 4 && narrow.faultCount == 0)
        wide.configure(channels: 1)
        _ = render(narrow, frames: 100)
        #expect(narrow.faultCount == 0)
    }

    @Test("A change that is scheduled for the inner renderer happens on that sample of the inner clock")
    func scheduledBySample() throws {
        let level = Level()
        let inner = try renderer(level)
        let converter = RateConverter(inner, sampleRate: 44_100)
        let outer = try renderer(converter)
        try inner.transaction(at: .sample(1_000)) { level.level.value = 1 }
        let result = render(outer, frames: 2_000, cycles: [128])[0]
        // A step between the inner samples 999 and 1,000 passes its middle between them.
        let middle = Double(converter.latency(at: 48_000)) + 999.5 * 48_000 / 44_100
        let first = try #require(result.firstIndex { $0 > 0.5 })
        #expect(Double(first) >= middle && Double(first) < middle + 1)
    }

    @Test("The inner host time is when the frame will be heard", arguments: [44_100.0, 96_000])
    func hostTime(innerRate: Double) throws {
        let sine = ClockSine(1_000)
        let converter = RateConverter(try renderer(sine), sampleRate: innerRate)
        let outer = try renderer(converter)
        var block = AudioBlock(channels: 1, frames: 100)
        for cycle in 0..<20 {
            outer.render(into: &block, hostTime: 1_000_000_000 + Int64(Double(cycle * 100) / 48_000 * 1e9))
        }
        var count = 0
        sine.clock.drain { time in
            count += 1
            let heard = Double(time.sample) / innerRate + Double(converter.latency(at: 48_000)) / 48_000
            // To the next frame: what is due is a whole number of nanoseconds, in slices that begin on frames.
            #expect(abs(Double(time.host - 1_000_000_000) - heard * 1e9) < 20)
        }
        #expect(count >= 20)
    }

    @Test("The inner renderer can be exchanged while it runs, and the old one is released")
    func exchange() async throws {
        weak var old: Renderer?
        let converter: RateConverter
        do {
            let first = try renderer(Constant(0.5))
            old = first
            converter = RateConverter(first, sampleRate: 44_100)
        }
        let outer = try renderer(converter)
        #expect(abs(render(outer, frames: 500)[0][499] - 0.5) < 1e-6)
        converter.renderer = try renderer(Constant(0.25))
        #expect(abs(render(outer, frames: 500)[0][499] - 0.25) < 1e-6)
        #expect(await becomesTrue { old == nil })
    }

    @Test("Reset repeats, bit for bit")
    func reset() throws {
        let converter = RateConverter(try renderer(Constant(0.5)), sampleRate: 44_100)
        let outer = try renderer(converter)
        let first = render(outer, frames: 300)[0]
        #expect(first[0] == 0 && abs(first[299] - 0.5) < 1e-6)
        try outer.messages.send { context in context.reset(converter) }
        #expect(render(outer, frames: 300)[0] == first)
    }

    @Test("Silence stays silent, and what is not finite inside is silence and a fault there")
    func silence() throws {
        let silent = try renderer(RateConverter(Renderer(), sampleRate: 44_100))
        #expect(render(silent, frames: 500)[0].allSatisfy { $0 == 0 })
        let inner = try renderer(Constant(.nan))
        let outer = try renderer(RateConverter(inner, sampleRate: 44_100))
        #expect(render(outer, frames: 500)[0].allSatisfy { $0 == 0 })
        #expect(inner.faultCount > 0 && outer.faultCount == 0)
    }

    @Test("A renderer inside of itself by mistake is silence and a fault, and comes to an end")
    func itself() throws {
        let renderer = Renderer(layout: StackLayout(slots: 4, channels: 2, frames: 64))
        let converter = RateConverter(renderer, sampleRate: 44_100)
        try renderer.replaceLoop { context in
            context.run(converter)
            context.output()
        }
        renderer.configure(sampleRate: 48_000)
        #expect(render(renderer, frames: 100)[0].allSatisfy { $0 == 0 })
        #expect(renderer.faultCount > 0)
        renderer.removeLoop()
    }

    @Test("A rate far above the outer one does not crash")
    func extremes() throws {
        let high = try renderer(RateConverter(Renderer(channels: 1), sampleRate: 1_000_000), rate: 8_000)
        #expect(render(high, frames: 100, cycles: [50])[0].count == 100 && high.faultCount == 0)
    }
}
