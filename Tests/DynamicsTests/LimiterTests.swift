import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite struct LimiterTests {
    /// The signals of the figure: what a limiter is said to fail at.
    enum Signal: String, CaseIterable, Sendable {
        case quarterRate, gaussian, uniform, signs, clicks, sine, highSine, squares, random

        /// Indicates whether it is as loud at half of the sample rate as anywhere.
        var isWide: Bool { [.gaussian, .uniform, .signs].contains(self) }

        /// Two channels of a sound at 48 kHz, some 12 dB too loud, with silence at its end.
        func samples(_ frames: Int, seed: UInt64 = 1) -> [[Float]] {
            var random = SplitMix(state: seed)
            func uniform() -> Double { Double.random(in: -1...1, using: &random) }
            func gaussian() -> Double { (0..<12).reduce(0.0) { sum, _ in sum + uniform() } / 2 }
            var level = 1.0
            var low = 0.0
            let left = (0..<frames).map { i -> Float in
                if i > frames - 2_000 { return 0 }
                let time = Double(i)
                switch self {
                case .quarterRate:
                    return i / 2_400 % 2 == 0 ? Float(4 * RenderMath.sin(.pi * (time / 2 + 0.25))) : 0
                case .gaussian: return Float(4 * gaussian())
                case .uniform: return Float(4 * uniform())
                case .signs: return uniform() > 0 ? 4 : -4
                case .clicks: return i % 3_001 == 1_000 ? 4 : i % 3_001 == 1_500 ? -3 : 0
                case .sine: return Float(10 * RenderMath.sin(2 * .pi * 997 * time / 48_000))
                case .highSine: return i < 3_000 ? 0 : Float(10 * RenderMath.sin(2 * .pi * 19_001 * time / 48_000))
                case .squares: return RenderMath.sin(2 * .pi * 1_234.5 * time / 48_000) > 0 ? 3 : -3
                case .random:
                    if i % 1_000 == 0 { level = RenderMath.exp(1.5 * uniform()) }
                    low = 0.7 * low + gaussian()
                    return Float(level * low)
                }
            }
            return [left, left.map { -0.7 * $0 }]
        }
    }

    func renderer(
        _ limiter: Limiter, _ input: [[Float]], sampleRate: Double = 48_000, tracks: [[[Float]]] = []
    ) throws -> Renderer {
        let sources = (tracks.isEmpty ? [input] : tracks).map { Playback($0) }
        let layout = StackLayout(slots: 8, channels: 64, frames: 512)
        return try Renderer(
            sampleRate: sampleRate, channels: input.count, auxiliaryOutputs: tracks.map(\.count), layout: layout
        ) { context in
            context.forEach(sources) { context, source in context.run(source) }
            context.run(limiter)
            context.output()
            context.pop()
            for track in tracks.indices.reversed() {
                context.output(to: .auxiliary(track + 1))
                context.pop()
            }
        }
    }

    func play(
        _ limiter: Limiter, _ input: [[Float]], sampleRate: Double = 48_000, cycles: [Int] = [512]
    ) throws -> [[Float]] {
        let renderer = try renderer(limiter, input, sampleRate: sampleRate)
        return render(renderer, frames: input[0].count, cycles: cycles)
    }

    /// A sound later.
    private func delayed(_ samples: [Float], by frames: Int) -> [Float] {
        [Float](repeating: 0, count: frames) + samples.dropLast(frames)
    }

    @Test("A true peak is at most 0.1 dB over the ceiling, at 16 times the rate", arguments: Signal.allCases)
    func ceiling(signal: Signal) throws {
        let output = try play(Limiter(ceiling: -1), signal.samples(24_000))
        let over = TruePeak.decibels(output[0]) + 1
        #expect(over <= 0.1 && over > (signal.isWide ? -0.6 : -0.4), "\(over) dB")
        #expect(TruePeak.decibels(output[1]) < -3.9)
    }

    @Test(
        "A true peak is at most 0.1 dB over the ceiling also of noise up to half of the rate, by an ideal interpolation",
        arguments: [Signal.gaussian, .uniform, .signs])
    func idealPeaks(signal: Signal) throws {
        for seed in 1...UInt64(extent(20, inDebug: 2)) {
            let output = try play(Limiter(ceiling: -1), [signal.samples(24_000, seed: seed)[0]])
            let over = TruePeak.idealDecibels(output[0]) + 1
            #expect(over <= 0.1 && over > -0.7, "\(over) dB: \(seed)")
        }
    }

    @Test(
        "A sound 0.3 dB below the ceiling comes out delayed, bit for bit; noise up to half of the rate 1.2 dB below it",
        arguments: Signal.allCases)
    func transparent(signal: Signal) throws {
        let limiter = Limiter(ceiling: -1)
        let loud = signal.samples(24_000)[0]
        let distance = signal.isWide ? 1.2 : 0.3
        let gain = RenderMath.amplitude(decibels: Float(-1 - distance - TruePeak.decibels(loud)))
        let input = loud.map { $0 * gain }
        let output = try play(limiter, [input])
        #expect(output[0] == delayed(input, by: limiter.latency(at: 48_000)))
        #expect(limiter.gainReduction == 0 && limiter.gainReduction.sign == .plus)
    }

    @Test("Random material of all kinds stays under the ceiling")
    func random() throws {
        // The long form is that of scripts/soak.
        let seconds = ProcessInfo.processInfo.environment["RENDERSTACK_SOAK"] == nil ? 2 : 30
        for seed in 1...UInt64(seconds) {
            var kinds = SplitMix(state: seed)
            let signal = Signal.allCases.randomElement(using: &kinds) ?? .random
            let gain = RenderMath.amplitude(decibels: Float.random(in: -20...30, using: &kinds))
            let look = Double.random(in: 0...0.02, using: &kinds)
            let release = Float.random(in: 0.001...0.5, using: &kinds)
            let input = [signal.samples(48_000, seed: seed)[0].map { $0 * gain }]
            let output = try play(Limiter(ceiling: -3, release: release, lookAhead: look), input)
            let over = TruePeak.decibels(output[0]) + 3
            #expect(over <= 0.1, "\(over) dB: \(signal) \(seed)")
        }
    }

    @Test("It works at every sample rate and with every number of channels", arguments: [1, 10, 8_000, 44_100, 1e6])
    func rates(sampleRate: Double) throws {
        for channels in [1, 2, 3, 64] {
            for isTruePeak in [true, false] {
                let limiter = Limiter(ceiling: -6, isTruePeak: isTruePeak)
                let latency = limiter.latency(at: sampleRate)
                let quiet = Signal.uniform.samples(2_500 + latency)[0].map { $0 / 16 }
                let loud = quiet.map { $0 * 100 }
                let input = (0..<channels).map { $0 == channels - 1 ? loud : quiet }
                let output = try play(limiter, input, sampleRate: sampleRate)
                let ceiling = RenderMath.amplitude(decibels: isTruePeak ? -5.9 : -6)
                #expect(output[channels - 1].allSatisfy { abs($0) <= ceiling })
                #expect(output[channels - 1].contains { abs($0) > 0.5 * ceiling })
                // All channels are turned down alike.
                if channels > 1 {
                    #expect(zip(output[0], output[channels - 1]).allSatisfy { abs($0 * 100 - $1) <= 1e-5 })
                }
                if latency > 0 { #expect(output[0][..<latency].allSatisfy { $0 == 0 }) }
            }
        }
    }

    @Test("Its latency is the look-ahead, and 137 frames for true peaks")
    func latency() {
        #expect(Limiter().latency(at: 48_000) == 240 + 137)
        #expect(Limiter(lookAhead: 0).latency(at: 48_000) == 64 + 137)
        #expect(Limiter(lookAhead: 0, isTruePeak: false).latency(at: 48_000) == 0)
        #expect(Limiter(lookAhead: 0.02).latency(at: 1) == 64 + 137)
    }

    @Test("Limiting samples alone never exceeds the ceiling, and what is at it stays bit for bit")
    func samplePeaks() throws {
        let limiter = Limiter(ceiling: -6, isTruePeak: false)
        #expect(limiter.latency(at: 48_000) == 239)
        let ceiling = RenderMath.amplitude(decibels: -6)
        for signal in Signal.allCases {
            let input = signal.samples(12_000)
            let output = try play(Limiter(ceiling: -6, isTruePeak: false), input)
            #expect(output[0].allSatisfy { abs($0) <= ceiling })
            #expect(output[0].contains { abs($0) > 0.99 * ceiling })
            let most = input[0].reduce(0) { max($0, abs($1)) }
            let soft = input[0].map { min(ceiling, $0 / most * ceiling) }
            #expect(try play(Limiter(ceiling: -6, isTruePeak: false), [soft])[0] == delayed(soft, by: 239))
        }
    }

    @Test("Behind a peak 63 % of the reduction is gone after the release, and all of it after seven times as long")
    func release() throws {
        for seconds: Float in [0.01, 0.05, 0.2] {
            let limiter = Limiter(ceiling: 0, release: seconds, isTruePeak: false)
            var input = [Float](repeating: 0.1, count: 90_000)
            input[1_000] = 4
            let output = try play(limiter, [input])[0]
            let latency = limiter.latency(at: 48_000)
            // The middle of both boxes is half of the look-ahead later than the peak.
            let peak = 1_000 + latency
            #expect(abs(output[peak] - 1) < 1e-5)
            let later = peak + Int(seconds * 48_000)
            let gains = (0..<480).map { output[later + $0] / 0.1 }
            let wanted = Float(1 - 0.75 * RenderMath.exp(-1))
            let found = gains.firstIndex { $0 >= wanted } ?? 0
            #expect(abs(found - 120) <= 6 + Int(seconds * 480 * 0.2), "\(found)")
            #expect(output[peak + Int(7 * seconds * 48_000) + 240] == 0.1)
        }
    }

    @Test("The input gain is in decibels, and the meter shows the reduction that is heard")
    func gain() throws {
        let limiter = Limiter(ceiling: -2, gain: 12, isTruePeak: false)
        let input = [[Float](repeating: 0.9, count: 4_800)]
        let output = try play(limiter, input)[0]
        #expect(abs(output[4_000] - RenderMath.amplitude(decibels: -2)) < 1e-5)
        let wanted = 12 + 2 + RenderMath.decibels(amplitude: 0.9)
        #expect(abs(limiter.gainReduction - wanted) < 1e-3)
        #expect(try play(Limiter(gain: 6), [[0.1] + [Float](repeating: 0, count: 999)])[0].contains(0.1 * 1.9952623))
    }

    @Test("Tracks are turned down as their mix is, and together they are the mix")
    func tracks() throws {
        let tracks = [
            [Signal.uniform.samples(9_000)[0]], Signal.sine.samples(9_000), Signal.clicks.samples(9_000),
        ]
        let limiter = Limiter(tracks: 3)
        let block = try renderer(limiter, [[], []], tracks: tracks).renderOffline(frames: 9_000)
        // The mix on two channels, then the tracks with one, two and two: mono is on both sides.
        let sound = (0..<7).map { block.array($0) }
        for (side, parts) in [(0, [2, 3, 5]), (1, [2, 4, 6])] {
            var worst: Float = 0
            for i in 0..<9_000 {
                let sum = sound[parts[0]][i] + sound[parts[1]][i] + sound[parts[2]][i]
                worst = max(worst, abs(sum - sound[side][i]))
            }
            #expect(worst < 2e-6)
        }
        // The mix is what the limiter makes of the sum.
        let mix = [0, 1].map { (side: Int) -> [Float] in
            (0..<9_000).map { (i: Int) -> Float in tracks[0][0][i] + tracks[1][side][i] + tracks[2][side][i] }
        }
        let alone = try play(Limiter(), mix)
        #expect(largestDifference(sound[0], alone[0]) < 1e-5 && largestDifference(sound[1], alone[1]) < 1e-5)
        #expect(TruePeak.decibels(sound[0]) < -0.9)
    }

    /// All parameters move while the sound is turned down.
    private func performance(isTruePeak: Bool, cycles: [Int]) throws -> [[Float]] {
        let limiter = Limiter(ceiling: -6, isTruePeak: isTruePeak)
        var input = Signal.random.samples(20_000)
        for channel in 0..<2 { for i in 5_000..<9_000 { input[channel][i] *= 0.001 } }
        let renderer = try renderer(limiter, input)
        let moves: [(Int64, @Sendable () -> Void)] = [
            (1_001, { limiter.ceiling.value = -30 }), (2_333, { limiter.release.value = 0.003 }),
            (3_000, { limiter.gain.value = 20 }), (7_777, { limiter.ceiling.value = 3 }),
            (10_000, { limiter.release.value = 2 }), (13_001, { limiter.gain.value = 0 }),
            (3_301, { limiter.attack.value = 0 }), (10_300, { limiter.attack.value = 0.003 }),
        ]
        for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
        return render(renderer, frames: 20_000, cycles: cycles)
    }

    @Test("The length of the cycles changes nothing, bit for bit", arguments: [true, false])
    func cycles(isTruePeak: Bool) throws {
        let reference = try performance(isTruePeak: isTruePeak, cycles: [512])
        for cycles in cycleLengths {
            #expect(try performance(isTruePeak: isTruePeak, cycles: cycles) == reference, "\(cycles)")
        }
    }

    @Test("After any input the limiter sounds again, and never too loud")
    func hostile() throws {
        for value: Float in [.nan, .infinity, -.infinity, 3e38, .leastNonzeroMagnitude, 1_000] {
            for isTruePeak in [true, false] {
                var input = Signal.gaussian.samples(12_000)
                for i in 3_000..<3_010 { input[0][i] = value }
                let output = try play(Limiter(ceiling: 0, isTruePeak: isTruePeak), input)
                #expect(output.allSatisfy { $0.allSatisfy { abs($0) <= 1.01 } })
                #expect(output[0][9_000...].contains { abs($0) > 0.9 })
            }
        }
    }

    @Test("It keeps the contract of all modules", arguments: [true, false])
    func contract(isTruePeak: Bool) {
        let contract = ModuleContract { Limiter(ceiling: -20, release: 0.02, isTruePeak: isTruePeak) }
        #expect(contract.transparent { $0.ceiling.value = 20 }.violations() == [])
    }

    @Test("It keeps the contract with tracks too")
    func contractOfTracks() {
        let contract = ModuleContract { Limiter(ceiling: -20, release: 0.02, tracks: 2) }
        #expect(contract.violations() == [])
    }
}
