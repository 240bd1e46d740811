import RenderStack
import TestSupport
import Testing

@Suite struct OscillatorTests {
    static let levelTolerance = 0.001  // dB
    static let distortionLimit = -120.0  // dB of the tone
    static let harmonicTolerance = 0.5  // dB
    static let aliasLimit = -90.0  // dB of the fundamental

    private func renderer(_ tone: Oscillator, rate: Double = 48_000) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(tone)
            context.output()
        }
    }

    @Test(
        "The frequency and the amplitude that were asked for",
        arguments: [
            (20.0, 44_100.0), (440, 48_000), (1234.5, 48_000), (10_000, 48_000), (23_000, 48_000), (440, 192_000),
        ])
    func known(frequency: Double, rate: Double) throws {
        let tone = Oscillator(frequency: Float(frequency), level: 0.5)
        let samples = render(try renderer(tone, rate: rate), frames: 48_000)[0]
        let expected = 20 * RenderMath.log2(0.5) / RenderMath.log2(10)
        #expect(abs(level(samples, frequency: frequency, sampleRate: rate) - expected) < Self.levelTolerance)
        // A hundredth off it is clearly less: the window is that narrow.
        #expect(level(samples, frequency: frequency * 0.98 - 8, sampleRate: rate) < -60)
    }

    @Test("No harmonics, no DC") func pure() throws {
        let samples = render(try renderer(Oscillator(frequency: 1000)), frames: 48_000)[0]
        for harmonic in 2...10 {
            #expect(level(samples, frequency: 1000 * Double(harmonic)) < Self.distortionLimit)
        }
        let sum = samples.reduce(0) { $0 + Double($1) }
        #expect(abs(sum) / 48_000 < 1e-8)
    }

    @Test("Exact against double precision for a minute") func drift() throws {
        let samples = render(try renderer(Oscillator(frequency: 997)), frames: 48_000 * 60, cycles: [4096])[0]
        // The frequency is what the phase's step stands for.
        let last = samples.count - 1
        for i in [0, 1, 47_999, 1_000_003, last - 1, last] {
            let turns = (997 * Double(i) / 48_000).truncatingRemainder(dividingBy: 1)
            #expect(abs(Double(samples[i]) - RenderMath.sin(2 * .pi * turns)) < 1e-6)
        }
    }

    /// A wave at a width, the part of a turn in which a pulse is high.
    struct Shape: Sendable, CustomTestStringConvertible {
        let wave: Waveform
        var width: Float = 0.5
        var testDescription: String { "\(wave) \(width)" }

        /// The amplitude of a harmonic in the Fourier series of the ideal wave.
        func amplitude(_ harmonic: Int) -> Double {
            let k = Double(harmonic)
            return switch wave {
            case .sine: harmonic == 1 ? 1 : 0
            case .triangle: harmonic % 2 == 1 ? 8 / (.pi * .pi * k * k) : 0
            case .saw: 2 / (.pi * k)
            case .square: 4 / (.pi * k) * abs(RenderMath.sin(.pi * k * Double(width)))
            }
        }
    }

    static let shapes = [
        Shape(wave: .triangle), Shape(wave: .saw), Shape(wave: .square), Shape(wave: .square, width: 0.37),
        Shape(wave: .square, width: 0.1),
    ]

    @Test(
        "Every harmonic up to 20 kHz is that of the ideal wave, and nothing folds back, from 50 Hz to 10 kHz",
        arguments: shapes, [44_100.0, 48_000, 96_000])
    func harmonics(shape: Shape, rate: Double) throws {
        // No divisors of a rate. The highest three are where a harmonic just misses half the rate.
        for frequency in [50.3, 210.3, 997.7, 3001.9, 5503.7, 7351.3, 9973] as [Float] {
            let tone = Oscillator(shape.wave, frequency: frequency, width: shape.width)
            let samples = render(try renderer(tone, rate: rate), frames: frequency < 200 ? 65_536 : 16_384)[0]
            let spectrum = ToneSpectrum(samples, sampleRate: rate)
            let fundamental = shape.amplitude(1)
            var harmonic = 1
            while Double(harmonic) * Double(frequency) < 20_000 {
                let ideal = shape.amplitude(harmonic)
                let real = spectrum.amplitude(at: Double(frequency) * Double(harmonic))
                if ideal > 1e-3 * fundamental / Double(harmonic) {
                    #expect(
                        abs(decibels(real / ideal)) < Self.harmonicTolerance, "harmonic \(harmonic) of \(frequency) Hz")
                } else {
                    #expect(decibels(real / fundamental) < Self.aliasLimit, "harmonic \(harmonic) of \(frequency) Hz")
                }
                harmonic += 1
            }
            let aliases = decibels(spectrum.largest(besideHarmonicsOf: Double(frequency)) / fundamental)
            #expect(aliases < Self.aliasLimit, "\(frequency) Hz")
        }
    }

    @Test("No DC, and the fundamental in phase with the sine", arguments: shapes)
    func phaseAndMean(shape: Shape) throws {
        // 48 periods of 1000 frames: sums over them are exact.
        let tone = Oscillator(shape.wave, frequency: 48, width: shape.width)
        let samples = render(try renderer(tone), frames: 48_000)[0].map(Double.init)
        let sum: Double = samples.reduce(0, +)
        #expect(abs(sum / 48_000) < 1e-6)
        let (sine, cosine) = samples.enumerated().reduce((0.0, 0.0)) { sums, sample in
            let angle = 2 * Double.pi * Double(sample.offset) / 1000
            return (
                sums.0 + sample.element * RenderMath.sin(angle), sums.1 + sample.element * RenderMath.cos(angle)
            )
        }
        // A pulse is high from 0 to its width: the middle of that is where its fundamental peaks.
        let angle = Double.pi / 2 - (shape.wave == .square ? .pi * Double(shape.width) : .pi / 2)
        #expect(abs(2 * sine / 48_000 - shape.amplitude(1) * RenderMath.cos(angle)) < 1e-5)
        #expect(abs(2 * cosine / 48_000 - shape.amplitude(1) * RenderMath.sin(angle)) < 1e-5)
    }

    @Test("The phase parameter is an advance, glides included")
    func phase() throws {
        for wave in Waveform.allCases {
            // 64 frames to the turn.
            let first = Oscillator(wave, frequency: 750)
            let ahead = Oscillator(wave, frequency: 750, phase: 0.25)
            let expected = render(try renderer(first), frames: 2064)[0]
            let renderer = try renderer(ahead)
            #expect(render(renderer, frames: 1000)[0][...] == expected[16..<1016])
            ahead.phase.value = -0.75
            _ = render(renderer, frames: 1000)
            #expect(render(renderer, frames: 48)[0][...] == expected[2016...])
        }
    }

    @Test("Nothing crashes at the ends of the ranges, and a tone that stands still is constant")
    func extremes() throws {
        for wave in Waveform.allCases {
            for frequency in [0, 1e-6, 0.01, 23_520, 96_000] as [Float] {
                for width in [0, 0.01, 0.99, 1] as [Float] {
                    let tone = Oscillator(wave, frequency: frequency, width: width)
                    let renderer = try renderer(tone)
                    let samples = render(renderer, frames: 600, cycles: [100, 3])[0]
                    #expect(samples.allSatisfy { abs($0) < 2.5 })
                    if frequency == 0 { #expect(samples.allSatisfy { $0 == samples[0] }) }
                    #expect(renderer.faultCount == 0)
                }
            }
        }
    }

    @Test("The kernel takes any step, offset and width, and frame by frame is the same as many at once")
    func kernel() {
        for wave in Waveform.allCases {
            let edges = EdgeTable(for: wave)
            for step in [0, 1, 4095, 4096, .max, .min, -1, 3 << 55, -3 << 55, 0x0123_4567_89AB_CDEF] as [Int64] {
                for width in [0, 1, 1 << 63, .max] as [UInt64] {
                    var (whole, single) = (ToneCore(phase: 77), ToneCore(phase: 77))
                    var samples = [Float](repeating: 0, count: 1100)
                    var span = samples.mutableSpan
                    whole.render(wave, step: step, offset: 1 << 62, width: width, edges: edges, into: &span)
                    let others = samples.indices.map { _ in
                        single.next(wave, step: step, offset: 1 << 62, width: width, edges: edges)
                    }
                    #expect(samples == others)
                    #expect(samples.allSatisfy { abs($0) < 3 })
                    #expect(whole.phase == single.phase)
                }
            }
        }
    }

    @Test("The cycle length changes nothing, not even in a glide", arguments: cycleLengths, Waveform.allCases)
    func cycles(lengths: [Int], wave: Waveform) throws {
        func samples(_ cycles: [Int]) throws -> [Float] {
            let tone = Oscillator(wave, frequency: 300, level: 0.2)
            let renderer = try renderer(tone)
            try renderer.transaction(at: .sample(1001)) {
                tone.frequency.value = 5000
                tone.level.value = 0.9
            }
            try renderer.transaction(at: .sample(2003)) { tone.width.value = 0.2 }
            try renderer.transaction(at: .sample(3500)) { tone.phase.value = 0.4 }
            return render(renderer, frames: 6000, cycles: cycles)[0]
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("Reset begins anew", arguments: Waveform.allCases) func reset(wave: Waveform) throws {
        let tone = Oscillator(wave, frequency: 440)
        let renderer = try renderer(tone)
        let first = render(renderer, frames: 1000)[0]
        try renderer.messages.send { context in context.reset(tone) }
        #expect(render(renderer, frames: 1000)[0] == first)
    }

    @Test("No zipper noise: what a glide of a saw's frequency adds is no click")
    func smoothSaw() throws {
        // A glide of 10 ms from 3 kHz to 3.2 kHz: its own spectrum reaches some hundred hertz around the harmonics.
        // A click would show halfway between them.
        let tone = Oscillator(.saw, frequency: 3000)
        let renderer = try renderer(tone)
        try renderer.transaction(at: .sample(8000)) { tone.frequency.value = 3200 }
        let spectrum = ToneSpectrum(render(renderer, frames: 16_384)[0], sampleRate: 48_000)
        for between in [1500.0, 1700] {
            let bins = (Int((between - 100) / spectrum.binWidth)...Int((between + 100) / spectrum.binWidth))
            #expect(bins.allSatisfy { decibels(spectrum.bins[$0]) < -75 })
        }
    }

    @Test("No zipper noise: a glide of the frequency keeps the wave smooth") func smooth() throws {
        let tone = Oscillator(frequency: 200)
        let renderer = try renderer(tone)
        _ = render(renderer, frames: 480)
        tone.frequency.value = 2000
        let samples = render(renderer, frames: 960)[0]
        // No step larger than the steepest slope of the highest tone.
        let steepest = Float(2 * Double.pi * 2000 / 48_000) * 1.001
        for i in 1..<samples.count { #expect(abs(samples[i] - samples[i - 1]) <= steepest) }
    }

    @Test("The limit follows the sample rate, also when it falls") func limits() throws {
        let tone = Oscillator(frequency: 40_000, level: 1)
        let renderer = try renderer(tone, rate: 96_000)
        #expect(level(render(renderer, frames: 9600)[0], frequency: 40_000, sampleRate: 96_000) > -0.01)
        renderer.configure(sampleRate: 44_100)
        _ = render(renderer, frames: 2000)
        let samples = render(renderer, frames: 44_100)[0]
        #expect(level(samples, frequency: 0.49 * 44_100, sampleRate: 44_100) > -0.01)
        #expect(renderer.faultCount == 0)
        let highest: Float = 0.49 * 44_100
        #expect(tone.frequency.range(atSampleRate: 44_100).upperBound == highest)
    }
}
