import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// An output as another package writes it: a thread of its own renders, and gives the blocks to a closure, which says
/// when the listener is gone.
private final class StreamOutput: RenderOutput {
    private let core: OutputCore
    private let take: @Sendable (borrowing AudioBlock) -> Bool
    private let frames: Int

    init(_ renderer: Renderer, frames: Int = 64, _ take: @escaping @Sendable (borrowing AudioBlock) -> Bool) {
        core = OutputCore(renderer, called: "a StreamOutput")
        self.take = take
        self.frames = frames
    }

    func start() throws {
        try core.start(thread: "stream", priority: 0) { [take, frames] run in
            var block = AudioBlock(channels: run.channelCount, frames: frames)
            while run.goesOn {
                run.render(into: &block)
                guard take(block) else { return run.send(.lost("The listener is gone.")) }
            }
        }
    }
    func stop() { core.stop() }
    var state: OutputState { core.state }
    var statistics: OutputStatistics { core.statistics }
    var events: AsyncStream<OutputEvent> { core.events }
}

/// An output as another package writes it for a server that calls by itself.
private final class ServedOutput: RenderOutput {
    private let core: OutputCore
    private let run = Guarded<OutputRun?>(nil)

    init(_ renderer: Renderer) { core = OutputCore(renderer, called: "a ServedOutput") }

    func start() throws { if let new = try core.start(sampleRate: 44_100) { run.withLock { $0 = new } } }
    func stop() { core.stop() }
    var state: OutputState { core.state }
    var statistics: OutputStatistics { core.statistics }
    var events: AsyncStream<OutputEvent> { core.events }

    /// The callback of the server.
    func call(_ block: inout AudioBlock) {
        if let run = run.withLock({ $0 }) { run.render(into: &block) }
    }
    func miss(_ count: Int) {
        for _ in 0..<count { run.withLock { $0 }?.noteMissedDeadline() }
    }
    func show(_ state: OutputState) { core.show(state) }
}

/// Pushes the number of each frame, from 1.
private final class Count: Generator {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let first = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = Float(first + Int64(i) + 1) }
    }
}

private func counting() throws -> Renderer {
    let count = Count()
    return try Renderer(channels: 1) { context in
        context.run(count)
        context.output()
    }
}

/// Outputs that are written with the public interface alone.
@Suite struct OwnOutputTests {
    @Test("every frame comes once and in order, over many starts and stops; the statistics count each run anew")
    func frames() async throws {
        let heard = Notes<[Float]>()
        let renderer = try counting()
        let output = StreamOutput(renderer) { block in
            heard.add(block.array(0))
            usleep(200)
            return true
        }
        #expect(output.state == .stopped)
        for _ in 0..<10 {
            let before = heard.count
            try output.start()
            try output.start()
            #expect(output.state == .running)
            #expect(await becomesTrue { heard.count >= before + 3 })
            output.stop()
            output.stop()
            #expect(output.state == .stopped)
            #expect(output.statistics.cycles == heard.count - before)
            #expect(output.statistics.faults == 0)
        }
        let numbers = counted(1...heard.count * 64)
        #expect(heard.all.flatMap(\.self) == numbers)
        #expect(renderer.sampleTime == Int64(heard.count * 64))
        // It is free again.
        #expect(renderer.renderOffline(frames: 1).array(0) == [Float(heard.count * 64 + 1)])
    }

    @Test("a notice names the module of a closure that does not end; stop() returns, start() throws until it ends")
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
        let output = StreamOutput(renderer) { _ in true }
        let events = Events(output)
        try output.start()
        #expect(await becomesTrue { events.count { "\($0)".contains("Stuck") } >= 1 })
        #expect(await ends { output.stop() })
        #expect(output.state == .stopped)
        let error = #expect(throws: OutputError.self) { try output.start() }
        #expect(error?.description.contains("Stuck") == true)
        // Nor may another output have its renderer.
        #expect(throws: OutputError.self) { try ClockOutput(renderer, priority: 0).start() }
        isReleased.store(true, ordering: .relaxed)
        #expect(await becomesTrue { (try? output.start()) != nil })
        output.stop()
    }

    @Test("it drives its renderer alone, and says so by its name")
    func twice() async throws {
        let renderer = try counting()
        let (first, second) = (StreamOutput(renderer) { _ in usleep(500) == 0 }, ClockOutput(renderer, priority: 0))
        try first.start()
        let error = #expect(throws: OutputError.self) { try second.start() }
        #expect(error?.description.contains("driven by a StreamOutput already") == true)
        #expect(throws: OutputError.self) { try ServedOutput(renderer).start() }
        let faults = renderer.faultCount
        _ = renderer.renderOffline(frames: 16)
        #expect(renderer.faultCount == faults + 1)
        first.stop()
        try second.start()
        #expect(throws: OutputError.self) { try first.start() }
        #expect(first.state == .stopped)
        second.stop()
    }

    @Test(
        "a thread that returns because what it plays to is gone: told, stopped, run(for:) throws, and it starts again")
    func lost() async throws {
        let isGone = Atomic<Bool>(true)
        let renderer = try counting()
        let output = StreamOutput(renderer) { _ in
            usleep(500)
            return !isGone.load(ordering: .relaxed)
        }
        let error = await #expect(throws: OutputError.self) { try await output.run(for: .seconds(60)) }
        #expect(error?.description == "The listener is gone.")
        #expect(output.state == .stopped)
        // The output was not stopped, and is started anew.
        try output.start()
        #expect(await becomesTrue { output.state == .stopped })
        isGone.store(false, ordering: .relaxed)
        try output.start()
        #expect(output.state == .running)
        #expect(await becomesTrue { output.statistics.cycles > 3 })
        output.stop()
    }

    @Test("an output that stops itself from its own closure, and one that is dropped while it runs, end")
    func ownClosure() async throws {
        let held = Guarded<StreamOutput?>(nil)
        let turns = Atomic<Int>(0)
        let renderer = try Renderer { context in
            context.push()
            context.output()
            if !context.isDryRun, turns.add(1, ordering: .relaxed).newValue == 3 { held.withLock { $0 }?.stop() }
        }
        let output = StreamOutput(renderer) { _ in usleep(500) == 0 }
        held.withLock { $0 = output }
        try output.start()
        #expect(await becomesTrue { output.state == .stopped })
        #expect(turns.load(ordering: .relaxed) == 3)
        #expect(await becomesTrue { (try? output.start()) != nil })
        output.stop()
        held.withLock { $0 = nil }

        // In the first cycle of each run, which may come before start() has returned.
        let early = Guarded<StreamOutput?>(nil)
        let hasty = try Renderer { context in
            context.push()
            context.output()
            if !context.isDryRun { early.withLock { $0 }?.stop() }
        }
        let short = StreamOutput(hasty) { _ in true }
        early.withLock { $0 = short }
        for _ in 0..<100 {
            #expect(await becomesTrue { (try? short.start()) != nil })
            try #require(await becomesTrue { short.state == .stopped })
        }
        early.withLock { $0 = nil }

        let free = try counting()
        do {
            let dropped = StreamOutput(free) { _ in usleep(500) == 0 }
            try dropped.start()
        }
        let now = free.sampleTime
        let frame = free.renderOffline(frames: 1).array(0)
        #expect(frame == [Float(now + 1)])
    }

    @Test("a server's calls are rendered from start to stop, and silent before and after, from any thread")
    func served() async throws {
        let renderer = try counting()
        let output = ServedOutput(renderer)
        let isOver = Atomic<Bool>(false)
        let heard = Notes<[Float]>()
        let server = Attempt {
            var block = AudioBlock(channels: 1, frames: 32)
            while !isOver.load(ordering: .relaxed) {
                output.call(&block)
                heard.add(block.array(0))
                usleep(100)
            }
        }
        for _ in 0..<20 {
            try output.start()
            #expect(renderer.sampleRate == 44_100)
            #expect(await becomesTrue { output.statistics.cycles >= 3 })
            // From several threads at once.
            #expect(await allEnd((0..<3).map { _ in { output.stop() } }))
            #expect(output.state == .stopped)
        }
        isOver.store(true, ordering: .relaxed)
        #expect(await server.ends())
        let sounding = heard.all.flatMap(\.self).filter { $0 != 0 }
        #expect(sounding == counted(1...sounding.count))
        #expect(Int64(sounding.count) == renderer.sampleTime)
        #expect(renderer.faultCount == 0)
    }

    @Test("missed deadlines are counted and told; a state that is shown is seen until the stop")
    func told() async throws {
        let output = ServedOutput(try counting())
        let events = Events(output)
        try output.start()
        output.miss(3)
        #expect(output.statistics.missedDeadlines == 3)
        #expect(output.statistics.lastMissedDeadline != nil)
        // In one event, unless the output has looked in between.
        #expect(
            await becomesTrue {
                events.all.reduce(0) { if case .missedDeadlines(let count) = $1 { $0 + count } else { $0 } } == 3
            })
        output.show(.waiting)
        #expect(output.state == .waiting)
        output.stop()
        #expect(output.state == .stopped)
        try output.start()
        #expect(output.statistics.missedDeadlines == 0)
        output.stop()
    }
}
