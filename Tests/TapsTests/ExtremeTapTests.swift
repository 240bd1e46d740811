import RenderStack
import TestSupport
import Testing

/// Sample rates from one end to the other.
private let rates: [Double] = [1, 8, 15.9, 16, 44_100, 192_000, 1_000_000]

@Suite struct ExtremeTapTests {
    @Test("A level meter takes any hold and any window, at any rate", arguments: rates, [false, true])
    func levelMeter(rate: Double, isMixing: Bool) throws {
        let numbers: [Double] = [.infinity, -.infinity, .nan, -1, 0, 1e-300, 1e300, .leastNonzeroMagnitude]
        for number in numbers {
            let meter = LevelMeter(hold: number, window: number, mixing: isMixing)
            let samples = Constant(number == 0 ? .nan : 0.5)
            let renderer = try Renderer(
                sampleRate: rate, layout: StackLayout(slots: 1, channels: 1, frames: 100)
            ) { context in
                context.run(samples)
                context.run(meter)
            }
            _ = renderer.renderOffline(frames: 1_000)
            // A sample that is not a number is a fault of its own.
            if number != 0 { #expect(renderer.faultCount == 0 && abs(meter.combined.peak + 6.02) < 0.01) }
        }
    }

    @Test("A peak that is held forever is held")
    func held() throws {
        let meter = LevelMeter(hold: .infinity)
        let gain = Gain(1)
        let one = Constant(1)
        let renderer = try Renderer { context in
            context.run(one)
            context.run(gain)
            context.run(meter)
        }
        _ = renderer.renderOffline(frames: 4_800)
        gain.level.value = 0
        _ = renderer.renderOffline(frames: 480_000)
        #expect(meter.combined.peak == 0)
        #expect(meter.combined.rms == -.infinity)
    }

    @Test("A loudness meter measures where it can, and shows silence where it cannot", arguments: rates)
    func loudnessMeter(rate: Double) throws {
        let meter = LoudnessMeter(channels: 1)
        let tone = Constant(.greatestFiniteMagnitude)
        let renderer = try Renderer(sampleRate: rate) { context in
            context.run(tone)
            context.run(meter)
        }
        _ = renderer.renderOffline(frames: 10_000)
        let reading = meter.reading
        if rate < 16 { #expect(reading.integrated == -.infinity && reading.truePeak == -.infinity) }
        renderer.configure(sampleRate: 48_000)
        let quiet = Noise(level: 0.1)
        try renderer.replaceLoop { context in
            context.run(quiet)
            context.run(meter)
        }
        _ = renderer.renderOffline(frames: 48_000)
        #expect(meter.reading.momentary < 0 && meter.reading.momentary > -60)
    }

    @Test("A measurement takes a block of no frames, and fewer than none")
    func fewFrames() {
        var measurement = LoudnessMeasurement(sampleRate: 48_000, channels: 1)
        measurement.add(AudioBlock(channels: 64, frames: 0))
        measurement.add(AudioBlock(channels: 1, frames: 8), frames: -1)
        measurement.add(AudioBlock(channels: 1, frames: 8), frames: .max)
        #expect(measurement.momentary == -.infinity)
    }

    @Test("Taps hand over what is no sound at all", arguments: rates)
    func buffersAndSpectra(rate: Double) throws {
        let buffers = BufferTap(frames: 1, channels: 64, seconds: 0.01)
        let spectra = SpectrumTap(size: 16, hop: .max, channels: 1, channel: 0)
        let nothing = Constant(.nan)
        let renderer = try Renderer(
            sampleRate: rate, layout: StackLayout(slots: 1, channels: 1, frames: 1)
        ) { context in
            context.run(nothing)
            context.run(buffers)
            context.run(spectra)
        }
        _ = renderer.renderOffline(frames: 40)
        var block = AudioBlock(channels: 64, frames: 40)
        #expect(buffers.read(into: &block).frameCount == 40)
        let spectrum = try #require(spectra.latest())
        #expect(spectrum.peaks(-1).isEmpty && spectrum.peaks(.max).isEmpty)
        _ = spectrum.decibels(floor: .nan)
    }
}
