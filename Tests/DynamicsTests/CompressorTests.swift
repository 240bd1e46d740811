import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite("Compressor")
struct CompressorTests {
    @Test("A compressor keeps the contract of all modules, in every way to make one")
    func contract() {
        let plain = ModuleContract { Compressor(threshold: -15, hold: 0.002) }
            .transparent { $0.ratio.value = 1 }
        #expect(plain.violations() == [])
        let late = ModuleContract {
            Compressor(
                threshold: -15, hold: 0.001, detector: .rms(seconds: 0.005),
                key: .filtered(highPass: 200, lowPass: 5_000), isLinked: false, lookAhead: 0.003)
        }
        .transparent { $0.mix.value = 0 }
        #expect(late.violations() == [])
        let ducking = ModuleContract { Compressor(threshold: -15, hold: 0.001, key: .below, lookAhead: 0.002) }
            .transparent { $0.ratio.value = 1 }
        #expect(ducking.violations() == [])
    }

    /// Settings of curves.
    private static let curves: [(threshold: Double, ratio: Double, knee: Double)] = [
        (-18, 4, 6), (-40, 2, 0), (-6, 20, 12), (0, 100, 40), (-60, 1.5, 24),
    ]

    @Test("The static curve is that of the formula within 0.001 dB, from -80 to +12 dB")
    func staticCurve() throws {
        for curve in Self.curves {
            var worst = 0.0
            for step in 0...46 {
                let input = -80 + 2 * Double(step)
                let compressor = Compressor(
                    threshold: Float(curve.threshold), ratio: Float(curve.ratio), knee: Float(curve.knee), attack: 0,
                    release: 0)
                let sound = try play([[Float](repeating: Float(factor(input)), count: 600)], through: compressor)
                let slope = 1 - 1 / curve.ratio
                let expected = input - reduction(over: input - curve.threshold, slope: slope, knee: curve.knee)
                worst = max(worst, abs(decibels(sound[0][599]) - expected))
            }
            #expect(worst < 0.001, "\(curve): \(worst) dB")
        }
    }

    @Test("A tone's peak, held, and its RMS are on the curve within 0.05 dB")
    func tones() throws {
        for curve in Self.curves {
            for step in 0...10 {
                let input = -80 + 9.2 * Double(step)
                let tone = sine(48_000, frequency: 997, level: factor(input))
                for (detector, level) in [(LevelDetector.peak, input), (.rms(seconds: 0.1), input - 3.0103)] {
                    let compressor = Compressor(
                        threshold: Float(curve.threshold), ratio: Float(curve.ratio), knee: Float(curve.knee),
                        attack: 0.005, release: 0.02, hold: 0.01, detector: detector)
                    let sound = try play([tone], through: compressor)[0]
                    let peak = sound[47_000...].reduce(0) { max($0, abs($1)) }
                    let slope = 1 - 1 / curve.ratio
                    let expected = input - reduction(over: level - curve.threshold, slope: slope, knee: curve.knee)
                    let error = abs(decibels(peak) - expected)
                    #expect(error < 0.05, "\(curve), \(input) dB, \(detector): \(error) dB")
                }
            }
        }
    }

    /// The gain in dB at each frame of a compressor whose key jumps between two levels.
    private func gains(_ compressor: Compressor, rate: Double, frames: Int, up: Int, down: Int) throws -> [Double] {
        let key = (0..<frames).map { Float($0 >= up && $0 < down ? 1 : 0.001) }
        let sound = [[Float](repeating: 0.5, count: frames)]
        return try play(sound, key: [key], through: compressor, sampleRate: rate)[0].map { decibels($0 / 0.5) }
    }

    @Test("In the attack and in the release the gain goes 1 - 1/e of the way in dB, within 1 % of the time")
    func times() throws {
        for (rate, attack, release) in [(48_000.0, 0.01, 0.15), (44_100, 0.001, 0.05), (96_000, 0.1, 0.02)] {
            let up = 1_000
            let down = up + Int(rate * attack * 14)
            let compressor = Compressor(
                threshold: -24, ratio: 4, knee: 0, attack: Float(attack), release: Float(release), key: .below)
            let frames = down + Int(rate * release * 3)
            let gains = try gains(compressor, rate: rate, frames: frames, up: up, down: down)
            // Up to -18 dB. The first frame of the key counts.
            let share = 1 - exp(-1.0)
            let risen = try #require(gains.firstIndex { $0 <= -18 * share })
            #expect(abs(Double(risen + 1 - up) / rate / attack - 1) < 0.01 + 1 / rate / attack, "attack \(attack)")
            let fallen = try #require(gains[down...].firstIndex { $0 >= -18 * (1 - share) })
            #expect(abs(Double(fallen + 1 - down) / rate / release - 1) < 0.01, "release \(release)")
            // And the whole way is the exponential.
            for frame in stride(from: down, to: frames, by: 97) {
                let expected = -18 * exp(-Double(frame + 1 - down) / rate / release)
                #expect(abs(gains[frame] - expected) < 0.01)
            }
        }
    }

    @Test("The hold keeps the reduction for its time, and for less than a millisecond more")
    func hold() throws {
        for (rate, hold) in [(48_000.0, 0.05), (44_100, 0.003), (192_000, 0.02)] {
            for down in [5_000, 5_003, 5_011] {
                let compressor = Compressor(
                    threshold: -24, ratio: 4, knee: 0, attack: 0, release: 0.01, hold: Float(hold), key: .below)
                let gains = try gains(compressor, rate: rate, frames: 20_000, up: 100, down: down)
                let end = try #require(gains[down...].firstIndex { $0 > -17.999 })
                let time = Double(end - down) / rate
                #expect(time >= hold - 1 / rate && time < hold + 0.00075, "\(time) s for \(hold)")
            }
        }
    }

    @Test("With the look-ahead the sound and its key are later, and the gain is not")
    func lookAhead() throws {
        let compressor = Compressor(
            threshold: -24, ratio: 4, knee: 0, attack: 0, release: 0.01, key: .below, lookAhead: 0.005)
        #expect(compressor.latency(at: 48_000) == 240 && compressor.latency(at: 44_100) == 221)
        let (sound, key) = (noise(4_000), (0..<4_000).map { Float($0 >= 1_000 ? 1 : 0) })
        let output = try play([sound], key: [key], through: compressor)[0]
        let gain = Float(factor(-18))
        for frame in 0..<4_000 {
            let expected = frame < 240 ? 0 : sound[frame - 240] * (frame >= 1_000 ? gain : 1)
            // The attack takes a few frames.
            if frame < 1_000 || frame >= 1_016 { #expect(abs(output[frame] - expected) < 1e-5) }
        }
        let keys = try play([sound], key: [key], through: Compressor(key: .below, lookAhead: 0.005), keepsKey: true)
        let late: [Float] = silence(240) + key[..<3_760]
        #expect(keys[0] == late)
        let same = try play([sound], key: [key], through: Compressor(key: .below), keepsKey: true)
        #expect(same[0] == key)
    }

    @Test("Silence gives zeros, and the mix is that of the dry sound and the compressed one")
    func silenceAndMix() throws {
        let silence = [[Float](repeating: 0, count: 2_000)]
        #expect(try play(silence, through: Compressor(makeUp: 24, lookAhead: 0.001))[0].allSatisfy { $0 == 0 })
        let sound = noise(4_000)
        let wet = try play([sound], through: Compressor(threshold: -30))[0]
        let mixed = try play([sound], through: Compressor(threshold: -30, mix: 0.25))[0]
        for frame in sound.indices {
            #expect(abs(mixed[frame] - (0.75 * sound[frame] + 0.25 * wet[frame])) < 1e-6)
        }
    }

    @Test("Linked channels have one gain, by the loudest; others have their own")
    func linking() throws {
        let (loud, soft) = (noise(4_000), noise(4_000, seed: 7, level: 0.01))
        let alone = try play([loud], through: Compressor(threshold: -30, hold: 0.01))
        let linked = try play([loud, soft], through: Compressor(threshold: -30, hold: 0.01))
        let apart = try play([loud, soft], through: Compressor(threshold: -30, hold: 0.01, isLinked: false))
        #expect(linked[0] == alone[0] && apart[0] == alone[0])
        #expect(apart[1] == soft)
        for frame in 0..<4_000 {
            #expect(abs(linked[1][frame] - soft[frame] * alone[0][frame] / loud[frame]) < 1e-6)
        }
        // Of a key in mono all channels take their gain, and a sound in mono takes it from all channels of its key.
        let ducked = try play(
            [loud, loud], key: [soft], through: Compressor(threshold: -60, key: .below, isLinked: false))
        #expect(ducked[0] == ducked[1] && ducked[0] != loud)
        let one = try play(
            [loud], key: [soft, loud], through: Compressor(threshold: -30, key: .below, isLinked: false))
        #expect(one == (try play([loud], key: [loud], through: Compressor(threshold: -30, key: .below))))
    }

    @Test("A filtered key hears what its filters let through")
    func filteredKey() throws {
        for (frequency, isHeard) in [(100.0, false), (3_000, true), (15_000, false)] {
            let compressor = Compressor(
                threshold: -20, ratio: 10, knee: 0, attack: 0.001, release: 0.1, hold: 0.02,
                key: .filtered(highPass: 1_500, lowPass: 6_000))
            _ = try play([sine(24_000, frequency: frequency, level: 0.5)], through: compressor)
            let filters = [(FilterShape.highPass, 1_500.0), (.lowPass, 6_000)].map { shape, cutoff in
                FilterCoefficients(shape, frequency: cutoff, sampleRate: 48_000)
                    .magnitude(at: frequency, sampleRate: 48_000)
            }
            let level = 20 * log10(0.5 * filters[0] * filters[1])
            let expected = reduction(over: level + 20, slope: 0.9, knee: 0)
            #expect(abs(Double(compressor.gainReduction) - expected) < 0.15, "\(frequency)")
            #expect((expected > 1) == isHeard)
        }
    }

    @Test("Control code sees the reduction, and nothing after a reset")
    func reading() throws {
        let compressor = Compressor(threshold: -20, ratio: 4, knee: 0, attack: 0, isLinked: false)
        #expect(compressor.gainReduction == 0 && compressor.gainReductions == [])
        let (loud, soft) = ([Float](repeating: 1, count: 600), [Float](repeating: 0.01, count: 600))
        let source = Playback([loud, soft])
        let renderer = try Renderer(channels: 2) { context in
            context.run(source)
            context.run(compressor)
            if context.sampleTime >= 600 { context.reset(compressor) }
            context.output()
        }
        _ = render(renderer, frames: 600, cycles: [600])
        #expect(abs(compressor.gainReduction - 15) < 0.001)
        #expect(compressor.gainReductions.count == 2 && compressor.gainReductions[1] == 0)
        _ = render(renderer, frames: 64)
        #expect(compressor.gainReduction == 0)
    }

    @Test("Without a buffer below there is silence and a fault, as for every module that takes two")
    func missingKey() throws {
        let compressor = Compressor(key: .below)
        #expect(compressor.stackEffect == StackEffect(pops: 2, pushes: 2))
        #expect(Compressor().stackEffect == .edits)
        #expect(throws: RenderLoopError.self) {
            _ = try Renderer { context in
                context.push(channels: 2)
                context.run(compressor)
                context.output()
            }
        }
    }

    @Test("A key that is no number, or too loud, leaves no trace in the sound")
    func hostileKeys() throws {
        for bad in [Float.nan, .infinity, -.infinity, 1e30, .greatestFiniteMagnitude] {
            for key in [KeySignal.below] {
                for detector in [LevelDetector.peak, .rms(seconds: 0.01)] {
                    let compressor = Compressor(release: 0.05, detector: detector, key: key)
                    var side = [Float](repeating: 0, count: 60_000)
                    side[100] = bad
                    let sound = noise(60_000)
                    let source = Playback([sound]), other = Playback([side])
                    let renderer = try Renderer(channels: 1) { context in
                        context.run(other)
                        context.run(source)
                        context.run(compressor)
                        context.output()
                    }
                    let output = render(renderer, frames: 60_000)[0]
                    #expect(output.allSatisfy { $0.isFinite })
                    #expect(largestDifference(Array(output[59_000...]), Array(sound[59_000...])) < 1e-3)
                }
            }
        }
    }
}
