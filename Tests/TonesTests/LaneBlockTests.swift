import RenderStack
import TestSupport
import Testing

/// The building blocks for lanes, tried with an array and a loop.
@Suite struct LaneBlockTests {
    private static let rate = 48_000.0

    /// The frames of the first lane; the others run at other frequencies beside it.
    private func frames(_ count: Int, _ body: (Lanes) -> Lanes, frequency: Double) -> [Float] {
        let turns = Lanes((0..<8).map { Float(frequency / Self.rate) * (1 + 0.11 * Float($0)) })
        return (0..<count).map { _ in body(turns)[0] }
    }

    @Test("Phases are turns to the last of 32 bits")
    func phases() {
        for turns: Float in [0, 0.25, -0.25, 0.123456, 0.4999, 3.75, -17.3, 31] {
            let phase = LaneMath.phase(turns: Lanes(repeating: turns))[3]
            let exact = Int64((Double(turns) * 0x1p32).rounded(.toNearestOrEven))
            let difference = Int32(truncatingIfNeeded: Int64(phase) - exact)
            #expect(abs(Int64(difference)) <= 1, "\(turns)")
        }
    }

    @Test("Aliases of saws, squares and triangles, against their fundamental", arguments: [997.7, 7_351.3])
    func aliases(frequency: Double) {
        var saw = WaveLanes()
        var square = WaveLanes()
        var triangle = WaveLanes()
        let waves: [(String, (Lanes) -> Lanes, Double, (Int) -> Double)] = [
            ("saw", { saw.saw($0) }, frequency < 4_000 ? -65 : -55, { 2 / .pi / Double($0) }),
            ("square", { square.pulse($0) }, frequency < 4_000 ? -65 : -52, { $0 % 2 == 1 ? 4 / .pi / Double($0) : 0 }),
            (
                "triangle", { triangle.triangle($0) }, frequency < 4_000 ? -85 : -70,
                { $0 % 2 == 1 ? 8 / .pi / .pi / Double($0 * $0) : 0 }
            ),
        ]
        for (name, wave, limit, harmonic) in waves {
            let spectrum = ToneSpectrum(frames(16_384, wave, frequency: frequency), sampleRate: Self.rate)
            // What lies above 20 kHz is not heard.
            let end = Int(20_000 / spectrum.binWidth)
            var largest = 0.0
            for bin in 8..<end {
                let nearest = (Double(bin) * spectrum.binWidth / frequency).rounded() * frequency
                if abs(Double(bin) * spectrum.binWidth - nearest) > 8 * spectrum.binWidth {
                    largest = max(largest, spectrum.bins[bin])
                }
            }
            let found = decibels(largest / spectrum.amplitude(at: frequency))
            #expect(found < limit, "\(name) at \(frequency) Hz: \(found) dB")
            for number in 1...7 where frequency * Double(number) < 15_000 && harmonic(number) > 0 {
                let error = decibels(spectrum.amplitude(at: frequency * Double(number)) / harmonic(number))
                #expect(abs(error) < 1.2, "\(name) at \(frequency) Hz, harmonic \(number): \(error) dB")
            }
        }
    }

    @Test(
        "A synchronised saw has the harmonics of its pitch alone",
        arguments: [(110.0, 3.3), (440.0, 2.5), (997.7, 1.7)])
    func sync(frequency: Double, ratio: Double) {
        var lead = SyncedSawLanes()
        let samples = frames(16_384, { lead.next($0, ratio: Lanes(repeating: Float(ratio))) }, frequency: frequency)
        let spectrum = ToneSpectrum(samples, sampleRate: Self.rate)
        var (largest, loudest) = (0.0, 0.0)
        for bin in 8..<Int(20_000 / spectrum.binWidth) {
            let nearest = (Double(bin) * spectrum.binWidth / frequency).rounded() * frequency
            loudest = max(loudest, spectrum.bins[bin])
            if abs(Double(bin) * spectrum.binWidth - nearest) > 8 * spectrum.binWidth {
                largest = max(largest, spectrum.bins[bin])
            }
        }
        #expect(decibels(largest / loudest) < -60, "\(decibels(largest / loudest)) dB")
        // The naive wave at a harmonic: the integral of the saw over a turn.
        for harmonic in 1...5 where frequency * Double(harmonic) < 5_000 {
            var (real, imaginary) = (0.0, 0.0)
            let steps = 40_000
            for step in 0..<steps {
                let place = (Double(step) + 0.5) / Double(steps)
                let own = ratio * place + 0.5
                let height = 2 * (own - own.rounded(.down)) - 1
                real += height * RenderMath.cos(2 * .pi * Double(harmonic) * place)
                imaginary += height * RenderMath.sin(2 * .pi * Double(harmonic) * place)
            }
            let exact = 2 * (real * real + imaginary * imaginary).squareRoot() / Double(steps)
            let found = spectrum.amplitude(at: frequency * Double(harmonic))
            #expect(abs(found - exact) < 0.01 * loudest, "harmonic \(harmonic): \(found), not \(exact)")
        }
    }

    @Test("Frequency modulation has the sidebands of the Bessel functions")
    func modulation() {
        var (carrier, modulator) = (SineLanes(), SineLanes())
        let step = LaneMath.phase(turns: Lanes(repeating: Float(3_000 / Self.rate)))
        let slow = Lanes(repeating: Float(375 / Self.rate))
        let samples = (0..<16_384).map { _ in carrier.next(step, plus: (2 / (2 * .pi)) * modulator.next(slow))[5] }
        let spectrum = ToneSpectrum(samples, sampleRate: Self.rate)
        for (number, bessel) in [0.223891, 0.576725, 0.352834, 0.128943, 0.033996].enumerated() {
            for side in [-1.0, 1] {
                let found = spectrum.amplitude(at: 3_000 + side * 375 * Double(number))
                #expect(abs(found - bessel) < 1e-3, "sideband \(number): \(found)")
            }
        }
    }

    @Test("Filters have the responses of the analogue ones through the bilinear transform")
    func filters() {
        for (cutoff, q) in [(100.0, 0.7071), (1_000, 4), (9_000, 0.5), (20_000, 2)] {
            for frequency in [93.75, 937.5, 5_437.5, 15_000] {
                var filter = StateVariableLanes()
                var first = OnePoleLanes()
                filter.tune(turns: Lanes(repeating: Float(cutoff / Self.rate)), q: Lanes(repeating: Float(q)))
                first.tune(turns: Lanes(repeating: Float(cutoff / Self.rate)))
                var tone = SineLanes()
                let step = LaneMath.phase(turns: Lanes(repeating: Float(frequency / Self.rate)))
                var sounds: [[Float]] = [[], [], [], []]
                for frame in 0..<14_336 {
                    let sound = tone.next(step)
                    let outputs = filter.next(sound)
                    let low = first.next(sound)
                    if frame < 4_096 { continue }
                    for (index, lanes) in [outputs.low, outputs.band, outputs.high, low].enumerated() {
                        sounds[index].append(lanes[6])
                    }
                }
                // s = i w with w = tan(π f / rate) / tan(π cutoff / rate); H = 1, s / q, s² over s² + s / q + 1.
                let w = RenderMath.tan(.pi * frequency / Self.rate) / RenderMath.tan(.pi * cutoff / Self.rate)
                let under = ((1 - w * w) * (1 - w * w) + w * w / q / q).squareRoot()
                let expected = [1 / under, w / q / under, w * w / under, 1 / (1 + w * w).squareRoot()]
                for index in 0..<4 {
                    let found = level(sounds[index], frequency: frequency)
                    let error = found - decibels(expected[index])
                    // -100 dB is below the rounding.
                    let isHeard = decibels(expected[index]) > -70
                    #expect(
                        !isHeard || abs(error) < 0.02,
                        "output \(index), \(cutoff) Hz, q \(q), at \(frequency): \(error) dB")
                }
            }
        }
    }

    @Test("Envelopes are exact to the frame, and on the curves of an Envelope")
    func envelopes() {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.02, sustain: 0.4, release: 0.05)
        var lanes = EnvelopeLanes()
        var core = EnvelopeCore()
        let settings = EnvelopeCore.Settings(
            attack: 0.01, decay: 0.02, sustain: 0.4, release: 0.05, sampleRate: Self.rate)
        var gate = Lanes.zero
        var found: [Float] = []
        for frame in 0..<9_600 {
            if frame == 100 { gate[2] = 1 }
            if frame == 700 { gate[5] = 1 }
            if frame == 3_000 { gate[2] = 0 }
            found.append(lanes.next(gate, times, Float(Self.rate))[2])
            if frame == 5_399 { #expect(lanes.isSounding[2]) }
            if frame == 5_401 { #expect(!lanes.isSounding[2] && lanes.isSounding[5]) }
        }
        var expected = [Float](repeating: 1, count: 9_600)
        var span = expected.mutableSpan
        core.multiply(&span, from: 0, to: 100, with: settings)
        core.open()
        core.multiply(&span, from: 100, to: 3_000, with: settings)
        core.close()
        core.multiply(&span, from: 3_000, to: 9_600, with: settings)
        #expect(largestDifference(found, expected) < 2e-5)
        #expect(found[100] == 0 && found[101] > 0 && abs(found[580] - 1) < 1e-6 && found[5_400] == 0)
        // No time at all, and a long one: its last step is not heard.
        var sudden = EnvelopeLanes()
        let none = EnvelopeLanes.Times(attack: 0, decay: -.infinity, sustain: .nan, release: .nan)
        #expect(sudden.next(.one, none, Float(Self.rate))[0] == 0)
        #expect(sudden.next(.zero, none, Float(Self.rate))[0] == 0)
        #expect(!LaneMath.any(sudden.isSounding))
        var slow = EnvelopeLanes()
        let long = EnvelopeLanes.Times(attack: 2, decay: 1, sustain: 1, release: 1)
        var (last, step): (Float, Float) = (0, 0)
        for _ in 0..<100_000 {
            let level = slow.next(.one, long, Float(Self.rate))[0]
            step = max(step, level - last)
            last = level
        }
        #expect(last == 1 && step < 5e-5)
    }

    @Test("Noise is even, of its own in each lane; slow waves have their forms")
    func noise() {
        var noise = NoiseLanes()
        let seeds = PhaseLanes((1...8).map { UInt32($0) &* 0x9E37_79B9 })
        var (sum, square, product) = (Lanes.zero, Lanes.zero, Float(0))
        let count = 100_000
        for _ in 0..<count {
            let sound = noise.next(seeds)
            sum += sound
            square += sound * sound
            product += sound[0] * sound[1]
        }
        for lane in 0..<8 {
            #expect(abs(sum[lane]) / Float(count) < 0.01)
            #expect(abs(square[lane] / Float(count) - 1 / 3) < 0.01)
        }
        #expect(abs(product) / Float(count) < 0.01)
        for (shape, quarters) in [
            (LFOLanes.Shape.sine, [0, 1, 0, -1]), (.triangle, [0, 1, 0, -1]), (.saw, [0, 0.5, -1, -0.5]),
            (.square, [1, 1, -1, -1]),
        ] as [(LFOLanes.Shape, [Float])] {
            var wave = LFOLanes()
            for quarter in quarters {
                #expect(abs(wave.next(shape, turns: Lanes(repeating: 0.25))[7] - quarter) < 1e-6, "\(shape)")
            }
        }
        var random = LFOLanes()
        let values = (0..<400).map { _ in random.next(.random, turns: Lanes(repeating: 0.1), seed: seeds)[3] }
        #expect((38...41).contains(Set(values).count))
    }

    @Test("Delay lines and tables read what they are to read")
    func memory() throws {
        let synth = Polyphony<StringVoice>(voices: 8)
        let renderer = try Renderer(channels: 1) { context in
            context.run(synth)
            context.output()
        }
        for note: Float in [45, 57, 69] {
            synth.play(note, at: .immediately)
            _ = render(renderer, frames: 4_800)
            let samples = render(renderer, frames: 16_384)[0]
            let spectrum = ToneSpectrum(samples, sampleRate: Self.rate)
            let frequency = Double(RenderMath.frequency(midiNote: note))
            // The string's fundamental is where it should be: within a bin.
            let range = Int(0.7 * frequency / spectrum.binWidth)...Int(1.4 * frequency / spectrum.binWidth)
            let top = range.max { spectrum.bins[$0] < spectrum.bins[$1] } ?? 0
            #expect(abs(Double(top) * spectrum.binWidth - frequency) < spectrum.binWidth, "note \(note)")
            synth.releaseAll()
            _ = render(renderer, frames: 4_800)
        }
        let tables = Polyphony<TableVoice>(voices: 8)
        let second = try Renderer(channels: 1) { context in
            context.run(tables)
            context.output()
        }
        tables.play(57)
        let samples = render(second, frames: 9_600)[0]
        #expect(abs(level(samples, frequency: 220) - decibels(0.75)) < 0.01)
        #expect(abs(level(samples, frequency: 660) - decibels(0.25)) < 0.02)
    }
}

/// A plucked string.
struct StringVoice: LaneVoiceWithMemory {
    private var (line, noise, dark) = (DelayLanes(), NoiseLanes(), OnePoleLanes())
    private var left = Lanes(repeating: 1)

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) { dark.tune(turns: Lanes(repeating: 0.3)) }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes, _ memory: inout VoiceMemory) -> Lanes {
        // A turn of noise; what comes back is a little darker. The filter delays by its frame as well.
        let pluck = noise.next(notes.seed).replacing(with: 0, where: left .<= 0)
        left -= notes.turns
        let heard = line.read(1 / notes.turns - 0.37, memory)
        let sound = pluck + 0.999 * dark.next(heard)
        line.write(sound, &memory)
        return 0.5 * sound
    }

    static func lineFrames(at sampleRate: Double) -> Int { Int(sampleRate / 27) }
}

/// Two tables, a quarter of the way between them.
struct TableVoice: LaneVoiceWithMemory {
    private var tone = WavetableLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes, _ memory: inout VoiceMemory) -> Lanes {
        tone.next(notes.step, table: Lanes(repeating: 0.25), memory)
    }

    static func makeTables() -> [[Float]] {
        [1, 3].map { harmonic in (0..<2_048).map { RenderMath.sin(turns: Float($0 * harmonic) / 2_048) } }
    }
}
