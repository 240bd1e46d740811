import Glibc
import RealtimeWatch
import RenderStack
import Testing

/// With `swift test` these run without the watchdog, and scripts/check-watchdog runs them once more under it: each says
/// what is to happen in both.
@Suite struct RealtimeWatchTests {
    let isPresent = RealtimeWatch.isPresent

    @Test func theWatchdogIsThereWhereItShouldBe() {
        if unsafe getenv("RENDERSTACK_WATCHED") != nil { #expect(RealtimeWatch.isPresent) }
    }

    @Test func anArrayIsFound() {
        var numbers: [Int] = []
        let found = realtimeViolations { numbers = (0..<100).map { $0 } }
        #expect(numbers.count == 100)
        #expect(!found.isEmpty)
        #expect(found.isWatched == isPresent)
        if isPresent {
            #expect(found.blocks > 0)
            #expect("\(found)".contains("blocking call"))
            // What is seen depends on how the standard library was linked: its own function, or libc's under it.
            let isAllocation = found.calls.contains { ["swift_allocObject", "malloc"].contains($0.function) }
            #expect(isAllocation, "\(found)")
            #expect(found.calls.reduce(0) { $0 + $1.count } == found.blocks + found.mayBlock)
            #expect(found.calls.allSatisfy { "\(found)".contains("\($0.count) × \($0.function)") })
            #expect(found.calls.first?.tier == .blocks)
        } else {
            #expect("\(found)".contains("not watched"))
            #expect("\(found)".contains("rtwatch --follow -- swift test"))
        }
    }

    @Test func aRenderCycleIsClean() throws {
        let tone = Oscillator(frequency: 440)
        let renderer = try Renderer { context in
            context.run(tone)
            context.output()
        }
        var block = AudioBlock(channels: 2, frames: 512)
        // Debug builds look metadata up when code first runs.
        let found = realtimeViolations(warmUp: 2) { renderer.render(into: &block) }
        #expect(found.isEmpty == isPresent, "\(found)")
        #expect(found.calls.isEmpty)
        #expect(block.peak > 0.1)
    }

    @Test func theShortFormSaysYesOrNo() {
        var sum = 0
        #expect(noRealtimeViolations { sum += 1 } == isPresent)
        #expect(sum == 1)
        #expect(!noRealtimeViolations(warmUp: 3) { sum = [sum, sum].map { $0 + 1 }[0] })
        #expect(sum == 5)
    }

    @Test func permittedIsNotJudged() {
        var numbers: [Int] = []
        let found = realtimeViolations { RealtimeWatch.permitted { numbers = (0..<100).map { $0 } } }
        #expect(numbers.count == 100)
        #expect(found.isEmpty == isPresent, "\(found)")
    }

    @Test func whatIsThrownAndReturnedPasses() throws {
        struct Failure: Error {}
        #expect(RealtimeWatch.watched("test", period: .milliseconds(1)) { 7 } == 7)
        #expect(RealtimeWatch.permitted { 8 } == 8)
        #expect(throws: Failure.self) { try RealtimeWatch.watched("test") { throw Failure() } }
        #expect(throws: Failure.self) { try RealtimeWatch.permitted { throw Failure() } }
        #expect(throws: Failure.self) { try realtimeViolations { throw Failure() } }
        // None of them has left the cycle or the permit open.
        let before = RealtimeWatch.count(.blocks)
        let numbers = (0..<100).map { $0 }
        #expect(RealtimeWatch.count(.blocks) == before && numbers.count == 100)
        // Used, so that no optimiser leaves it out.
        var others: [Int] = []
        let found = realtimeViolations { others = (0..<100).map { $0 + numbers.count } }
        #expect((found.blocks > 0) == isPresent, "\(found)")
        #expect(others.count == 100)
    }

    @Test func anyPeriodWillDo() {
        for period in [Duration.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max), .seconds(1) / 3] {
            RealtimeWatch.enter("test", period: period)
            RealtimeWatch.exit()
        }
    }
}
