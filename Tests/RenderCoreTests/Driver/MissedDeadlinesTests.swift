import Testing

@testable import Outputs
@testable import RenderCore

@Suite struct MissedDeadlinesTests {
    private let second: Int64 = 1_000_000_000

    @Test("Missed deadlines: the first is reported at once, those of the next second as one sum, and none twice")
    func summed() {
        var missed = MissedDeadlines()
        #expect(missed.take(at: 0) == nil)
        missed.add(0, at: 0)
        missed.add(-3, at: 0)
        #expect(missed.take(at: 0) == nil)
        missed.add(1, at: 5)
        #expect(missed.take(at: 5)?.count == 1)
        var told = 0
        for turn in 1...50 {
            let now = 5 + Int64(turn) * second / 50
            missed.add(1, at: now)
            if let report = missed.take(at: now) {
                told += 1
                #expect(turn == 50 && report.count == 50 && report.gap == nil)
            }
        }
        #expect(told == 1)
        // A sum that waits is told though nothing new comes, and at the end at once.
        missed.add(2, at: 2 * second)
        #expect(missed.take(at: 2 * second) == nil)
        #expect(missed.take(at: 2 * second + 5)?.count == 2)
        missed.add(3, at: 2 * second + 6)
        #expect(missed.take(at: 2 * second + 6, isLast: true)?.count == 3)
        #expect(missed.take(at: 9 * second, isLast: true) == nil)
    }

    @Test("Missed deadlines: gaps are added up, to the end of the last one, and no number is too large")
    func gaps() {
        var missed = MissedDeadlines()
        missed.add(gap: (100, 7), at: 0)
        #expect(missed.take(at: 0).flatMap { $0.gap.map { $0 == (100, 7) } } == true)
        missed.add(gap: (20, 8), at: 1)
        missed.add(gap: (.max, 9), at: 2)
        #expect(missed.take(at: 3) == nil)
        #expect(missed.take(at: second).flatMap { $0.gap.map { $0 == (.max, 9) } } == true)
    }

    @Test("Missed deadlines: a late cycle of the program's own is their cause within a second of them, before or after")
    func causes() {
        let (short, long) = (
            LoadHistogram.Overrun(nanoseconds: 3_000_000, limit: 1_333_333),
            LoadHistogram.Overrun(nanoseconds: 9_000_000, limit: 1_333_333)
        )
        var missed = MissedDeadlines()
        // Without an interruption it is no news, then or later.
        missed.add(short, at: 0)
        #expect(missed.take(at: 0) == nil)
        missed.add(1, at: second)
        #expect(missed.take(at: second)?.overrun == nil)
        // After it; the longest counts.
        missed.add(long, at: second + 5)
        missed.add(short, at: second + 6)
        #expect(missed.take(at: second + 7)?.overrun == long)
        #expect(missed.take(at: second + 8) == nil)
        // Before it.
        missed.add(short, at: 5 * second)
        #expect(missed.take(at: 5 * second) == nil)
        missed.add(1, at: 5 * second + 9)
        let report = missed.take(at: 5 * second + 9)
        #expect(report?.count == 1 && report?.overrun == short)
        // No more than one in a second.
        missed.add(long, at: 5 * second + 10)
        #expect(missed.take(at: 5 * second + 11) == nil)
    }

    @Test("A cycle that took more than its time is kept until it is asked for, and says which module took most of it")
    func overruns() {
        let load = LoadHistogram()
        #expect(load.add(nanoseconds: 500_000, frames: 48, rate: 48_000) == 0.5)
        #expect(load.takeOverrun() == nil)
        _ = load.add(nanoseconds: 3_000_000, frames: 64, rate: 48_000)
        _ = load.add(nanoseconds: 2_000_000, frames: 64, rate: 48_000)
        let overrun = load.takeOverrun()
        #expect(overrun == LoadHistogram.Overrun(nanoseconds: 3_000_000, limit: 1_333_333))
        #expect(load.takeOverrun() == nil)
        // Numbers that no clock gives.
        for (time, frames, rate) in [
            (Int64.max, 0, 48_000.0), (.max, .max, 1e-300), (-5, 64, 48_000), (1, -1, .infinity),
        ] {
            _ = load.add(nanoseconds: time, frames: frames, rate: rate)
            _ = load.takeOverrun()
        }
        #expect(overrun?.sentence(slowest: nil) == "Your own cycle took 3.0 of 1.33 ms.")
        #expect(overrun?.sentence(slowest: ("Gain", 1_000)) == "Your own cycle took 3.0 of 1.33 ms.")
        #expect(
            overrun?.sentence(slowest: ("Reverb", 2_900_000))
                == "Your own cycle took 3.0 of 1.33 ms, most of it in Reverb.")
        #expect(
            overrun?.sentence(slowest: ("Reverb", 4_000_000))
                == "Your own cycle took 3.0 of 1.33 ms; the slowest module so far is Reverb, with 4.0 ms.")
    }

    @Test("The first late cycle of a debug build says what it is, and how to make a release build")
    func debugBuild() async throws {
        let (hub, load) = (EventHub<OutputEvent>(), LoadHistogram())
        let teller = MissedDeadlineTeller(try Renderer { _ in }, hub, load)
        let events = hub.subscribe()
        for _ in 0..<2 {
            teller.begin()
            _ = load.add(nanoseconds: 3_000_000, frames: 64, rate: 48_000)
            teller.tell(1, isLast: true) { .missedDeadlines(count: $0) }
        }
        hub.finish()
        var notices: [String] = []
        for await case .notice(let sentence) in events { notices.append(sentence) }
        try #require(notices.count == 2)
        #if DEBUG
            #expect(notices[0].hasPrefix("Your own cycle took 3.0 of 1.33 ms. This is a debug build"))
            #expect(notices[0].contains("swift run -c release"))
        #else
            #expect(notices[0] == "Your own cycle took 3.0 of 1.33 ms.")
        #endif
        #expect(notices[1] == "Your own cycle took 3.0 of 1.33 ms.")
    }
}
