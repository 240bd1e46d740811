import TestSupport
import Testing

@testable import ALSABackend

extension CycleTimes {
    /// The smoothed time of a cycle of which the clock says a time, without anything in the device's memory.
    fileprivate mutating func smooth(_ time: Int64, startsAnew: Bool = false) -> Int64 {
        time + correction(at: time, position: 0, startsAnew)
    }
}

@Suite struct CycleTimesTests {
    /// Cycles of a card whose clock is off by a share, measured late by chance.
    private struct Card {
        let rate: Double
        let frames: Int
        let late: Double
        var random = SplitMix(state: 7)

        func time(_ cycle: Int) -> Double { 5e15 + Double(cycle * frames) * 1e9 / rate }
        mutating func measured(_ cycle: Int) -> Int64 {
            Int64(time(cycle) + late * Double(random.next() >> 11) * 0x1p-53)
        }
    }

    private func spread(_ errors: [Double]) -> Double {
        let mean = errors.reduce(0, +) / Double(errors.count)
        return (errors.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(errors.count)).squareRoot()
    }

    @Test(
        "Jitter becomes less than a tenth after two seconds, whatever the cycle and the card's clock",
        arguments: [64, 256, 1024], [-300e-6, 0, 80e-6])
    func jitter(frames: Int, drift: Double) {
        var card = Card(rate: 48_000 * (1 + drift), frames: frames, late: 1e6)
        var times = CycleTimes(rate: 48_000, period: frames)
        var (raw, smooth) = ([Double](), [Double]())
        for cycle in 0..<(48_000 * 30 / frames) {
            let measured = card.measured(cycle)
            let time = times.smooth(measured)
            if cycle * frames > 48_000 * 10 {
                raw.append(Double(measured) - card.time(cycle))
                smooth.append(Double(time) - card.time(cycle))
            }
            // It never strays further than what is measured.
            #expect(abs(Double(time) - card.time(cycle)) < 1.5e6)
        }
        #expect(spread(raw) > 280_000)
        #expect(spread(smooth) < spread(raw) * (frames == 64 ? 0.1 : 0.3), "\(spread(smooth)) of \(spread(raw))")
    }

    @Test("A time without jitter comes back as it is")
    func exact() {
        var times = CycleTimes(rate: 48_000, period: 480)
        for cycle in 0..<1_000 {
            let time = 123_456_789_000_000_000 + Int64(cycle) * 10_000_000
            #expect(abs(times.smooth(time) - time) <= 1)
        }
    }

    @Test("A device that moves by single frames is where it says, whenever it is asked")
    func position() {
        var times = CycleTimes(rate: 48_000, period: 480)
        for cycle in 0..<100 {
            // Woken up later each time, when the device has moved as many frames.
            let frames = cycle % 7 * 3
            let now = 5_000_000_000 + Int64(cycle) * 10_000_000 + Int64(frames) * 62_500 / 3
            #expect(abs(times.correction(at: now, position: 960 - frames)) <= 1)
        }
    }

    @Test("One time that is far off changes nothing; two are a gap, and so is a gap that the card reports")
    func gap() {
        var times = CycleTimes(rate: 48_000, period: 48)
        var time: Int64 = 0
        func next() -> Int64 {
            time += 1_000_000
            return time
        }
        for _ in 0..<100 {
            let time = next()
            #expect(abs(times.smooth(time) - time) <= 1)
        }
        let late = next()
        #expect(abs(times.smooth(late + 5_000_000) - late) <= 1)
        let after = next()
        #expect(abs(times.smooth(after) - after) <= 1)
        time += 50_000_000
        let first = next()
        #expect(abs(times.smooth(first) - first) > 40_000_000)
        let second = next()
        #expect(times.smooth(second) == second)
        time += 1_300_000
        let third = next()
        #expect(times.smooth(third, startsAnew: true) == third)
    }
}
