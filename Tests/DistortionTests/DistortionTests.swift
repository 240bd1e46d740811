import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite struct DistortionTests {
    /// All that can be on is on.
    private static func full(times: Int) -> Distortion {
        let distortion = Distortion(.tanh, drive: 6, tone: 5_000, level: -6, mix: 0.7, times: times)
        distortion.bias.value = 0.1
        distortion.ringFrequency.value = 500
        distortion.secondRingFrequency.value = 730
        distortion.ringBalance.value = 0.3
        distortion.ringAmount.value = 0.4
        distortion.linearTerm.value = 0.8
        distortion.squaredTerm.value = 0.5
        distortion.cubicTerm.value = 0.7
        distortion.polynomialMix.value = 0.6
        distortion.holdRate.value = 20_000
        distortion.bits.value = 9
        distortion.decimationMix.value = 0.8
        distortion.echoTime.value = 0.01
        distortion.echoFeedback.value = 0.3
        distortion.echoLevel.value = 0.5
        return distortion
    }

    @Test("It keeps the contract with each curve", arguments: Distortion.Shape.allCases)
    func contract(shape: Distortion.Shape) {
        let contract = ModuleContract { Distortion(shape, drive: 9, tone: 9_000, mix: 0.8, times: 4) }
            .leavingOut(parameters: "shape", because: "it is meant to step")
            .leavingOut(
                parameters: "ringFrequency", "secondRingFrequency", "ringBalance", "linearTerm", "squaredTerm",
                "cubicTerm", "polynomialMix", "decimationMix", "echoTime", "echoFeedback",
                because: "the ring, the polynomial, the lower rate and the echo are off, and the polynomial is x"
            )
            .leavingOut(parameters: "holdRate", "bits", because: "they are off, and begin with a step")
            .transparent { $0.mix.value = 0 }
        let heard = shape == .none ? contract.leavingOut(parameters: "bias", because: "no curve, no offset") : contract
        #expect(heard.violations() == [])
    }

    @Test("It keeps the contract with all that it has", arguments: [1, 2]) func contractOfAll(times: Int) {
        let contract = ModuleContract { Self.full(times: times) }
            .leavingOut(parameters: "shape", because: "it is meant to step")
            .leavingOut(.latency, because: "a sample is held, and heard in the echo")
            .leavingOut(parameters: "holdRate", "bits", because: "a sample that is held or rounded otherwise steps")
            .transparent { $0.mix.value = 0 }
        #expect(contract.violations() == [])
    }

    @Test(
        "A clipped sine folds back little below 20 kHz",
        arguments: [(1, -39.0), (2, -55), (4, -75), (8, -103), (16, -103)])
    func foldsBack(times: Int, most: Double) throws {
        for phase in [0, 0.3, 1.1] {
            let distortion = Distortion(.hardClip, drive: Float(20 * log10(20.0)), times: times)
            let input = sine(9_600, frequency: 5_000, level: 1, phase: phase)
            let output = try play([input], through: distortion)[0]
            let found = foldedBack(output, from: 4_800)
            #expect(found < most, "\(times) times: \(found) dB")
        }
    }

    @Test("The other curves fold back little too", arguments: [Distortion.Shape.softClip, .tanh])
    func othersFoldBack(shape: Distortion.Shape) throws {
        for (times, most) in [(1, -35.0), (4, -75), (8, -103)] {
            let distortion = Distortion(shape, drive: Float(20 * log10(20.0)), times: times)
            let output = try play([sine(9_600, frequency: 5_000, level: 1)], through: distortion)[0]
            let found = foldedBack(output, from: 4_800)
            #expect(found < most, "\(shape) at \(times) times: \(found) dB")
        }
    }

    @Test("A quiet sound passes within 0.1 dB up to 16 kHz, later by the latency", arguments: [2, 4, 8, 16])
    func linear(times: Int) throws {
        for shape in Distortion.Shape.allCases {
            let distortion = Distortion(shape, drive: 0, times: times)
            var impulse = [Float](repeating: 0, count: 600)
            impulse[100] = 0.001
            let output = try play([impulse], through: distortion)[0]
            #expect(unevenness(output, 0.001) < 0.1, "\(shape)")
            let loudest = try #require(output.indices.max { output[$0] < output[$1] })
            #expect(loudest == 100 + distortion.latency(at: 48_000))
        }
    }

    @Test("Without a curve, at the rate itself, every bit passes") func nothing() throws {
        let input = noise(3_000, level: 1)
        let output = try play([input], through: Distortion(.none, drive: 0, times: 1))[0]
        #expect(output[1...] == input[..<2_999])
    }

    @Test("A slow sound is clipped as the curve says") func curves() throws {
        let input = sine(48_000, frequency: 20, level: 4)
        let curves: [(Distortion.Shape, (Double) -> Double)] = [
            (.hardClip, { x in min(max(x, -1), 1) }),
            (.softClip, { x in abs(x) < 1.5 ? x - 4 / 27 * x * x * x : x < 0 ? -1 : 1 }),
            (.tanh, { x in Foundation.tanh(x) }),
            (.fold, { x in 2 / Double.pi * asin(sin(x * Double.pi / 2)) }),
        ]
        for (shape, curve) in curves {
            let distortion = Distortion(shape, drive: 0, times: 1)
            let output = try play([input], through: distortion)[0]
            for i in 1_000..<20_000 {
                let expected: Double = curve(Double(input[i - 1]))
                // At an edge the mean of three samples is a bit rounder.
                #expect(abs(Double(output[i]) - expected) < 0.004, "\(shape) at \(i)")
            }
        }
    }

    @Test("Bits, rate and ring do what they say") func others() throws {
        let crushed = Distortion(.none, drive: 0, times: 1)
        crushed.bits.value = 4
        let input = sine(4_800, frequency: 100, level: 0.9)
        let steps = try play([input], through: crushed)[0]
        for i in 1..<4_800 { #expect(steps[i] == (input[i - 1] * 8).rounded(.toNearestOrEven) / 8) }

        let held = Distortion(.none, drive: 0, times: 1)
        held.holdRate.value = 6_000
        let stairs = try play([input], through: held)[0]
        let changes = (1..<4_800).count { stairs[$0] != stairs[$0 - 1] }
        #expect((595...600).contains(changes))

        let ring = Distortion(.none, drive: 0, times: 4)
        ring.ringFrequency.value = 3_000
        ring.ringAmount.value = 1
        let tones = try play([sine(9_600, frequency: 1_000, level: 0.5)], through: ring)[0]
        let heard = Array(tones[4_800...])
        #expect(
            abs(level(heard, frequency: 2_000) + 12.04) < 0.02 && abs(level(heard, frequency: 4_000) + 12.04) < 0.02)
        #expect(level(heard, frequency: 1_000) < -100)
    }

    @Test("An offset makes even harmonics, and no sound out of silence") func bias() throws {
        let distortion = Distortion(.tanh, drive: 6)
        let odd = try play([sine(9_600, frequency: 1_000, level: 0.5)], through: distortion)[0]
        #expect(level(Array(odd[4_800...]), frequency: 2_000) < -110)
        let lopsided = Distortion(.tanh, drive: 6)
        lopsided.bias.value = 0.5
        let even = try play([sine(9_600, frequency: 1_000, level: 0.5)], through: lopsided)[0]
        #expect(level(Array(even[4_800...]), frequency: 2_000) > -30)
        for shape in Distortion.Shape.allCases {
            let silent = Distortion(shape, drive: 40)
            silent.bias.value = -0.7
            #expect(try play([[Float](repeating: 0, count: 2_000)], through: silent)[0].allSatisfy { $0 == 0 })
        }
    }

    @Test("The length of the cycles changes nothing while everything moves") func cycles() throws {
        func performance(_ cycles: [Int]) throws -> [[Float]] {
            let distortion = Self.full(times: 4)
            let renderer = try renderer([noise(12_000), noise(12_000, seed: 3)], through: distortion)
            let moves: [(Int64, @Sendable () -> Void)] = [
                (1_001, { distortion.drive.value = 30 }), (1_500, { distortion.tone.value = 24_000 }),
                (2_222, { distortion.echoLevel.value = 0 }), (3_000, { distortion.mix.value = 0 }),
                (4_001, { distortion.mix.value = 1 }), (4_500, { distortion.tone.value = 700 }),
                (5_000, { distortion.holdRate.value = 900_000 }), (5_500, { distortion.bits.value = 24 }),
                (6_001, { distortion.shape = .fold }), (6_500, { distortion.ringAmount.value = 0 }),
                (7_000, { distortion.echoLevel.value = 1 }), (7_001, { distortion.echoTime.value = 0.003 }),
                (7_203, { distortion.polynomialMix.value = 0 }), (7_303, { distortion.ringBalance.value = 1 }),
                (7_405, { distortion.decimationMix.value = 0 }), (8_501, { distortion.decimationMix.value = 1 }),
                (8_000, { distortion.holdRate.value = 3_000 }), (8_100, { distortion.bits.value = 3 }),
                (8_303, { distortion.polynomialMix.value = 1 }), (8_403, { distortion.cubicTerm.value = -3 }),
                (8_703, { distortion.secondRingFrequency.value = 4_000 }),
                (9_000, { distortion.shape = .none }), (9_100, { distortion.bias.value = -1 }),
                (10_000, { distortion.ringFrequency.value = 20_000 }), (10_001, { distortion.ringAmount.value = 1 }),
            ]
            for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
            return render(renderer, frames: 12_000, cycles: cycles)
        }
        let reference = try performance([512])
        for cycles in [[1], [7], [100], [10_000], [3, 500, 1, 64, 2_000, 17]] {
            #expect(try performance(cycles) == reference, "\(cycles)")
        }
    }

    @Test("W6: a hard clip that is all there is has the bits it has between parts that come and go")
    func clipsAlone() throws {
        func performance(_ cycles: [Int]) throws -> [[Float]] {
            let distortion = Distortion(.hardClip, drive: 20, times: 1)
            let renderer = try renderer([noise(14_000), noise(14_000, seed: 3)], through: distortion)
            let moves: [(Int64, @Sendable () -> Void)] = [
                (1_001, { distortion.mix.value = 0.5 }), (2_503, { distortion.mix.value = 1 }),
                (3_777, { distortion.level.value = -6 }), (5_000, { distortion.tone.value = 3_000 }),
                (6_503, { distortion.tone.value = 24_000 }), (8_000, { distortion.mix.value = 0 }),
                (9_501, { distortion.mix.value = 1 }), (11_003, { distortion.echoLevel.value = 0.5 }),
                (11_100, { distortion.echoLevel.value = 0 }), (12_503, { distortion.bias.value = 0.2 }),
                (12_600, { distortion.bias.value = 0 }),
            ]
            for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
            return render(renderer, frames: 14_000, cycles: cycles)
        }
        let reference = try performance([512])
        for cycles in [[1], [7], [100], [10_000], [3, 500, 1, 64, 2_000, 17]] {
            #expect(try performance(cycles) == reference, "\(cycles)")
        }
        // Echoes of nothing take the long way.
        let (short, long) = (Distortion(.hardClip, level: -3, times: 1), Distortion(.hardClip, level: -3, times: 1))
        long.echoLevel.value = 1
        long.echoTime.value = 0.5
        let input = [noise(6_000, level: 2)]
        #expect(try play(input, through: short) == play(input, through: long))
    }

    @Test("W6: a hard clip whose parameters are not asked while none is set has the bits of one that asks them")
    func clipsAtRest() throws {
        func performance(_ cycles: [Int], setsAgain: Bool) throws -> [[Float]] {
            let distortion = Distortion(.hardClip, drive: 20, level: -3, times: 1)
            let renderer = try renderer([noise(9_000), noise(9_000, seed: 3)], through: distortion)
            var moves: [(Int64, @Sendable () -> Void)] = [
                // The sound tells whether the ring's phase, the echo and the samples of the past went on unheard.
                (3_001, { distortion.ringAmount.value = 0.5 }), (4_503, { distortion.ringAmount.value = 0 }),
                (5_777, { distortion.echoLevel.value = 0.5 }), (6_203, { distortion.echoLevel.value = 0 }),
                (7_400, { distortion.mix.value = 0.5 }), (7_900, { distortion.shape = .tanh }),
                (8_300, { distortion.shape = .hardClip }), (8_300, { distortion.mix.value = 1 }),
            ]
            // A parameter that gets the same value again is counted too.
            if setsAgain { moves += (1..<170).map { (Int64(51 * $0), { distortion.bits.value = 24 }) } }
            for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
            return render(renderer, frames: 9_000, cycles: cycles)
        }
        let reference = try performance([47], setsAgain: true)
        for cycles in [[1], [64], [512], [3, 500, 1, 64, 2_000, 17]] {
            #expect(try performance(cycles, setsAgain: false) == reference, "\(cycles)")
        }
    }

    @Test(
        "A parameter that is swept from end to end is not rough", arguments: ["drive", "bias", "tone", "level", "mix"])
    func sweeps(name: String) throws {
        /// The energy above 10 kHz of 4,096 frames around the move.
        func energy(from start: Float, to end: Float) throws -> Double {
            let distortion = Distortion(.hardClip, drive: 20)
            let parameter = try #require(distortion.parameters.first { $0.name == name })
            parameter.value = start
            let renderer = try renderer([sine(12_000, frequency: 1_000, level: 0.5)], through: distortion)
            try renderer.transaction(at: .sample(6_000)) { parameter.value = end }
            let sound = render(renderer, frames: 12_000)[0]
            var fft = RealFFT(size: 4_096)
            var real = [Float](repeating: 0, count: fft.bins), imaginary = real
            let window = (0..<4_096).map { i in
                let share: Double = sin(Double.pi * Double(i) / 4_096)
                return sound[5_000 + i] * Float(share * share * share * share)
            }
            var realSpan = real.mutableSpan
            var imaginarySpan = imaginary.mutableSpan
            fft.forward(Samples(window.span), real: &realSpan, imaginary: &imaginarySpan)
            var sum = 0.0
            for bin in 854..<fft.bins { sum += Double(real[bin] * real[bin] + imaginary[bin] * imaginary[bin]) }
            return sum
        }
        let distortion = Distortion()
        let range = try #require(distortion.parameters.first { $0.name == name }).range
        let (low, high) = (range.lowerBound, range.upperBound)
        let fixed = try [0, 0.25, 0.5, 0.75, 1].map { share in
            let value = low + Float(share) * (high - low)
            return try energy(from: value, to: value)
        }
        let worst = try #require(fixed.max()) + 1e-12
        for (start, end) in [(low, high), (high, low)] {
            let found = 10 * log10(try energy(from: start, to: end) / worst)
            #expect(found < 6, "\(name) from \(start) to \(end): \(found) dB")
        }
    }

    @Test("All presets sound, each in its own way, and are silent after silence") func presets() throws {
        var sounds: [[Float]] = []
        for preset in Distortion.Preset.allCases {
            let distortion = Distortion(preset: preset)
            let input = noise(9_600, level: 0.3) + [Float](repeating: 0, count: 200_000)
            let output = try play([input], through: distortion)[0]
            let peak = output.reduce(0) { max($0, abs($1)) }
            #expect(peak > 0.02 && peak < 2, "\(preset): \(peak)")
            #expect(output[201_000...].allSatisfy { abs($0) < 1e-3 }, "\(preset)")
            sounds.append(Array(output[..<9_600]))
        }
        #expect(Set(sounds).count == 22)
        let distortion = Distortion(preset: .multiEverythingIsBroken)
        distortion.load(.multiDecimated1)
        #expect(distortion.shape == .none && distortion.ringAmount.value == 0 && distortion.holdRate.value == 14_000)
    }

    @Test("Sound that is much too loud, or not a number, does no harm", arguments: Distortion.Shape.allCases)
    func hostile(shape: Distortion.Shape) throws {
        for times in [1, 4] {
            let distortion = Distortion(shape, drive: 60, tone: 8_000, times: times)
            var input = noise(16_000, level: 1_000)
            for i in 4_000..<5_000 { input[i] *= 0x1p-139 }
            input[6_000] = .nan
            input[8_000] = -.infinity
            input[9_000] = 3e38
            let renderer = try renderer([input], through: distortion)
            let output = render(renderer, frames: 16_000)[0]
            #expect(renderer.faultCount > 0)
            #expect(output.allSatisfy { $0.isFinite })
            #expect(shape == .none || output.allSatisfy { abs($0) < 3 })
            // A fold that turns a thousand times between two samples has a mean near 0.
            #expect(shape == .fold || output[12_000...].contains { abs($0) > 0.1 })
        }
    }

    @Test("At any rate and with many channels it sounds", arguments: [1.0, 100, 8_000, 192_000, 1_000_000])
    func rates(rate: Double) throws {
        let input = (0..<9).map { noise(2_000, seed: UInt64($0 + 1)) }
        let distortion = Self.full(times: 8)
        let output = try play(input, through: distortion, sampleRate: rate, cycles: [1, 700])
        #expect(output.allSatisfy { $0.allSatisfy { $0.isFinite } && $0.contains { abs($0) > 0.001 } })
    }
}
