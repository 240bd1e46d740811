import Foundation
import RenderStack
import TestSupport
import Testing

private let rate = 48_000.0

private func sine(_ frequency: Double, frames: Int) -> [Float] {
    (0..<frames).map { Float(0.5 * sin(2 * Double.pi * frequency / rate * Double($0))) }
}

/// Returns the level of sines over everything else, in dB: each is fitted to what the others leave, until nothing changes.
func purity(_ samples: [Float], _ frequencies: [Double]) -> Double {
    var waves = frequencies.map { _ in [Float](repeating: 0, count: samples.count) }
    var rest = samples
    for _ in 0..<3 {
        for (k, frequency) in frequencies.enumerated() {
            for i in rest.indices { rest[i] += waves[k][i] }
            let fit = SineFit(rest, frequency: frequency / rate, from: 0)
            for i in rest.indices {
                let angle = 2 * Double.pi * (frequency / rate * Double(i) + fit.turns)
                waves[k][i] = Float(fit.amplitude * sin(angle))
                rest[i] -= waves[k][i]
            }
        }
    }
    func power(_ x: [Float]) -> Double { x.reduce(0) { $0 + Double($1) * Double($1) } }
    let noise = power(rest)
    return 10 * log10(max(power(samples) - noise, 1e-20) / noise)
}

private struct Change: CustomStringConvertible, Sendable {
    let rate: Double
    let cents: Double
    var ratio: Double { exp2(cents / 1_200) }
    var description: String { "rate \(rate), \(cents) cents" }
}

private let changes =
    [0.8, 1.25, 2].map { Change(rate: $0, cents: 0) }
    + [-1_200.0, -700, -300, 300, 700, 1_200].map { Change(rate: 1, cents: $0) }

/// Rates beyond, and rates and pitches together.
private let more = [Change(rate: 0.25, cents: 0), Change(rate: 0.5, cents: 500), Change(rate: 1.5, cents: -500)]

@Suite("A sound at another tempo and pitch")
struct StretchedTests {
    @Test("A sine stays one, at its pitch and level", arguments: changes)
    private func sines(_ change: Change) {
        for frequency in [220.0, 1_000, 3_517.3] {
            let block = AudioBlock([sine(frequency, frames: 60_000)])
            let out = block.stretched(rate: change.rate, cents: change.cents, sampleRate: rate)
            #expect(out.frameCount == Int((60_000 / change.rate).rounded()))
            let all = out.array(0)
            let middle = Array(all[14_000..<(all.count - 10_000)])
            let new = frequency * change.ratio
            let fit = SineFit(middle, frequency: new / rate, from: 14_000)
            #expect(fit.signalToNoise >= 100 && abs(fit.gain(over: 0.5)) < 0.01, "\(fit.signalToNoise) dB")
            // A pitch that is wrong by 0.1 cents turns by so much between the two ends.
            let half = middle.count / 2
            let first = SineFit(middle[..<half], frequency: new / rate, from: 0)
            let second = SineFit(middle[half...], frequency: new / rate, from: half)
            let turn = second.turns - first.turns
            let limit: Double = new / rate * Double(half) * (exp2(0.1 / 1_200) - 1)
            #expect(abs(turn - turn.rounded()) < limit)
        }
    }

    @Test(
        "A chord of five notes stays one, and one an octave lower, whose notes are closer",
        arguments: changes + [Change(rate: 0.5, cents: 0), Change(rate: 4, cents: 0)])
    private func chord(_ change: Change) {
        let notes = [261.63, 329.63, 392.0, 493.88, 587.33]
        let high = pure(notes, change), low = pure(notes.map { $0 / 2 }, change)
        #expect(high >= 60 && low >= 38, "\(high) and \(low) dB")
    }

    @Test("In the blocks of TimePitch, which are the same for all pitches, a chord stays one at lower pitches too")
    func shortBlocks() {
        let notes = [261.63, 329.63, 392.0, 493.88, 587.33]
        for (cents, least) in [(-300.0, 41.0), (-700, 42), (-1_200, 35)] {
            var engine = TimeStretch(sampleRate: rate, channels: 1)
            let settings = TimeStretch.Settings(rate: 1, cents: cents)
            let out = engine.stretched(AudioBlock([chord(notes, frames: 96_000)]), settings, frames: 96_000).array(0)
            let found = purity(Array(out[12_000..<84_000]), notes.map { $0 * exp2(cents / 1_200) })
            #expect(found >= least, "\(found) dB")
        }
    }

    private func chord(_ notes: [Double], frames: Int) -> [Float] {
        var samples = [Float](repeating: 0, count: frames)
        for note in notes { for (i, x) in sine(note, frames: frames).enumerated() { samples[i] += 0.4 * x } }
        return samples
    }

    private func pure(_ notes: [Double], _ change: Change) -> Double {
        let block = AudioBlock([chord(notes, frames: 72_000)])
        let out = block.stretched(rate: change.rate, cents: change.cents, sampleRate: rate).array(0)
        let middle = Array(out[10_000..<(out.count - 8_000)])
        return purity(middle, notes.map { $0 * change.ratio })
    }

    @Test("Noise and a voice keep their level", arguments: [(0.5, 0.4), (0.8, 0.2), (1.25, 0.5), (2, 1.0)])
    func levels(_ tempo: Double, most: Double) {
        var random = SplitMix(state: 3)
        let hiss = (0..<96_000).map { _ in Float.random(in: -0.5...0.5, using: &random) }
        // Harmonics that go up and down as those of a singer do, by 4 % six times in a second.
        var (voice, turns) = ([Float](repeating: 0, count: 96_000), 0.0)
        for i in voice.indices {
            turns += 160 / rate * (1 + 0.04 * sin(2 * Double.pi * 6 / rate * Double(i)))
            for k in 1..<20 { voice[i] += Float(0.1 * sin(2 * Double.pi * Double(k) * turns)) }
        }
        for samples in [hiss, voice] {
            let out = AudioBlock([samples]).stretched(rate: tempo, sampleRate: rate).array(0)
            func power(_ x: ArraySlice<Float>) -> Double {
                x.reduce(0) { $0 + Double($1) * Double($1) } / Double(x.count)
            }
            let error = 10 * log10(power(out[8_000..<(out.count - 8_000)]) / power(samples[8_000..<88_000]))
            #expect(abs(error) < most, "\(error) dB")
        }
    }

    @Test("A click stays one, at its place", arguments: changes)
    private func click(_ change: Change) {
        var samples = [Float](repeating: 0, count: 60_000)
        samples[30_001] = 1
        let out = AudioBlock([samples]).stretched(rate: change.rate, cents: change.cents, sampleRate: rate).array(0)
        let place = Int((30_001 / change.rate).rounded())
        func energy(_ part: ArraySlice<Float>) -> Float { part.reduce(0) { $0 + $1 * $1 } }
        #expect(energy(out[(place - 96)..<(place + 96)]) >= 0.98 * energy(out[...]))
        let loudest = out.indices.max { abs(out[$0]) < abs(out[$1]) } ?? 0
        #expect(abs(loudest - place) < 48)
    }

    @Test("Attacks of drums come at their place, with nothing before them", arguments: changes + more)
    private func attacks(_ change: Change) {
        // Thumps that fall to 60 Hz, and bursts of noise, which ring into each other.
        var random = SplitMix(state: 5)
        var samples = [Float](repeating: 0, count: 96_000)
        let hits = (0..<7).map { 9_000 + $0 * 11_003 }
        for (k, hit) in hits.enumerated() {
            for i in 0..<9_600 {
                let t = Double(i) / rate
                let angle: Double = 2 * Double.pi * (60 * t + 30 * exp(-40 * t))
                let burst: Double = Double.random(in: -1...1, using: &random) * exp(-40 * t)
                samples[hit + i] += Float(0.6 * (k % 2 == 0 ? sin(angle) * exp(-18 * t) : burst))
            }
        }
        let out = AudioBlock([samples]).stretched(rate: change.rate, cents: change.cents, sampleRate: rate).array(0)
        for hit in hits {
            let place = Int((Double(hit) / change.rate).rounded())
            func energy(_ frames: Range<Int>) -> Double { out[frames].reduce(0) { $0 + Double($1) * Double($1) } }
            // From 1 ms before it to 10 ms before it against the 10 ms behind it.
            let before = 10 * log10(energy((place - 480)..<(place - 48)) / energy(place..<(place + 480)))
            #expect(before < -20, "\(before) dB before \(hit)")
            // The first part of 0.5 ms that is 15 dB below the loudest within 10 ms, or louder.
            let levels = (-40..<20).map { energy((place + 24 * $0)..<(place + 24 * $0 + 24)) }
            let loudest = levels.max() ?? 0
            let first = (levels.firstIndex { $0 > 0.03 * loudest } ?? 0) - 40
            #expect(abs(first) <= 4, "\(0.5 * Double(first)) ms at \(hit)")
        }
    }

    @Test("At a rate of 1 and a pitch of 0 it is the sound itself")
    func identity() {
        var random = SplitMix(state: 1)
        let samples = (0..<40_000).map { _ in Float(random.next() >> 40) * 0x1p-23 - 1 }
        let out = AudioBlock([samples]).stretched(sampleRate: rate).array(0)
        #expect(out.count == samples.count)
        var (error, power) = (0.0, 0.0)
        for i in out.indices {
            error += pow(Double(out[i]) - Double(samples[i]), 2)
            power += pow(Double(samples[i]), 2)
        }
        #expect(10 * log10(error / power) <= -120)
    }

    @Test("Equal channels stay equal; other rates and pitches have their length", arguments: [0.25, 0.7, 4])
    func channels(_ tempo: Double) {
        let samples = jagged(9_000)
        for cents in [-2_400.0, 123, 2_400] {
            let block = AudioBlock([samples, samples, samples])
            let out = block.stretched(rate: tempo, cents: cents, keepsFormants: cents == 123, sampleRate: 44_100)
            #expect(out.frameCount == Int((9_000 / tempo).rounded()))
            #expect(out.array(0) == out.array(1) && out.array(0) == out.array(2))
            #expect(out.peak.isFinite && out.peak > 0.1 && out.peak < 4)
        }
    }

    @Test("Formants stay where they are if asked")
    func formants() {
        // Harmonics of 150 Hz through a resonance at 1,200 Hz.
        func level(_ x: Double) -> Double { 1 / (1 + pow((x - 1_200) / 300, 2)) }
        var samples = [Float](repeating: 0, count: 48_000)
        for k in 1..<40 {
            for i in samples.indices {
                let angle: Double = 2 * Double.pi * 150 * Double(k) / rate * Double(i)
                samples[i] += Float(0.1 * level(150 * Double(k)) * sin(angle))
            }
        }
        func middle(_ keeps: Bool) -> Double {
            let block = AudioBlock([samples]).stretched(cents: 700, keepsFormants: keeps, sampleRate: rate)
            let out = block.array(0)
            var (sum, weights) = (0.0, 0.0)
            for k in 1..<30 {
                let frequency = 150 * exp2(700.0 / 1_200) * Double(k)
                let power = pow(SineFit(out[12_000..<36_000], frequency: frequency / rate, from: 0).amplitude, 4)
                sum += power * frequency
                weights += power
            }
            return sum / weights
        }
        #expect(abs(middle(false) / (1_200 * exp2(700.0 / 1_200)) - 1) < 0.1)
        #expect(abs(middle(true) / 1_200 - 1) < 0.15)
    }
}
