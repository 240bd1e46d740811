import RenderStack
import TestSupport
import Testing

@Suite struct SpectrumTapTests {
    static let levelTolerance = 0.1  // dB
    static let frequencyTolerance = 0.1  // bins

    private func spectrum(
        _ tap: SpectrumTap, _ tones: [(frequency: Double, level: Double)], rate: Double = 48_000, cycles: [Int] = [512]
    ) throws -> Spectrum {
        let sum = Mixer(
            channels: 1, tones.map { MixerSource(Oscillator(frequency: Float($0.frequency), level: Float($0.level))) })
        let renderer = try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(sum)
            context.run(tap)
            context.output()
        }
        _ = render(renderer, frames: tap.size + 1000, cycles: cycles)
        let spectrum = tap.latest()
        return try #require(spectrum)
    }

    private func decibels(_ amplitude: Double) -> Double { 20 * RenderMath.log2(amplitude) / RenderMath.log2(10) }

    @Test(
        "A sine's level within 0.1 dB, its frequency within a tenth of a bin, wherever it lies",
        arguments: Spectrum.Window.allCases, [(1024, 48_000.0), (4096, 44_100), (16_384, 192_000)])
    func sine(window: Spectrum.Window, size: (frames: Int, rate: Double)) throws {
        var worst = (level: 0.0, bins: 0.0)
        for step in stride(from: 0, to: 23, by: extent(1, inDebug: 4)) {
            let bin = 40 + Double(step) * 7.37 + Double(step) / 22
            let frequency = Double(Float(bin * size.rate / Double(size.frames)))
            let level = 0.001 * Double(1 + step * step)
            let tap = SpectrumTap(size: size.frames, window: window)
            let found = try #require(try spectrum(tap, [(frequency, level)], rate: size.rate).peaks(1).first)
            worst.level = max(worst.level, abs(found.decibels - decibels(level)))
            worst.bins = max(worst.bins, abs(found.frequency - frequency) * Double(size.frames) / size.rate)
        }
        #expect(worst.level < Self.levelTolerance)
        #expect(worst.bins < Self.frequencyTolerance)
        // The precision that the documentation promises.
        #expect(worst.level < 0.01 && worst.bins < 0.01)
    }

    @Test(
        "The bins of the flat top show a sine's level within 0.02 dB, also half way between two",
        arguments: [0.0, 0.25, 0.5])
    func flat(offset: Double) throws {
        let tap = SpectrumTap(size: 4096, window: .flatTop)
        let bins = try spectrum(tap, [((100 + offset) * 48_000 / 4096, 0.5)]).magnitudes
        let largest = Double(bins.max() ?? 0)
        #expect(abs(decibels(largest) - decibels(0.5)) < 0.02)
    }

    @Test("Several sines 60 dB apart are all found, and nothing else") func several() throws {
        let tones = [(440.0, 0.5), (1_234.5, 0.0005), (9_876, 0.05)]
        let tap = SpectrumTap(size: 8192)
        let found = try spectrum(tap, tones).peaks(above: -80)
        #expect(found.count == 3)
        for (peak, tone) in zip(found, tones.sorted { $0.1 > $1.1 }) {
            let tolerance: Double = 0.1 * 48_000 / 8192
            #expect(abs(peak.frequency - tone.0) < tolerance)
            #expect(abs(peak.decibels - decibels(tone.1)) < Self.levelTolerance)
        }
    }

    @Test("Against the definition: the transform of the weighed frames, summed in double precision") func definition()
        throws
    {
        for window in Spectrum.Window.allCases {
            let tap = SpectrumTap(size: 256, window: window, channels: 2)
            let source = Chirp(channels: 2)
            let renderer = try Renderer { context in
                context.run(source)
                context.run(tap)
                context.output()
            }
            let output = render(renderer, frames: 1000)
            let spectrum = try #require(tap.latest())
            #expect(spectrum.time.sampleTime == 744 && spectrum.magnitudes.count == 129)
            let terms: [Double] =
                switch window {
                case .hann: [0.5, 0.5]
                case .blackmanHarris: [0.35875, 0.48829, 0.14128, 0.01168]
                case .flatTop: [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368]
                }
            for bin in stride(from: 0, through: 128, by: 8) {
                var (re, im) = (0.0, 0.0)
                for i in 0..<256 {
                    let turn = 2 * Double.pi * Double(i) / 256
                    var weight = 0.0
                    for (k, term) in terms.enumerated() {
                        weight += (k % 2 == 0 ? term : -term) * RenderMath.cos(Double(k) * turn)
                    }
                    let sample = 0.5 * Double(output[0][744 + i] + output[1][744 + i]) * weight
                    re += sample * RenderMath.cos(Double(bin) * turn)
                    im += sample * RenderMath.sin(Double(bin) * turn)
                }
                let scale = (bin == 0 || bin == 128 ? 1 : 2) / (256 * terms[0])
                let expected = (re * re + im * im).squareRoot() * scale
                #expect(abs(Double(spectrum.magnitudes[bin]) - expected) < 1e-6)
            }
        }
    }

    @Test("A spectrum for every hop, the same whatever the cycles", arguments: cycleLengths)
    func hops(cycles: [Int]) async throws {
        func spectra(_ cycles: [Int]) async throws -> [Spectrum] {
            let tap = SpectrumTap(size: 512, hop: 300, channels: 1)
            let source = Chirp(channels: 1)
            let renderer = try Renderer(channels: 1) { context in
                context.run(source)
                context.run(tap)
                context.output()
            }
            let stream = tap.events
            _ = render(renderer, frames: 6000, cycles: cycles)
            _ = tap.latest()
            var found: [Spectrum] = []
            for await spectrum in stream {
                found.append(spectrum)
                if spectrum.time.sampleTime == 6000 - 512 { break }
            }
            return found
        }
        let (found, expected) = (try await spectra(cycles), try await spectra([512]))
        #expect(found.map { $0.time.sampleTime ?? -1 } == stride(from: 88, through: 5488, by: 300).map { $0 })
        #expect(found.map(\.magnitudes) == expected.map(\.magnitudes))
    }

    @Test("One channel of several; nothing before there are enough frames; what it hears is not changed")
    func rest() throws {
        let tap = SpectrumTap(size: 1024, channels: 2, channel: 1)
        let source = Chirp(channels: 2)
        let renderer = try Renderer { context in
            context.run(source)
            context.run(tap)
            context.output()
        }
        let alone = try Renderer { [source = Chirp(channels: 2)] context in
            context.run(source)
            context.output()
        }
        #expect(render(renderer, frames: 1000) == render(alone, frames: 1000))
        #expect(tap.latest() == nil)
        _ = render(renderer, frames: 100)
        #expect(tap.latest()?.time.sampleTime == 76)
    }
}
