import CJACK
import RenderStack
import TestSupport
import Testing

@testable import JACKBackend

// Tests of numbers from a caller or another program that cannot be calculated with.
extension JACKTests {
    @Suite struct NumbersTests {
        @Test(
            "A tempo, a metre and a frame that nothing could follow are refused with a sentence; JACK's thread lives on"
        )
        func tempo() async throws {
            let server = try DummyServer(period: 128)
            let output = JACKOutput(Renderer(), name: "lead", server: server.name, connect: .none)
            try output.start()
            for tempo in [Double.infinity, -.infinity, .nan, -1, 1e300, 100_001, .greatestFiniteMagnitude] {
                #expect(throws: JACKError.self) { try output.leadTempo(tempo) }
            }
            for metre in [Double.infinity, -.infinity, .nan, -1, 0, 0.5, 1e300] {
                #expect(throws: JACKError.self) { try output.leadTempo(120, beatsPerBar: metre) }
            }
            for frame in [Int64.min, -1, 1 << 32, .max] {
                #expect(throws: JACKError.unfitFrame(frame)) { try output.locateTransport(frame) }
            }
            // The ends of what is allowed, at the last frame.
            for (tempo, metre) in [(100_000.0, 1.0), (100_000, 1_000), (.leastNonzeroMagnitude, 1_000), (1e-9, 1.5)] {
                #expect(try output.leadTempo(tempo, beatsPerBar: metre))
                try output.locateTransport(Int64(UInt32.max))
                let cycles = output.statistics.cycles
                #expect(await becomesTrue { output.statistics.cycles > cycles + 10 })
            }
            #expect(try !output.leadTempo(0))
            for time in [Int64.min, -1, 0, .max] {
                _ = try output.frame(atHostTime: time)
                _ = try output.hostTime(atFrame: time)
            }
            output.stop()
        }

        @Test("Names that JACK would refuse without a reason, or cut, are refused with one")
        func names() throws {
            let server = try DummyServer()
            for name in ["", "a\0b", String(repeating: "n", count: 64), String(repeating: "ä", count: 32)] {
                let output = JACKOutput(Renderer(), name: name, server: server.name, connect: .none)
                do {
                    try output.start()
                    Issue.record("\(name) was taken")
                } catch let error as JACKError {
                    guard case .unfitName = error else { throw error }
                    #expect(error.description.hasSuffix("."))
                }
            }
            let longest = String(repeating: "n", count: 63)
            let output = JACKOutput(Renderer(), name: longest, server: server.name, connect: .none)
            try output.start()
            #expect(try output.clientName() == longest)
            output.stop()
        }

        @Test("Bars of other programs count only where they are numbers")
        func bars() {
            func position(_ change: (inout cjack_position) -> Void) -> Transport {
                var position = cjack_position()
                position.has_bars = 1
                (position.bar, position.beat, position.tick) = (2, 3, 480)
                (position.beats_per_bar, position.beat_type, position.ticks_per_beat) = (4, 4, 960)
                position.beats_per_minute = 120
                change(&position)
                return JACKCycle.transport(position)
            }
            #expect(position { _ in }.bars?.fraction == 0.5)
            for bad in [Double.nan, .infinity, -.infinity, 0, -3] {
                #expect(position { $0.beats_per_minute = bad }.bars == nil)
                #expect(position { $0.beats_per_bar = bad }.bars == nil)
                #expect(position { $0.beat_type = bad }.bars == nil)
            }
            for bad in [Double.nan, .infinity, -1, 1e300] {
                #expect(position { $0.tick = bad }.bars?.fraction == 0)
            }
            #expect(position { $0.ticks_per_beat = 0 }.bars?.fraction == 0)
            #expect(position { ($0.bar, $0.beat) = (.min, .max) }.bars?.bar == Int(Int32.min))
        }

        @Test("Moments of two clocks stay in range")
        func moments() {
            let moment = JACKClock.Moment(frame: 1_000, hostTime: 5_000_000, nanosecondsPerFrame: 20_000)
            #expect(moment.frame(atHostTime: 5_020_000) == 1_001)
            #expect(moment.hostTime(atFrame: 999) == 4_980_000)
            #expect(moment.hostTime(atFrame: .max) == .max)
            #expect(moment.hostTime(atFrame: .min) < -9_000_000_000_000_000_000)
            #expect(moment.frame(atHostTime: .min) < 0 && moment.frame(atHostTime: .max) > 0)
            for period in [0, .nan, Double.infinity] {
                let odd = JACKClock.Moment(frame: 7, hostTime: 9, nanosecondsPerFrame: period)
                _ = (odd.frame(atHostTime: .max), odd.hostTime(atFrame: 7), odd.hostTime(atFrame: .min))
            }
        }
    }
}
