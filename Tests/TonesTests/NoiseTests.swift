import RenderStack
import TestSupport
import Testing

@Suite struct NoiseTests {
    static let bandTolerance = 0.5  // dB

    private func renderer(_ noise: Noise, rate: Double = 48_000) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: noise.channelCount) { context in
            context.run(noise)
            context.output()
        }
    }

    /// RMS in dB of full scale.
    private func power(_ samples: [Float]) -> Double {
        decibels((samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)).squareRoot())
    }

    /// The mean cross-spectrum of two signals, in blocks of 16,384 with a raised-cosine window.
    private func spectrum(_ a: [Float], _ b: [Float]) -> [(re: Double, im: Double)] {
        let size = 16_384
        var fft = RealFFT(size: size)
        func transform(_ samples: ArraySlice<Float>) -> (re: [Float], im: [Float]) {
            let windowed = samples.enumerated().map { i, sample in
                sample * (0.5 - 0.5 * RenderMath.cos(turns: Float(i) / Float(size)))
            }
            var re = [Float](repeating: 0, count: size / 2 + 1)
            var im = re
            var reSpan = re.mutableSpan
            var imSpan = im.mutableSpan
            fft.forward(Samples(windowed.span), real: &reSpan, imaginary: &imSpan)
            return (re, im)
        }
        var sums = [(re: Double, im: Double)](repeating: (0, 0), count: size / 2 + 1)
        for start in stride(from: 0, through: a.count - size, by: size) {
            let (x, y) = (transform(a[start..<(start + size)]), transform(b[start..<(start + size)]))
            for k in sums.indices {
                let (p, q, r, s) = (Double(x.re[k]), Double(x.im[k]), Double(y.re[k]), Double(y.im[k]))
                sums[k].re += p * r + q * s
                sums[k].im += q * r - p * s
            }
        }
        return sums
    }

    @Test("White noise is flat within 0.5 dB in each octave, its RMS is -4.77 dB, and it has no DC")
    func white() throws {
        let samples = render(try renderer(Noise(.white, seed: 3)), frames: 1 << 20)[0]
        let density = spectrum(samples, samples).map(\.re)
        let bin = 48_000.0 / 16_384
        let mean = density[8...].reduce(0, +) / Double(density.count - 8)
        var low = 20.0
        while low < 20_000 {
            let band = density[Int((low / bin).rounded())..<Int((min(2 * low, 24_000) / bin).rounded())]
            let level = decibels((band.reduce(0, +) / Double(band.count) / mean).squareRoot())
            #expect(abs(level) < Self.bandTolerance, "from \(low) Hz")
            low *= 2
        }
        #expect(abs(power(samples) + 4.771) < 0.02)
        let sum: Double = samples.reduce(0) { $0 + Double($1) }
        #expect(abs(sum) / Double(samples.count) < 1e-3)
        #expect(samples.allSatisfy { abs($0) <= 1 })
    }

    @Test("Pink noise falls by 3 dB per octave within 0.5 dB from 20 Hz to 20 kHz at 44.1 to 96 kHz; its RMS is -16 dB")
    func pink() throws {
        // It is white noise of the same seed through a filter, the same at all rates. So what the filter does can be
        // measured frequency by frequency, without the chance that is in each of them.
        let white = render(try renderer(Noise(.white, seed: 3)), frames: 1 << 19)[0]
        let pink = render(try renderer(Noise(.pink, seed: 3)), frames: 1 << 19)[0]
        let (cross, power) = (spectrum(pink, white), spectrum(white, white))
        let slope = (0..<cross.count).map { k in
            let (re, im) = (cross[k].re / power[k].re, cross[k].im / power[k].re)
            return decibels((re * re + im * im).squareRoot()) + decibels(Double(max(k, 1)).squareRoot())
        }
        // From 20 Hz of 96 kHz to 20 kHz of 44.1 kHz.
        let range = Int((20.0 / 96_000 * 16_384).rounded(.up))...Int(20_000.0 / 44_100 * 16_384)
        let middle = (slope[range].max()! + slope[range].min()!) / 2
        for k in range { #expect(abs(slope[k] - middle) < 0.3, "bin \(k)") }
        #expect(abs(self.power(pink) + 16) < 0.2)
        #expect(pink.allSatisfy { abs($0) < 1 })
    }

    @Test("Channels and seeds are independent; the same seed is the same noise", arguments: NoiseCore.Color.allCases)
    func independent(color: NoiseCore.Color) throws {
        let count = 1 << 16
        let channels = render(try renderer(Noise(color, channels: 2, seed: 1)), frames: count)
        let other = render(try renderer(Noise(color, seed: 2)), frames: count)[0]
        func correlation(_ a: [Float], _ b: [Float]) -> Double {
            func product(_ a: [Float], _ b: [Float]) -> Double { zip(a, b).reduce(0) { $0 + Double($1.0 * $1.1) } }
            return product(a, b) / (product(a, a) * product(b, b)).squareRoot()
        }
        // Chance would have 0.004 for white noise; the slow parts of pink noise make it more.
        let limit = color == .white ? 0.02 : 0.1
        #expect(abs(correlation(channels[0], channels[1])) < limit)
        #expect(abs(correlation(channels[0], other)) < limit)
        if color == .white {
            #expect(abs(correlation(Array(channels[0].dropLast()), Array(channels[0].dropFirst()))) < limit)
        }
        let again = render(try renderer(Noise(color, channels: 2, seed: 1)), frames: count)
        #expect(again == channels)
    }

    @Test("The cycle length changes nothing", arguments: cycleLengths, NoiseCore.Color.allCases)
    func cycles(lengths: [Int], color: NoiseCore.Color) throws {
        func samples(_ cycles: [Int]) throws -> [[Float]] {
            let noise = Noise(color, level: 0.5, channels: 2)
            let renderer = try renderer(noise)
            try renderer.transaction(at: .sample(700)) { noise.level.value = 1 }
            return render(renderer, frames: 3000, cycles: cycles)
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("It goes on over the end of the 32 bits of a frame's number, and does not repeat there")
    func day() {
        func samples(_ color: NoiseCore.Color, from frame: UInt64, _ parts: [Int]) -> [Float] {
            var kernel = NoiseCore(color)
            kernel.seek(to: frame)
            return parts.flatMap { count in
                var samples = [Float](repeating: 0, count: count)
                var span = samples.mutableSpan
                kernel.render(into: &span)
                return samples
            }
        }
        for color in NoiseCore.Color.allCases {
            let whole = samples(color, from: 0xFFFF_FFFF - 50, [200])
            #expect(samples(color, from: 0xFFFF_FFFF - 50, [1, 49, 1, 1, 20, 128]) == whole)
            #expect(samples(color, from: 0, [100]) != Array(whole[51..<151]))
        }
    }

    @Test("Reset begins anew, and the level glides") func reset() throws {
        let noise = Noise(.pink, channels: 2)
        let renderer = try renderer(noise)
        let first = render(renderer, frames: 1000)
        try renderer.messages.send { context in context.reset(noise) }
        #expect(render(renderer, frames: 1000) == first)
        noise.level.value = 0
        let fading = render(renderer, frames: 1000)[0]
        #expect(fading[0] != 0)
        #expect(fading[480...].allSatisfy { $0 == 0 })
    }
}
