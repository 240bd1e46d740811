import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Outputs under closures that do not end, that stop their own output, and in pairs.
@Suite struct OutputTests {
    @Test("perform() ends with an error when the renderer goes, and when its task is cancelled")
    func performEnds() async throws {
        var renderer: Renderer? = Renderer()
        let messages = try #require(renderer?.messages)
        let waiting = Task { try await messages.perform { _ in } }
        let cancelled = Task { try await messages.perform { _ in } }
        try await Task.sleep(for: .milliseconds(50))
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        renderer = nil
        await #expect(throws: RendererGone.self) { try await waiting.value }
        await #expect(throws: RendererGone.self) { try await messages.perform { _ in } }
        _ = renderer
    }

    @Test("A closure that stops and starts its own output leaves one thread, which renders at the right speed")
    func restartsItself() async throws {
        let held = HeldOutput()
        let turns = Atomic<Int>(0)
        let renderer = try Renderer { context in
            context.push()
            context.output()
            if !context.isDryRun, turns.add(1, ordering: .relaxed).newValue == 3 {
                held.output?.stop()
                try? held.output?.start()
            }
        }
        let output = ClockOutput(renderer, period: 64, priority: 0)
        held.output = output
        try output.start()
        #expect(await becomesTrue { turns.load(ordering: .relaxed) >= 3 })
        // The cycle in which it was stopped is the last.
        #expect(await becomesTrue { (try? output.start()) != nil && output.state == .running })
        output.stop()
        let count = turns.load(ordering: .relaxed)
        try await Task.sleep(for: .milliseconds(50))
        #expect(turns.load(ordering: .relaxed) == count)
        held.output = nil
    }

    @Test("An output whose closure does not end says in which module it is, and can be stopped")
    func endless() async throws {
        let isReleased = Atomic<Bool>(false)
        let stuck = ClosureModule(.edits, name: "Stuck") { context in
            while !context.isDryRun && !isReleased.load(ordering: .relaxed) { usleep(1_000) }
        }
        let renderer = try Renderer { context in
            context.push()
            context.run(stuck)
            context.output()
        }
        let output = ClockOutput(renderer, period: 64, priority: 0)
        let events = Events(output)
        let told = Notes<String>()
        let subscription = renderer.by({ $0() }) { event in
            if case .endless(let module, _) = event { told.add(module ?? "closure") }
        }
        try output.start()
        #expect(await becomesTrue { told.all == ["Stuck"] })
        #expect(await becomesTrue { events.count { "\($0)".contains("Stuck") } >= 1 })
        #expect(await ends { output.stop() })
        #expect(output.state == .stopped)
        let error = #expect(throws: OutputError.self) { try output.start() }
        #expect(error?.description.contains("Stuck") == true)
        isReleased.store(true, ordering: .relaxed)
        #expect(await becomesTrue { (try? output.start()) != nil })
        output.stop()
        subscription.cancel()
    }

    @Test("Two outputs cannot drive one renderer, and nothing else renders it meanwhile")
    func twoOutputs() async throws {
        let renderer = try Renderer { context in
            context.push()
            context.output()
        }
        let (first, second) = (ClockOutput(renderer, priority: 0), ClockOutput(renderer, priority: 0))
        try first.start()
        let error = #expect(throws: OutputError.self) { try second.start() }
        #expect(error?.description.contains("driven by a ClockOutput already") == true)
        #expect(second.state == .stopped)
        let faults = renderer.faultCount
        _ = renderer.renderOffline(frames: 16)
        #expect(renderer.faultCount == faults + 1)
        first.stop()
        try second.start()
        second.stop()
        _ = renderer.renderOffline(frames: 16)
        #expect(renderer.faultCount == faults + 1)
    }
}

/// An output that its own closure knows.
final class HeldOutput: Sendable {
    private let held = Guarded<ClockOutput?>(nil)
    var output: ClockOutput? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}
