import Glibc
import Synchronization
import Testing

@testable import Outputs
@testable import RenderCore

@Suite struct ClockOutputTests {
    private func output(_ renderer: Renderer, period: Int = 64) -> ClockOutput {
        ClockOutput(renderer, sampleRate: 48_000, period: period, priority: 0)
    }

    @Test("Started and stopped fifty times it renders each time, and not in between")
    func restarts() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let output = output(renderer)
        #expect(output.state == .stopped)
        var last: Int64 = 0
        for _ in 0..<50 {
            try output.start()
            try output.start()
            #expect(output.state == .running)
            #expect(await becomesTrue { renderer.sampleTime > last })
            output.stop()
            output.stop()
            #expect(output.state == .stopped)
            last = renderer.sampleTime
            #expect(last % 64 == 0)
            #expect(output.statistics.cycles > 0)
        }
        #expect(renderer.sampleTime == last)
        #expect(renderer.faultCount == 0)
    }

    @Test("The statistics count cycles, and begin anew at each start")
    func statistics() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let output = output(renderer)
        try output.start()
        #expect(await becomesTrue { output.statistics.cycles >= 20 })
        output.stop()
        #expect(renderer.sampleTime == Int64(output.statistics.cycles * 64))
        let statistics = output.statistics
        #expect(statistics.loadMedian > 0 && statistics.loadMedian <= statistics.loadP99)
        #expect(statistics.loadP99 <= statistics.loadMaximum)
        #expect(statistics.description.contains("\(statistics.cycles) cycles"))
        let before = renderer.sampleTime
        try output.start()
        #expect(await becomesTrue { output.statistics.cycles > 0 })
        output.stop()
        #expect(renderer.sampleTime - before == Int64(output.statistics.cycles * 64))
    }

    @Test("A cycle that takes three periods is a missed deadline, with its time, and told")
    func missedDeadline() async throws {
        let period = 480  // 10 ms
        let blocks = Atomic<Bool>(false)
        let renderer = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            if blocks.exchange(false, ordering: .relaxed) { usleep(35_000) }
        }
        let output = output(renderer, period: period)
        let told = Record<OutputEvent>()
        let subscription = output.by({ $0() }) { told.add($0) }
        try output.start()
        #expect(await becomesTrue { output.statistics.cycles > 2 })
        let time = HostClock.now
        let before = output.statistics.missedDeadlines
        blocks.store(true, ordering: .relaxed)
        #expect(await becomesTrue { output.statistics.missedDeadlines > before })
        let cycles = output.statistics.cycles
        #expect(await becomesTrue { output.statistics.cycles > cycles + 2 })
        output.stop()
        let statistics = output.statistics
        #expect(statistics.missedDeadlines >= 1)
        #expect(try #require(statistics.lastMissedDeadline) >= time)
        #expect(statistics.loadMaximum >= 3)
        #expect(
            await becomesTrue {
                let count = told.all.reduce(0) { sum, event in
                    if case .missedDeadlines(let count) = event { sum + count } else { sum }
                }
                return count == statistics.missedDeadlines
            })
        subscription.cancel()
    }

    @Test("An output that is released while it runs stops")
    func letGo() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        for _ in 0..<5 {
            let before = renderer.sampleTime
            do {
                let output = output(renderer)
                try output.start()
                #expect(await becomesTrue { renderer.sampleTime > before })
            }
            let stopped = renderer.sampleTime
            try? await Task.sleep(for: .milliseconds(10))
            #expect(renderer.sampleTime == stopped)
        }
    }

    @Test("A renderer that only its output holds goes on, and goes with it")
    func ownsRenderer() async throws {
        let lives = Lives()
        weak var gone: Renderer?
        do {
            let output: ClockOutput
            do {
                let object = MortalObject(lives)
                let renderer = try Renderer(channels: 1) { _ in object.touch() }
                gone = renderer
                output = self.output(renderer)
            }
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            #expect(lives.alive == 1)
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(await becomesTrue { gone == nil })
    }

    @Test("Without the right to real-time priority it goes on, and says so")
    func notice() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let output = ClockOutput(renderer, period: 64, priority: 99)
        let told = Record<OutputEvent>()
        let subscription = output.by({ $0() }) { told.add($0) }
        try output.start()
        #expect(await becomesTrue { output.statistics.cycles > 3 })
        output.stop()
        // If real-time priority is allowed, there is no notice.
        for event in told.all {
            if case .notice(let sentence) = event { #expect(sentence.hasSuffix(".") && sentence.contains("limits.d")) }
        }
        subscription.cancel()
    }

    @Test("The events end with the output")
    func eventsEnd() async throws {
        let events: AsyncStream<OutputEvent>
        do {
            let output = output(try Renderer(channels: 1) { _ in })
            events = output.events
        }
        for await _ in events { Issue.record("nothing happened") }
    }
}
