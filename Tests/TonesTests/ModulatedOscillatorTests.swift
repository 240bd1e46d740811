import RenderStack
import TestSupport
import Testing

@Suite struct ModulatedOscillatorTests {
    private func renderer(
        _ tone: ModulatedOscillator, channels: Int = 1, by modulator: some Generator
    ) throws -> Renderer {
        try Renderer(sampleRate: 48_000, channels: channels) { context in
            context.run(modulator)
            context.run(tone)
            context.output()
        }
    }

    private func plain(_ wave: Waveform, frequency: Float) throws -> [Float] {
        let tone = Oscillator(wave, frequency: frequency)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(tone)
            context.output()
        }
        return render(renderer, frames: 2000)[0]
    }

    @Test("Without modulation it is the plain oscillator, bit for bit", arguments: Waveform.allCases)
    func transparent(wave: Waveform) throws {
        let tone = ModulatedOscillator(wave, frequency: 1234.5, deviation: 100)
        let samples = render(try renderer(tone, by: Constant(0)), frames: 2000)[0]
        #expect(try samples == plain(wave, frequency: 1234.5))
    }

    @Test("A modulator of 1 adds the deviation, and through zero the wave runs backwards")
    func linear() throws {
        let up = ModulatedOscillator(.saw, frequency: 500, deviation: 250)
        #expect(try render(renderer(up, by: Constant(1)), frames: 2000)[0] == plain(.saw, frequency: 750))
        let back = ModulatedOscillator(.sine, frequency: 500, deviation: -1250)
        let samples = try render(renderer(back, by: Constant(1)), frames: 2000)[0]
        #expect(try largestDifference(samples, plain(.sine, frequency: 750).map { -$0 }) < 3e-7)
    }

    @Test("Sidebands of frequency modulation are Bessel functions of the index")
    func sidebands() throws {
        // Index 2: deviation over the modulator's frequency. J0…J4 of 2, from tables.
        let tone = ModulatedOscillator(.sine, frequency: 6000, deviation: 1000)
        let samples = render(try renderer(tone, by: Oscillator(frequency: 500)), frames: 16_384)[0]
        let spectrum = ToneSpectrum(samples, sampleRate: 48_000)
        for (order, expected) in [0.22389, 0.57672, 0.35283, 0.12894, 0.03400].enumerated() {
            for side in [-1.0, 1] {
                let amplitude = spectrum.amplitude(at: 6000 + side * 500 * Double(order))
                #expect(abs(amplitude - expected) < 5e-4, "sideband \(order)")
            }
        }
    }

    @Test("The tone goes to all channels; what is no number stands still")
    func channels() throws {
        let tone = ModulatedOscillator(.saw, frequency: 700, deviation: 300)
        let channels = render(try renderer(tone, channels: 2, by: Noise(channels: 2)), frames: 1003)
        #expect(channels[0] == channels[1])
        #expect(ToneCore.step(frequency: .nan, sampleRate: 48_000) == 0)
        let most = ToneCore.step(frequency: 0.49, sampleRate: 1)
        #expect(ToneCore.step(frequency: .infinity, sampleRate: 48_000) == most)
        #expect(ToneCore.step(frequency: -1e30, sampleRate: 48_000) == -most)
    }

    @Test("The cycle length changes nothing", arguments: cycleLengths) func cycles(lengths: [Int]) throws {
        func samples(_ cycles: [Int]) throws -> [Float] {
            let tone = ModulatedOscillator(.square, frequency: 300, deviation: 900)
            let renderer = try renderer(tone, by: Oscillator(.saw, frequency: 77))
            try renderer.transaction(at: .sample(1001)) {
                tone.frequency.value = 800
                tone.deviation.value = -4000
            }
            return render(renderer, frames: 3000, cycles: cycles)[0]
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("Reset begins anew") func reset() throws {
        let tone = ModulatedOscillator(.triangle, frequency: 440)
        let renderer = try renderer(tone, by: Constant(1))
        let first = render(renderer, frames: 1000)[0]
        try renderer.messages.send { context in context.reset(tone) }
        #expect(render(renderer, frames: 1000)[0] == first)
    }
}
