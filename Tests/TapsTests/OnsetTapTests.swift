import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// A drum kit made by arithmetic.
private struct Drums {
    var samples: [Float]
    var hits: [Int] = []
    let rate: Double
    private var dice = SplitMix(state: 11)

    init(seconds: Double, rate: Double) {
        samples = Array(repeating: 0, count: Int(seconds * rate))
        self.rate = rate
    }

    enum Drum { case kick, snare, hat }

    mutating func hit(_ drum: Drum, at seconds: Double, gain: Double = 1) {
        let first = Int((seconds * rate).rounded())
        guard first < samples.count else { return }
        hits.append(first)
        var turns = 0.0
        var last = 0.0
        for i in 0..<Int(0.4 * rate) where first + i < samples.count {
            let time = Double(i) / rate
            let noise = Double.random(in: -1...1, using: &dice)
            var sample: Double
            switch drum {
            case .kick:
                turns += (50 + 150 * RenderMath.exp(-time / 0.02)) / rate
                sample = 0.8 * RenderMath.sin(2 * .pi * turns) * RenderMath.exp(-time / 0.08)
            case .snare:
                sample = 0.4 * noise * RenderMath.exp(-time / 0.05)
                sample += 0.4 * RenderMath.sin(2 * .pi * 190 * time) * RenderMath.exp(-time / 0.06)
            case .hat:
                sample = 0.15 * (noise - last) * RenderMath.exp(-time / 0.02)
                last = noise
            }
            // It fades out: where a drum were cut off, there would be one more attack.
            samples[first + i] += Float(gain * sample * (1 - time / 0.4))
        }
    }

    /// Kick on one and three, snare on two and four, a hat on every half beat.
    mutating func rock(tempo: Double, from start: Double = 0.5) {
        let beat = 60 / tempo
        var count = 0
        while start + Double(count) * beat / 2 < Double(samples.count) / rate - 0.1 {
            let time = start + Double(count) * beat / 2
            if count % 2 == 0 { hit(count % 4 == 0 ? .kick : .snare, at: time) }
            hit(.hat, at: time, gain: count % 2 == 0 ? 1 : 0.7)
            count += 1
        }
    }
}

@Suite struct OnsetTapTests {
    private func onsets(
        _ samples: [Float], rate: Double = 48_000, cycles: [Int] = [512], _ tap: OnsetTap
    ) throws -> [OnsetTap.Onset] {
        try play(samples, rate: rate, cycles: cycles, through: tap, lookingEvery: Int(rate)) { tap.read() }
    }

    /// Returns the frames that were found, those that should have been and were not, and the largest distance.
    private func compare(_ found: [OnsetTap.Onset], _ hits: [Int], rate: Double, until end: Int)
        -> (missed: Int, extra: Int, worst: Double)
    {
        let hits = Set(hits).filter { $0 < end - Int(0.1 * rate) }
        let frames = found.compactMap(\.time.sampleTime).map(Int.init).filter { $0 < end - Int(0.1 * rate) }
        var worst = 0.0
        var met = Set<Int>()
        for frame in frames {
            guard let nearest = hits.min(by: { abs($0 - frame) < abs($1 - frame) }) else { continue }
            let distance = Double(abs(nearest - frame)) / rate
            if distance < 0.015 {
                met.insert(nearest)
                worst = max(worst, distance)
            }
        }
        return (hits.count - met.count, frames.count - met.count, worst)
    }

    @Test("Drums: each attack within 3 ms, and none that is none", arguments: [44_100.0, 48_000, 96_000])
    func drums(rate: Double) throws {
        for tempo in rate == 48_000 ? [73.0, 190] : [120] {
            var drums = Drums(seconds: 5, rate: rate)
            drums.rock(tempo: tempo)
            let found = try onsets(drums.samples, rate: rate, OnsetTap(channels: 1))
            let (missed, extra, worst) = compare(found, drums.hits, rate: rate, until: drums.samples.count)
            #expect(
                missed == 0 && extra == 0 && worst < 0.003, "measured: \(missed) missed, \(extra) extra, \(worst) s")
        }
    }

    @Test("Strings that ring on: each attack within 3 ms") func strings() throws {
        var samples = [Float](repeating: 0, count: 48_000 * 4)
        var hits: [Int] = []
        for (i, note) in [60, 64, 67, 72, 55, 59, 62, 48, 69, 65, 60, 71].enumerated() {
            let first = 3_000 + Int(14_411.7 * Double(i))
            hits.append(first)
            let frequency = 440 * RenderMath.exp2((Double(note) - 69) / 12)
            for n in 0..<(samples.count - first) {
                let time = Double(n) / 48_000
                let attack = min(1, time / 0.002)
                var sum = 0.0
                for k in 1...8 {
                    sum +=
                        RenderMath.sin(2 * .pi * frequency * Double(k) * time) / Double(k)
                        * RenderMath.exp(-time * Double(k) / 0.5)
                }
                samples[first + n] += Float(0.2 * attack * sum)
            }
        }
        let found = try onsets(samples, OnsetTap(channels: 1))
        let (missed, extra, worst) = compare(found, hits, rate: 48_000, until: samples.count)
        #expect(missed == 0 && extra == 0 && worst < 0.003, "measured: \(missed) missed, \(extra) extra, \(worst) s")
    }

    @Test("The tempo of a drum pattern within 1 % from 60 to 200 BPM, after eight beats")
    func tempo() throws {
        var worst = 0.0
        for whole in stride(from: 60, through: 200, by: extent(10, inDebug: 35)) {
            let tempo = Double(whole)
            var drums = Drums(seconds: 0.6 + 12 * 60 / tempo, rate: 24_000)
            drums.rock(tempo: tempo)
            let tap = OnsetTap(channels: 1)
            let found = try onsets(drums.samples, rate: 24_000, tap)
            #expect(tap.tempo != nil)
            let eight = Int64(24_000 * (0.5 + 480 / tempo))
            let late = found.filter { ($0.time.sampleTime ?? 0) > eight }
            #expect(!late.isEmpty)
            for onset in late {
                let off = abs((onset.tempo ?? 0) / tempo - 1)
                worst = max(worst, off)
                #expect(off < 0.01, "\(tempo) BPM: \(onset.tempo ?? 0)")
            }
        }
    }

    @Test("The tempo follows a change within ten seconds") func change() throws {
        var drums = Drums(seconds: 20, rate: 24_000)
        let beat = { (time: Double) in time < 8 ? 0.5 : 60 / 95 }
        var (time, count) = (0.5, 0)
        while time < 19.5 {
            drums.hit(count % 2 == 0 ? .kick : .snare, at: time)
            time += beat(time)
            count += 1
        }
        let tap = OnsetTap(channels: 1)
        let found = try onsets(drums.samples, rate: 24_000, tap)
        let before = try #require(found.last { ($0.time.sampleTime ?? 0) < 8 * 24_000 }?.tempo)
        let after = try #require(tap.tempo)
        #expect(abs(before - 120) < 1.2 && abs(after - 95) < 0.95, "\(before), \(after)")
    }

    @Test("Steady noise, tones and silence have no attack behind their beginning; a fade-in is none either")
    func steady() throws {
        var dice = SplitMix(state: 5)
        let noise = (0..<96_000).map { _ in Float.random(in: -0.5...0.5, using: &dice) }
        #expect(try onsets(noise, OnsetTap(channels: 1)).map(\.time.sampleTime).allSatisfy { ($0 ?? 0) < 144 })
        let tone = (0..<96_000).map { 0.5 * Float(RenderMath.sin(0.05 * Double($0))) }
        #expect(try onsets(tone, OnsetTap(channels: 1)).count == 1)
        let vibrato = (0..<96_000).map { i -> Float in
            let time = Double(i) / 48_000
            return 0.5 * Float(RenderMath.sin(2 * .pi * 440 * time + 3 * RenderMath.sin(2 * .pi * 6 * time)))
        }
        #expect(try onsets(vibrato, OnsetTap(channels: 1)).count == 1)
        #expect(try onsets(Array(repeating: 0, count: 48_000), OnsetTap(channels: 1)).isEmpty)
    }

    @Test(
        "Cycles of any length give the same attacks, as events and by reading",
        arguments: [[64], [3, 500, 1, 64, 2_000, 17]])
    func cycles(cycles: [Int]) async throws {
        var drums = Drums(seconds: 2, rate: 48_000)
        drums.rock(tempo: 140)
        let expected = try onsets(drums.samples, OnsetTap(channels: 1))
        let tap = OnsetTap(channels: 1)
        let events = tap.events
        #expect(try onsets(drums.samples, cycles: cycles, tap) == expected)
        var heard: [OnsetTap.Onset] = []
        for await event in events {
            heard.append(event)
            if heard.count == expected.count { break }
        }
        #expect(heard == expected && expected.count > 5)
    }

    @Test("Hostile rates and samples neither trap nor give numbers that are none") func hostile() throws {
        for rate in [1.0, 15, 300, 1_000, 7_999, 1_000_000] {
            var dice = SplitMix(state: 5)
            let noise = (0..<max(2_000, min(300_000, Int(rate)))).map { _ in Float.random(in: -1...1, using: &dice) }
            for onset in try onsets(noise, rate: rate, OnsetTap(channels: 1)) {
                #expect(onset.rise.isFinite && onset.amplitude.isFinite)
            }
        }
        for value in [Float.greatestFiniteMagnitude, .leastNonzeroMagnitude, 1e-30, 1e18, 1] {
            for onset in try onsets((0..<9_600).map { $0 % 100 < 50 ? value : -value }, OnsetTap(channels: 1)) {
                #expect(onset.rise.isFinite && !onset.amplitude.isNaN)
            }
        }
    }
}
