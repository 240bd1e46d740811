import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// The end of a rendering: faults are delivered, and a render loop that does not end keeps nobody waiting.
@Suite struct OfflineEndTests {
    private func faulty() throws -> Renderer {
        try Renderer(channels: 1) { context in
            context.push()
            if !context.isDryRun { context.pop() }
            context.output()
        }
    }

    @Test("A listener of faults has them when the rendering into memory returns, each of a hundred times")
    func memory() async throws {
        for turn in 0..<100 {
            let renderer = try faulty()
            let faults = Notes<Fault>()
            let subscription = renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) }
            }
            if turn % 2 == 0 {
                _ = renderer.renderOffline(frames: 1_000)
            } else {
                var cycles = 0
                renderer.renderOffline(until: { cycles == 2 }, each: { _ in cycles += 1 })
            }
            await subscription.finish()
            #expect(faults.all.map(\.kind) == [.underflow], "\(turn)")
        }
    }

    @Test(
        "A listener of faults has them when the rendering into a file returns, each of thirty times, and all of them at the end"
    )
    func file() async throws {
        let folder = try TemporaryFolder()
        for turn in 0..<30 {
            let renderer = try faulty()
            let faults = Notes<Fault>()
            let subscription = renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) }
            }
            let output = try FileOutput(renderer, path: "\(folder.path)/\(turn).wav")
            if turn % 2 == 0 {
                try await output.run(for: .milliseconds(40), cycle: 64)
                try await output.run(for: .milliseconds(40), cycle: 64)
            } else {
                try await output.preroll(for: .milliseconds(80))
            }
            try await output.finish()
            await subscription.finish()
            #expect(faults.all.reduce(0) { $0 + $1.count } == renderer.faultCount && renderer.faultCount > 0, "\(turn)")
        }
    }

    @Test("A renderer that goes tells its last faults, and an output that stops")
    func last() async throws {
        for _ in 0..<30 {
            var renderer: Renderer? = try faulty()
            let faults = Notes<Fault>()
            let subscription = renderer?.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) }
            }
            _ = render(try #require(renderer), frames: 1_000)
            renderer = nil
            await subscription?.finish()
            #expect(faults.all.reduce(0) { $0 + $1.count } == 2)
        }
        let renderer = try faulty()
        let faults = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) } }
        let output = ClockOutput(renderer, period: 64, priority: 0)
        try output.start()
        #expect(await becomesTrue { output.statistics.faults > 0 })
        output.stop()
        await subscription.finish()
        #expect(!faults.all.isEmpty)
    }

    @Test("A subscription that ends has had all events before it; one that is cancelled gets no more")
    func subscriptions() async throws {
        let hub = EventHub<Int>()
        struct Source: EventSource {
            let hub: EventHub<Int>
            var events: AsyncStream<Int> { hub.subscribe(greeting: -1) }
        }
        let (heard, missed) = (Notes<Int>(), Notes<Int>())
        let subscription = Source(hub: hub).by({ $0() }) { heard.add($0) }
        let other = Source(hub: hub).by({ $0() }) { event in
            missed.add(event)
            usleep(10_000)
        }
        for event in 0..<1_000 { hub.send(event) }
        other.cancel()
        await subscription.finish()
        #expect(heard.all == Array(-1..<1_000))
        hub.send(1_000)
        await other.finish()
        #expect(heard.count == 1_001 && missed.count < 100)
    }

    /// A renderer whose loop is stuck in a module from some frame on, until it is released.
    private func stuck(after frames: Int64, _ hang: Hang) throws -> Renderer {
        let stuck = ClosureModule(.edits, name: "Stuck") { context in
            while context.sampleTime >= frames && !hang.isReleased.load(ordering: .relaxed) {
                hang.hasBegun.store(true, ordering: .relaxed)
                usleep(1_000)
            }
        }
        return try Renderer(channels: 1) { context in
            context.push()
            context.run(stuck)
            context.output()
        }
    }
    private final class Hang: Sendable {
        let hasBegun = Atomic<Bool>(false)
        let isReleased = Atomic<Bool>(false)
    }

    @Test(
        "A rendering into a file whose loop does not end is told and can be cancelled: an error says where it is, and the file can be finished later"
    )
    func cancelled() async throws {
        let hang = Hang()
        defer { hang.isReleased.store(true, ordering: .relaxed) }
        let folder = try TemporaryFolder()
        let renderer = try stuck(after: 1_000, hang)
        let told = Notes<String?>()
        let subscription = renderer.by({ $0() }) { if case .endless(let module, _) = $0 { told.add(module) } }
        defer { subscription.cancel() }
        let output = try FileOutput(renderer, path: "\(folder.path)/x.wav")
        let run = Task { try await output.run(for: .seconds(10)) }
        #expect(await becomesTrue { !told.all.isEmpty })
        #expect(told.all == ["Stuck"])
        run.cancel()
        let error = await #expect(throws: OutputError.self) { try await run.value }
        #expect(error?.description.contains("Stuck") == true, "\(error as Any)")
        await #expect(throws: OutputError.self) { try await output.finish() }
        await #expect(throws: OutputError.self) { try await output.preroll(for: .seconds(1)) }
        hang.isReleased.store(true, ordering: .relaxed)
        while (try? await output.preroll(for: .zero)) == nil { try await Task.sleep(for: .milliseconds(10)) }
        try await output.finish()
        #expect(try AudioFileReader(path: "\(folder.path)/x.wav").info.frameCount > 0)
    }

    @Test(
        "A file that was not finished leaves the disk with its output, before the program can end",
        .timeLimit(.minutes(2)))
    func leaves() async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<100 {
            await cancelRun(into: "\(folder.path)/x.wav")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
    private func cancelRun(into path: String) async {
        guard let output = try? FileOutput(Renderer(channels: 1), path: path, replacesAtFinish: true) else { return }
        let run = Task { [output] in try await output.run(for: .seconds(1_000_000)) }
        #expect(await becomesTrue { output.frameCount > 0 })
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test("A slow loop that goes on is waited for when its rendering into a file is cancelled")
    func slow() async throws {
        let folder = try TemporaryFolder()
        let renderer = try Renderer(channels: 1) { context in
            context.push()
            if !context.isDryRun { usleep(20_000) }
            context.output()
        }
        let output = try FileOutput(renderer, path: "\(folder.path)/x.wav")
        let run = Task { try await output.run(for: .seconds(1_000), cycle: 256) }
        #expect(await becomesTrue { output.frameCount > 0 })
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        try await output.finish()
    }

    @Test("An output whose loop does not end is no success when its run is asked to end")
    func live() async throws {
        let hang = Hang()
        defer { hang.isReleased.store(true, ordering: .relaxed) }
        let renderer = try stuck(after: 1_000, hang)
        let output = ClockOutput(renderer, period: 64, priority: 0)
        let run = Task { try await output.run(for: nil) }
        #expect(await becomesTrue { hang.hasBegun.load(ordering: .relaxed) })
        run.cancel()
        let error = await #expect(throws: OutputError.self) { try await run.value }
        #expect(error?.description.isEmpty == false && output.state == .stopped)
    }

    @Test("A run that is asked to end in time is one, also after events of a device that was lost")
    func ended() async throws {
        let output = ClockOutput(Renderer(), period: 64, priority: 0)
        let run = Task { try await output.run(for: nil) }
        #expect(await becomesTrue { output.statistics.cycles > 2 })
        run.cancel()
        #expect(try await run.value == false)
        #expect(try await output.run(for: .milliseconds(20)))
    }
}
