import RenderStack
import TestSupport
import Testing

/// A click of 1 in the frame of each beat, in as many channels as are asked for.
private final class Clicks: Generator {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var ticks = context.ticks()
        context.push(channels: 1)
        var top = context.top
        var samples = top[0]
        while let tick = ticks.next() { samples[tick.frame] = 1 }
    }
}

private func renderer(_ module: some Generator, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, channels: 1) { context in
        context.run(module)
        context.output()
    }
}

/// The loudest sample near each of some frames, counted from there.
private func peaks(_ samples: [Float], near frames: [Int]) -> [Int] {
    frames.map { frame in
        let range = max(0, frame - 400)..<min(samples.count, frame + 400)
        return (range.max { abs(samples[$0]) < abs(samples[$1]) } ?? 0) - frame
    }
}

@Suite("Beats in renderers with frames of another length")
struct BeatsInsideTests {
    @Test("Behind a RateConverter a click is heard on the outer beat", arguments: [44_100.0, 96_000, 48_000])
    func converted(rate: Double) throws {
        for cycles in [[3, 500, 1, 64, 2_000, 17], [512], [7]].prefix(extent(3, inDebug: 1)) {
            let outer = try renderer(RateConverter(try renderer(Clicks()), sampleRate: rate))
            try outer.transaction(at: .sample(40_000)) { outer.tempo.beatsPerMinute = 100 }
            let sound = render(outer, frames: 160_000, cycles: cycles)[0]
            // At 40,000 it is at beat 5/3; a beat then has 28,800 frames. The first click is as late as the filter.
            let expected: [Int] = [24_000] + (2...5).map { beat in 40_000 + (3 * beat - 5) * 9_600 }
            let found = peaks(sound, near: expected)
            #expect(found.allSatisfy { abs($0) <= 1 }, "\(rate), \(cycles): \(found)")
            #expect(sound.count { $0 > 0.3 } <= 2 * expected.count + 2)
        }
    }

    @Test("In a tape at another speed too", arguments: [0.5, 1.0, 2.0])
    func tape(speed: Float) throws {
        let machine = Varispeed(try renderer(Clicks()))
        machine.speed.value = speed
        let outer = try renderer(machine)
        let sound = render(outer, frames: 120_000, cycles: [512])[0]
        let found = peaks(sound, near: [24_000, 48_000, 72_000, 96_000])
        #expect(found.allSatisfy { abs($0) <= 1 }, "\(speed): \(found)")
    }
}

@Suite("LFO by beats")
struct LFOBeatsTests {
    @Test("A turn of two beats is that, from beat 0 on, after hours and after a change of the tempo")
    func locked() throws {
        let lfo = LFO(.saw, beats: 2, rounding: .zero)
        let renderer = try renderer(lfo)
        #expect(lfo.beats == 2 && lfo.period == nil)
        let first = render(renderer, frames: 100_000, cycles: [511])[0]
        func expected(_ position: Double) -> Float { Float(2 * (position / 2).truncatingRemainder(dividingBy: 1) - 1) }
        #expect((0..<100_000).allSatisfy { abs(first[$0] - expected(Double($0) / 24_000)) < 1e-5 })
        // An hour and a half beat later.
        renderer.tempo.position = 7_200.5
        let second = render(renderer, frames: 47_000, cycles: [64])[0]
        #expect(
            second.indices.allSatisfy { abs(second[$0] - expected(0.5 + Double($0) / 24_000)) < 1e-5 || $0 == 36_000 })
        renderer.tempo.position = 0
        renderer.tempo.beatsPerMinute = 60
        let third = render(renderer, frames: 90_000, cycles: [64])[0]
        #expect(third.indices.allSatisfy { abs(third[$0] - expected(Double($0) / 48_000)) < 1e-5 })
    }

    @Test("The slices make no difference, bit for bit, through changes of the tempo", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        func run(_ lengths: [Int]) throws -> [[Float]] {
            let renderer = try renderer(LFO(.randomCurve, beats: 1 / 3.0))
            for (frame, tempo) in [(1_001, 97.3), (9_999, 300), (15_000, 61.7)] as [(Int64, Double)] {
                try renderer.transaction(at: .sample(frame)) { renderer.tempo.beatsPerMinute = tempo }
            }
            return render(renderer, frames: 40_000, cycles: lengths)
        }
        #expect(try run(lengths) == run([512]))
    }

    @Test("One that does not follow the beats has their length alone; period and beats take each other's place")
    func free() throws {
        let lfo = LFO(.saw, beats: 1, followsBeats: false, rounding: .zero)
        let renderer = try renderer(lfo)
        renderer.tempo.position = 10.25
        let sound = render(renderer, frames: 24_000)[0]
        let isSaw = sound.enumerated().allSatisfy { (frame: Int, sample: Float) in
            abs(sample - (Float(frame) / 12_000 - 1)) < 1e-5
        }
        #expect(isSaw)
        lfo.period = .seconds(2)
        #expect(lfo.beats == nil && lfo.period == .seconds(2))
        lfo.beats = 1e-9
        #expect(lfo.beats == 0x1p-10 && lfo.period == nil)
        lfo.beats = .nan
        #expect(lfo.beats == nil && lfo.period == nil)
    }
}
