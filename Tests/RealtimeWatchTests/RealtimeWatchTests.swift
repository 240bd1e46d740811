import Glibc
import RealtimeWatch
import RenderStack
import Testing

/// With `swift test` these run without the watchdog, and scripts/checks/watchdog runs them once more under it: each says
/// what is to happen in both.
@Suite struct RealtimeWatchTests {
    let isPresent = RealtimeWatch.isPresent

    @Test func theWatchdogIsThereWhereItShouldBe() {
        if unsafe getenv("RENDERSTACK_WATCHED") != nil { #expect(RealtimeWatch.isPresent) }
    }

    /// Returns the violations; `nil` without the watchdog, where the call throws. The closure runs there too.
    private func found(warmUp: Int = 0, _ body: () throws -> Void) throws -> RealtimeViolations? {
        if isPresent { return try realtimeViolations(warmUp: warmUp, body) }
        #expect(throws: NotWatched.self) { try realtimeViolations(warmUp: warmUp, body) }
        return nil
    }

    @Test func anArrayIsFound() throws {
        var numbers: [Int] = []
        let found = try found { numbers = (0..<100).map { $0 } }
        #expect(numbers.count == 100)
        guard let found else { return }
        #expect(!found.isEmpty)
        #expect(found.blocks > 0)
        #expect("\(found)".contains("blocking call"))
        // The name depends on how the standard library was linked: its own function, or libc's under it.
        let isAllocation = found.calls.contains { ["swift_allocObject", "malloc"].contains($0.function) }
        #expect(isAllocation, "\(found)")
        #expect(found.calls.reduce(0) { $0 + $1.count } == found.blocks + found.mayBlock)
        #expect(found.calls.allSatisfy { "\(found)".contains("\($0.count) × \($0.function)") })
        #expect(found.calls.first?.tier == .blocks)
    }

    @Test func unwatchedNeitherAnswerCanBeExpected() throws {
        guard !isPresent else { return }
        let error = #expect(throws: NotWatched.self) { try realtimeViolations {}.isEmpty }
        #expect(throws: NotWatched.self) { try !realtimeViolations {}.isEmpty }
        #expect(throws: NotWatched.self) { try noRealtimeViolations {} }
        #expect(throws: NotWatched.self) { try !noRealtimeViolations {} }
        #expect(error?.description.contains("rtwatch --follow -- swift test") == true)
    }

    @Test func aRenderCycleIsClean() throws {
        let tone = Oscillator(frequency: 440)
        let renderer = try Renderer { context in
            context.run(tone)
            context.output()
        }
        var block = AudioBlock(channels: 2, frames: 512)
        // Debug builds look metadata up when code first runs.
        if let found = try found(warmUp: 2, { renderer.render(into: &block) }) {
            #expect(found.isEmpty, "\(found)")
            #expect(found.calls.isEmpty)
        }
        #expect(block.peak > 0.1)
    }

    @Test func theShortFormSaysYesOrNo() throws {
        guard isPresent else { return }
        var sum = 0
        #expect(try noRealtimeViolations { sum += 1 })
        #expect(sum == 1)
        #expect(try !noRealtimeViolations(warmUp: 3) { sum = [sum, sum].map { $0 + 1 }[0] })
        #expect(sum == 5)
    }

    @Test func permittedIsNotJudged() throws {
        var numbers: [Int] = []
        let found = try found { RealtimeWatch.permitted { numbers = (0..<100).map { $0 } } }
        #expect(numbers.count == 100)
        #expect(found?.isEmpty ?? true, "\(found as Any)")
    }

    @Test func errorsAndResultsPassThrough() throws {
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
        let found = try found { others = (0..<100).map { $0 + numbers.count } }
        #expect((found.map { $0.blocks > 0 }) ?? true, "\(found as Any)")
        #expect(others.count == 100)
    }

    @Test func anyPeriodWillDo() {
        for period in [Duration.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.max), .seconds(1) / 3] {
            RealtimeWatch.enter("test", period: period)
            RealtimeWatch.exit()
        }
    }
}
