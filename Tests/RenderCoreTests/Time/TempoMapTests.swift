import RenderStack
import TestSupport
import Testing

@testable import RenderCore

/// Ramps and maps of the tempo: their formulas, and what a renderer makes of them.
@Suite struct TempoMapTests {
    @Test("Known answers: a line, an exponential ramp, a jump, and what is before and behind")
    func known() {
        // From 60 to 120 over 60 beats: a minute of ln 2, and back.
        let line = TempoMap([.init(at: 0, 60, .line), .init(at: 60, 120)])
        #expect(abs(line.seconds(at: 60) - 60 * 0.693147180559945309) < 1e-12)
        #expect(line.beatsPerMinute(at: 30) == 90)
        // From 60 to 120 over 60 beats by a factor: (1 - 1/2) / ln 2 minutes.
        let factor = TempoMap([.init(at: 0, 60, .exponential), .init(at: 60, 120)])
        #expect(abs(factor.seconds(at: 60) - 30 / 0.693147180559945309) < 1e-12)
        #expect(abs(factor.beatsPerMinute(at: 30) - 60 * 1.414213562373095049) < 1e-12)
        // Behind the ramp 120 goes on, before beat 0 60 does.
        for map in [line, factor] {
            #expect(abs(map.seconds(at: 62) - map.seconds(at: 60) - 1) < 1e-12 && map.seconds(at: -1) == -1)
        }
        let jump = TempoMap([.init(at: 4, 60, .line), .init(at: 8, 120), .init(at: 8, 30)])
        #expect(jump.beatsPerMinute(at: 7.999_999) > 119 && jump.beatsPerMinute(at: 8) == 30)
        #expect(jump.seconds(at: 4) == 4 && jump.beat(at: 2) == 2)
        #expect(TempoMap([]).seconds(at: 2) == 1 && TempoMap(90).seconds(at: 3) == 2)
    }

    @Test("Seconds of a beat and the beat of seconds are each other's inverse, over a million beats")
    func inverse() {
        var random = SplitMix(state: 5)
        for _ in 0..<200 {
            var beat = 0.0
            let points = (0..<50).map { _ in
                beat += Double.random(in: 0...300, using: &random)
                return TempoMap.Point(
                    at: beat, Double.random(in: 1...999, using: &random),
                    TempoMap.Shape.allCases[Int.random(in: 0..<3, using: &random)])
            }
            let map = TempoMap(points)
            var last = -1.0
            for _ in 0..<200 {
                let beat = Double.random(in: 0...20_000, using: &random)
                let seconds = map.seconds(at: beat)
                #expect(abs(map.beat(at: seconds) - beat) < 1e-8 * max(1, beat / 1_000), "\(points) \(beat)")
            }
            for beat in stride(from: 0.0, to: 15_000, by: 97) {
                let seconds = map.seconds(at: beat)
                #expect(seconds > last)
                last = seconds
            }
        }
        // A ramp that hardly is one is as precise as one that is none.
        for last in [Double(120).nextUp, 120 + 1e-9, 120 + 1e-4] {
            let map = TempoMap([.init(at: 0, 120, .line), .init(at: 1_000, last)])
            #expect(abs(map.seconds(at: 1_000) - 500) < 500 * (last - 120) + 1e-10)
            #expect(abs(map.beat(at: map.seconds(at: 777)) - 777) < 1e-10)
        }
    }

    @Test("Bars: metres, where a bar ends early, and the beat of a bar")
    func bars() {
        let map = TempoMap(
            [.init(at: 0, 120)],
            metres: [.init(at: 0, Metre(3)), .init(at: 10, Metre(6, 8), bar: 3), .init(at: 16, Metre(4))])
        for (beat, bar, inBar) in [
            (0.0, 1, 1), (2.5, 1, 3), (3, 2, 1), (9, 4, 1), (10, 5, 1), (15, 6, 3), (16, 7, 1), (21, 8, 2),
        ] {
            let place = map.bars(at: beat)
            #expect(place.bar == bar && place.beat == inBar, "\(beat): \(place)")
        }
        #expect(map.bars(at: 12).beatType == 4 && map.bars(at: 12).beatsPerBar == 3)
        for (bar, beat) in [(1, 0.0), (4, 9), (5, 10), (6, 13), (7, 16), (9, 24)] {
            #expect(map.beat(ofBar: bar) == beat)
        }
    }

    @Test("Numbers of any kind make a map, and none ends the program")
    func hostile() {
        let numbers = [0.0, -1, .nan, .infinity, -.infinity, 1e300, 1e-300, 1e9, 999]
        for beat in numbers {
            for tempo in numbers {
                for shape in TempoMap.Shape.allCases {
                    let map = TempoMap(
                        [.init(at: beat, tempo, shape), .init(at: 1, 100)],
                        metres: [.init(at: beat, Metre(3), bar: tempo)])
                    for place in numbers {
                        _ = (
                            map.seconds(at: place), map.beat(at: place), map.beatsPerMinute(at: place),
                            map.bars(at: place)
                        )
                    }
                    for bar in [Int.min, -1, 0, 1, 1_000, .max] { #expect(map.beat(ofBar: bar).isFinite) }
                    #expect(map.seconds(at: 2).isFinite)
                    #expect(TempoMap(map.scaled(by: tempo).points) == TempoMap(map.scaled(by: tempo).points))
                }
            }
        }
    }

    @Test("A ramp and a map sound alike, bit for bit, whatever the cycles: ticks, a wave and a delay by the beats")
    func cycles() throws {
        func heard(_ cycles: [Int], mapped: Bool) throws -> [[Float]] {
            let wave = LFO(.sine, beats: 1)
            let ticker = Ticker(every: 0.25)
            let delay = Delay(beats: 0.75, feedback: 0.5)
            let renderer = try Renderer(channels: 1) { context in
                context.run(ticker)
                context.run(delay)
                context.run(wave)
                context.mix(2)
                context.output()
            }
            if mapped {
                renderer.tempo.map = TempoMap([
                    .init(at: 0, 90, .line), .init(at: 3, 240, .exponential), .init(at: 5.3, 70),
                ])
            } else {
                try renderer.transaction(at: .sample(5_000)) { renderer.tempo.ramp(to: 200, beats: 3) }
                try renderer.transaction(at: .sample(70_000)) {
                    renderer.tempo.ramp(to: 50, seconds: 0.7, shape: .exponential)
                }
            }
            return render(renderer, frames: 150_000, cycles: cycles)
        }
        for mapped in [false, true] {
            let first = try heard([512], mapped: mapped)
            for cycles in cycleLengths { #expect(try heard(cycles, mapped: mapped) == first, "\(cycles)") }
        }
    }

    @Test("Control code sees the tempo of a ramp and a map, and the frame of a beat to come")
    func control() throws {
        let renderer = try Renderer { context in
            context.push()
            context.output()
        }
        let tempo = renderer.tempo
        tempo.ramp(to: 240, beats: 8)
        #expect(tempo.beatsPerMinute == 240 && tempo.beats.beatsPerMinute == 120 && tempo.map == nil)
        // Eight beats take 60 · 8 · ln 2 / 120 seconds.
        let end = Int64((4 * 0.693147180559945309 * 48_000).rounded())
        #expect(tempo.time(ofBeat: 8) == .sample(end))
        _ = renderer.renderOffline(frames: Int(end) / 2)
        #expect(tempo.beats.beatsPerMinute > 160 && tempo.beats.beatsPerMinute < 200)
        _ = renderer.renderOffline(frames: Int(end))
        #expect(tempo.beats.beatsPerMinute == 240)

        let map = TempoMap(
            [.init(at: 0, 60), .init(at: 2, 120, .line), .init(at: 6, 60)], metres: [.init(at: 2, Metre(3))])
        tempo.map = map
        tempo.position = 0
        #expect(tempo.map == map && tempo.beats.beatsPerMinute == 60)
        let start = renderer.sampleTime
        for beat in [1.0, 2, 3.5, 6, 20] {
            #expect(
                tempo.time(ofBeat: beat) == .sample(start + Int64((map.seconds(at: beat) * 48_000).rounded())),
                "\(beat)")
        }
        _ = renderer.renderOffline(frames: Int(map.seconds(at: 5.25) * 48_000))
        #expect(abs(tempo.position - 5.25) < 1e-4 && tempo.beats.bars.bar == 3 && tempo.beats.bars.beat == 1)
        #expect(abs(tempo.beats.beatsPerMinute - map.beatsPerMinute(at: 5.25)) < 0.01)
        // Another tempo takes the map away, from where it is.
        tempo.beatsPerMinute = 30
        #expect(tempo.map == nil && abs(tempo.position - 5.25) < 1e-4)
        tempo.map = map
        tempo.map = nil
        _ = renderer.renderOffline(frames: 10)
        #expect(abs(tempo.beats.beatsPerMinute - map.beatsPerMinute(at: 5.25)) < 0.01)
        for wrong in [Double.nan, .infinity, -.infinity, -5, 0] {
            tempo.ramp(to: wrong, beats: 4)
            tempo.ramp(to: 100, beats: wrong)
            tempo.ramp(to: 100, seconds: wrong)
            _ = renderer.renderOffline(frames: 1_000)
            #expect(tempo.beats.beatsPerMinute >= 1 && tempo.beats.beatsPerMinute <= 999)
        }
        #expect(tempo.ignoredCount == 3)
    }

    @Test("Many maps, set while it renders on another thread, are let go of")
    func manyMaps() throws {
        let renderer = try Renderer { context in
            context.push()
            context.output()
        }
        for turn in 0..<2_000 {
            renderer.tempo.map = TempoMap(
                (0..<200).map { .init(at: Double($0) / 8, Double(60 + ($0 * turn) % 200), .line) })
            if turn % 3 == 0 { _ = renderer.renderOffline(frames: 333) }
        }
        #expect(renderer.tempo.map != nil && renderer.tempo.beats.beatsPerMinute > 1)
    }
}
