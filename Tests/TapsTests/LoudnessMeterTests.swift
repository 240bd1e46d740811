import RenderStack
import TestSupport
import Testing

/// The test signals of EBU Tech 3341 and 3342 that can be made, with the tolerances of those documents.
@Suite struct LoudnessMeterTests {
    static let tolerance = 0.1  // LU
    static let rangeTolerance = 1.0  // LU
    static let rate = 48_000.0

    /// A part of a test signal: a sine's level in dBFS for each channel (or all), and its length.
    private struct Part {
        let levels: [Double]
        let seconds: Double
        init(_ level: Double, _ seconds: Double) { self.init([level, level], seconds) }
        init(_ levels: [Double], _ seconds: Double) {
            self.levels = levels
            self.seconds = seconds
        }
    }

    /// Feeds 1 kHz sines, and looks every 100 ms.
    @discardableResult
    private func measure(
        _ parts: [Part], channels: Int = 2, look: (borrowing LoudnessMeasurement, Double) -> Void = { _, _ in }
    ) -> LoudnessMeasurement {
        var measurement = LoudnessMeasurement(sampleRate: Self.rate, channels: channels)
        var block = AudioBlock(channels: channels, frames: 480)
        let cycle = (0..<48).map { Float(RenderMath.sin(2 * .pi * Double($0) / 48)) }
        var now = 0
        for part in parts {
            let gains = part.levels.map { $0 == -.infinity ? 0 : RenderMath.amplitude(decibels: Float($0)) }
            // All parts are whole hundredths of a second, of ten waves each.
            for channel in 0..<channels {
                for i in 0..<480 { block[channel, i] = cycle[i % 48] * gains[channel] }
            }
            for _ in 0..<Int((part.seconds * 100).rounded()) {
                measurement.add(block)
                now += 480
                if now % 4800 == 0 { look(measurement, Double(now) / Self.rate) }
            }
        }
        return measurement
    }

    @Test("Tech 3341, 1 and 2: a steady sine, momentary, short-term and integrated", arguments: [-23.0, -33])
    func steady(level: Double) {
        let measurement = measure([Part(level, 20)])
        #expect(abs(measurement.momentary - level) <= Self.tolerance)
        #expect(abs(measurement.shortTerm - level) <= Self.tolerance)
        #expect(abs(measurement.integrated - level) <= Self.tolerance)
    }

    @Test("Tech 3341, 3 to 5: the gates: what is silent or much softer does not count")
    func gates() {
        let cases = [
            [Part(-36, 10), Part(-23, 60), Part(-36, 10)],
            [Part(-72, 10), Part(-36, 10), Part(-23, 60), Part(-36, 10), Part(-72, 10)],
            [Part(-26, 20), Part(-20, 20.1), Part(-26, 20)],
        ]
        for parts in cases { #expect(abs(measure(parts).integrated + 23) <= Self.tolerance) }
    }

    @Test("Tech 3341, 6: five channels, each with its weight") func surround() {
        let measurement = measure([Part([-28, -28, -24, -30, -30], 20)], channels: 5)
        #expect(abs(measurement.integrated + 23) <= Self.tolerance)
    }

    @Test("Tech 3341, 9: short-term loudness is constant after 3 s") func shortTerm() {
        let parts = (0..<5).flatMap { _ in [Part(-20, 1.34), Part(-30, 1.66)] }
        var looks = 0
        measure(parts) { measurement, time in
            guard time >= 3 else { return }
            looks += 1
            #expect(abs(measurement.shortTerm + 23) <= Self.tolerance)
        }
        #expect(looks > 100)
    }

    @Test("Tech 3341, 10: the maximum of the short-term loudness, wherever the burst lies")
    func maximumShortTerm() {
        for i in stride(from: 0, to: 20, by: 3) {
            let measurement = measure([Part(-.infinity, Double(i) * 0.15), Part(-23, 3), Part(-.infinity, 1)])
            #expect(abs(measurement.maximumShortTerm + 23) <= Self.tolerance)
        }
    }

    @Test("Tech 3341, 12: momentary loudness is constant after 1 s") func momentary() {
        let parts = (0..<25).flatMap { _ in [Part(-20, 0.18), Part(-30, 0.22)] }
        measure(parts) { measurement, time in
            if time >= 1 { #expect(abs(measurement.momentary + 23) <= Self.tolerance) }
        }
    }

    @Test("Tech 3341, 13: the maximum of the momentary loudness, wherever the burst lies")
    func maximumMomentary() {
        for i in 0..<20 {
            let measurement = measure([Part(-.infinity, Double(i) * 0.02), Part(-23, 0.4), Part(-.infinity, 1)])
            #expect(abs(measurement.maximumMomentary + 23) <= Self.tolerance)
        }
    }

    @Test(
        "Tech 3341, 15 to 19: true peak of sines whose samples miss it: +0.2, -0.4 dB",
        arguments: [(4.0, 0.0, 0.5, -6.0), (4, 45, 0.5, -6), (6, 60, 0.5, -6), (8, 67.5, 0.5, -6), (4, 45, 1.41, 3)])
    func truePeak(divisor: Double, degrees: Double, amplitude: Double, expected: Double) {
        var measurement = LoudnessMeasurement(sampleRate: Self.rate, channels: 2)
        let samples = (0..<48_000).map { i in
            // Faded in and out, as the document has it, so that the beginning is no overshoot.
            let fade = min(1, Double(min(i, 47_999 - i)) / 4800)
            return Float(fade * amplitude * RenderMath.sin(2 * .pi * Double(i) / divisor + degrees * .pi / 180))
        }
        measurement.add(AudioBlock([samples, samples]))
        #expect(measurement.truePeak <= expected + 0.2 && measurement.truePeak >= expected - 0.4)
    }

    @Test("Tech 3342, 1 to 4: loudness range")
    func range() {
        let cases: [([Double], Double)] = [
            ([-20, -30], 10), ([-20, -15], 5), ([-40, -20], 20), ([-50, -35, -20, -35, -50], 15),
        ]
        for (levels, expected) in cases {
            let measurement = measure(levels.map { Part($0, 20) })
            #expect(abs(measurement.range - expected) <= Self.rangeTolerance)
        }
    }

    /// The text of Tech 3342 by itself, for a sine of 1 kHz whose level changes: its loudness is its level, so the power of
    /// three seconds is the mean of six halves.
    @Test("Tech 3342: where the level changes every half second, the range is that of ten looks a second")
    func rangeOfFastChanges() {
        var random: UInt64 = 7
        let levels = (0..<120).map { _ in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return -45 + 35 * Double(random >> 40) / Double(1 << 24)
        }
        // Tenths of a second.
        let powers = levels.flatMap { level in
            Array(repeating: RenderMath.exp2(level * RenderMath.log2(10) / 10), count: 5)
        }
        func range(every step: Int) -> Double {
            let looks = stride(from: 30, through: powers.count, by: step).map { (end: Int) -> Double in
                powers[(end - 30)..<end].reduce(0, +) / 30
            }
            let mean = looks.reduce(0, +) / Double(looks.count)
            let heard = looks.filter { $0 >= mean / 100 }.sorted()
            let last = Double(heard.count - 1)
            let (low, high) = (heard[Int((last * 0.1).rounded())], heard[Int((last * 0.95).rounded())])
            return 10 * RenderMath.log2(high / low) / RenderMath.log2(10)
        }
        let measured = measure(levels.map { Part($0, 0.5) }).range
        #expect(abs(measured - range(every: 1)) < 0.1)
        #expect(abs(range(every: 1) - range(every: 10)) > 0.15)
    }

    // MARK: The module

    @Test("The module measures what it hears, and changes none of it", arguments: cycleLengths)
    func module(cycles: [Int]) throws {
        let meter = LoudnessMeter()
        let tone = Oscillator(frequency: 1000, level: RenderMath.amplitude(decibels: -23))
        let renderer = try Renderer { context in
            context.run(tone)
            context.run(meter)
            context.output()
        }
        let again = Oscillator(frequency: 1000, level: RenderMath.amplitude(decibels: -23))
        let alone = try Renderer { context in
            context.run(again)
            context.output()
        }
        #expect(meter.reading.momentary == -.infinity && meter.reading.truePeak == -.infinity)
        #expect(render(renderer, frames: 96_000, cycles: cycles) == render(alone, frames: 96_000))
        let reading = meter.reading
        #expect(abs(reading.momentary + 23) <= Self.tolerance && abs(reading.integrated + 23) <= Self.tolerance)
        #expect(abs(reading.truePeak + 23) <= 0.2 && abs(reading.maximumMomentary + 23) <= Self.tolerance)
        #expect(meter.lostFrameCount == 0 && renderer.faultCount == 0)
        meter.restart()
        #expect(meter.reading.integrated == -.infinity)
    }

    @Test("At other sample rates, mono as one loudspeaker or as two, and 0 dB at both", arguments: [44_100.0, 96_000])
    func rates(rate: Double) throws {
        for (isDualMono, expected) in [(false, -26.0), (true, -23)] {
            let meter = LoudnessMeter(channels: 1, isDualMono: isDualMono)
            let tone = Oscillator(frequency: 1000, level: RenderMath.amplitude(decibels: -23))
            let renderer = try Renderer(sampleRate: rate, channels: 1) { context in
                context.run(tone)
                context.run(meter)
                context.output()
            }
            _ = render(renderer, frames: Int(rate))
            #expect(abs(meter.reading.integrated - expected) <= Self.tolerance)
        }
    }

    @Test("The meter counts the frames that it does not measure in time") func lost() throws {
        let meter = LoudnessMeter(seconds: 0.5)
        let source = Constant(0.5)
        let renderer = try Renderer(channels: 1) { context in
            context.run(source)
            context.run(meter)
        }
        // More than the ring holds in one go: the control side cannot have taken it in between.
        var block = AudioBlock(channels: 1, frames: 2_000_000)
        renderer.render(into: &block, isOffline: true)
        #expect(meter.lostFrameCount > 0)
    }
}
