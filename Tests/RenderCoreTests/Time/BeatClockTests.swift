import Testing

@testable import RenderCore

/// The arithmetic of beats, held against whole numbers.
@Suite struct BeatClockTests {
    /// Tempos that a `Double` holds exactly, in 1/64 beats per minute.
    static let tempos: [Int64] = [120 * 64, 97 * 64, 128 * 64 + 32, 90 * 64 + 16, 999 * 64, 61 * 64 + 1]

    private func clock(_ tempo: Int64, _ rate: Int64) -> BeatClock {
        var clock = BeatClock(sampleRate: Double(rate))
        clock.set(.beatsPerMinute(Double(tempo) / 64), 1, at: 0)
        return clock
    }

    @Test("For three hours every beat is in the frame that whole numbers say", arguments: tempos)
    func hours(tempo: Int64) {
        for rate: Int64 in [44_100, 48_000, 96_000] {
            let clock = clock(tempo, rate)
            let count = 3 * 60 * tempo / 64
            var wrong = 0
            for beat in 0...count {
                // The nearest whole number to beat * 60 * rate / (tempo / 64), halves up.
                let frame = (2 * beat * 60 * 64 * rate + tempo) / (2 * tempo)
                if clock.frame(of: Double(beat)) != frame { wrong += 1 }
            }
            #expect(wrong == 0, "\(rate)")
            // If a beat is a whole number of frames, the position there is that beat, to the bit.
            for beat in stride(from: 0, through: count, by: Int(tempo)) {
                #expect(clock.position(at: beat * 60 * 64 * rate / tempo) == Double(beat))
            }
        }
    }

    @Test("A change of the tempo begins on its frame, and the position goes on from there")
    func changes() {
        var clock = BeatClock(sampleRate: 48_000)
        clock.set(.beatsPerMinute(60), 1, at: 36_000)
        #expect(clock.position(at: 36_000) == 1.5 && clock.position(at: 36_000 + 24_000) == 2)
        #expect(clock.frame(of: 2) == 60_000)
        // Two at one frame are as the second alone.
        clock.set(.beatsPerMinute(999), 2, at: 84_000)
        clock.set(.beatsPerMinute(240), 3, at: 84_000)
        #expect(clock.position(at: 84_000) == 2.5 && clock.frame(of: 3) == 90_000)
        // A setting that is older than the present one changes nothing.
        clock.set(.beatsPerMinute(30), 2, at: 90_000)
        #expect(clock.tempo(at: 90_000) == 240)
    }

    @Test("Through any changes of the tempo each beat has one frame, in order, near to where it is")
    func eachBeatOnce() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            var clock = BeatClock(sampleRate: 48_000)
            var (frame, version): (Int64, UInt64) = (0, 0)
            var found: [Double] = []
            while frame < 400_000 {
                version += 1
                clock.set(.beatsPerMinute(.random(in: 1...999, using: &random)), version, at: frame)
                let count = Int.random(in: 1...20_000, using: &random)
                var ticks = BeatTicks(clock, from: frame, count: count, every: 0.25)
                while let tick = ticks.next() {
                    found.append(tick.position)
                    let distance = tick.position - clock.position(at: frame + Int64(tick.frame))
                    let frames: Double = abs(distance) * (60 * 48_000 / 999)
                    #expect(frames <= 0.501)
                }
                frame += Int64(count)
            }
            #expect(found == found.indices.map { Double($0) / 4 })
        }
    }

    @Test("A beat that is nearest to the frame of a change comes there, however much slower it goes on")
    func beatAtAChange() {
        for (fast, slow) in [(999.0, 1.0), (1, 999), (120, 60)] {
            for frame: Int64 in 28_820...28_840 {
                var clock = BeatClock(sampleRate: 48_000)
                clock.set(.beatsPerMinute(fast), 1, at: 0)
                var found: [Double] = []
                var ticks = BeatTicks(clock, from: 0, count: Int(frame), every: 0.5)
                while let tick = ticks.next() { found.append(tick.position) }
                clock.set(.beatsPerMinute(slow), 2, at: frame)
                ticks = BeatTicks(clock, from: frame, count: 10_000_000, every: 0.5)
                while let tick = ticks.next() { found.append(tick.position) }
                #expect(found == found.indices.map { Double($0) / 2 }, "\(fast) to \(slow) at \(frame)")
            }
        }
    }

    @Test(
        "A metre that is set in the middle of a bar holds from the next bar on, one that is set on a bar line from there"
    )
    func metre() {
        var clock = BeatClock(sampleRate: 48_000)
        // At beat 5.5, in the second bar of four.
        clock.set(.metre(Metre(3, 8)), 1, at: 132_000)
        let found = [4, 7, 8, 10, 11, 14].map { clock.bars.place(of: $0) }
        #expect(found.map(\.bar) == [2, 2, 3, 3, 4, 5])
        #expect(found.map(\.beat) == [0, 3, 0, 2, 0, 0])
        #expect(found.map(\.beatType) == [4, 4, 8, 8, 8, 8])
        // A frame beside the bar line at beat 14, and once more before that has come: only the last one counts.
        clock.set(.metre(Metre(5)), 2, at: 13 * 24_000)
        clock.set(.metre(Metre(7)), 3, at: 14 * 24_000 + 1)
        #expect(clock.bars.place(of: 14).bar == 5 && clock.bars.place(of: 20.5).bar == 5)
        #expect(clock.bars.place(of: 21) == (6, 0, 7, 4))
        #expect(clock.beats(at: 16 * 24_000 + 12_000).bars.beat == 3)
        #expect(clock.beats(at: 16 * 24_000 + 12_000).bars.fraction == 0.5)
    }

    @Test("Beats before the beginning have bars too")
    func countIn() {
        var clock = BeatClock(sampleRate: 48_000)
        clock.set(.position(-4), 1, at: 0)
        let bars = clock.beats(at: 24_000).bars
        #expect(bars.bar == 0 && bars.beat == 2 && bars.fraction == 0)
        #expect(clock.frame(of: 0) == 96_000)
    }

    @Test("Numbers that cannot be: far away, no numbers, and parts of a beat that are too small")
    func extremes() {
        var clock = BeatClock(sampleRate: 1)
        for position in [-1e9, 1e9, 1e-300] { clock.set(.position(position), .max, at: .max / 2) }
        for beat in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
            _ = (clock.frame(of: beat), clock.bars.place(of: beat), BeatClock.floor(beat))
        }
        for frame in [Int64.min / 2, 0, Int64.max / 2] { _ = (clock.beats(at: frame), clock.turn(of: 1e-3, at: frame)) }
        for step in [Double.nan, 0, -1, 1e-300, .infinity] {
            var ticks = BeatTicks(BeatClock(sampleRate: 48_000), from: 0, count: 48_000, every: step)
            var count = 0
            while ticks.next() != nil { count += 1 }
            #expect(count >= 1 && count <= 2_048)
        }
    }
}
