import RenderStack
import Synchronization
import TestSupport
import Testing

/// Reads that return, and waits that end.
@Suite struct TapWaitTests {
    /// Calls a read in a thread of its own while another one renders offline, as fast as it can.
    private func returns(_ tap: some Module, _ read: @escaping @Sendable () -> Void) async throws -> Bool {
        let noise = Counter()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(noise)
            context.run(tap)
            context.output()
        }
        let (stop, hasReturned) = (Flag(), Flag())
        let rendering = Task.detached { while !stop.isSet { _ = renderer.renderOffline(frames: 4_096) } }
        #expect(await becomesTrue { renderer.sampleTime > 100_000 })
        let reading = Task.detached {
            read()
            hasReturned.set()
        }
        let isIn = await becomesTrue(300) { hasReturned.isSet }
        stop.set()
        await rendering.value
        await reading.value
        return isIn
    }

    @Test("A tracker of pitches and a finder of attacks are read while a thread renders offline")
    func reads() async throws {
        let tracker = PitchTracker(channels: 1), onsets = OnsetTap(channels: 1)
        #expect(try await returns(tracker) { _ = tracker.read() })
        #expect(try await returns(onsets) { _ = onsets.read() })
    }

    @Test("Meters, spectra and buffers are read while a thread renders offline")
    func otherReads() async throws {
        let meter = LoudnessMeter(channels: 1), spectrum = SpectrumTap(size: 4_096, channels: 1)
        let buffers = BufferTap(frames: 1, channels: 1)
        let events = buffers.events
        #expect(try await returns(meter) { _ = meter.reading })
        #expect(try await returns(spectrum) { _ = spectrum.latest() })
        #expect(try await returns(buffers) { buffers.deliver() })
        withExtendedLifetime(events) {}
    }

    @Test("Who waits for a recorder can be cancelled, and the recording goes on", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let store = MemorySink.Store()
        let recorder = try FileRecorder(path: "memory", channels: 1) { (_, _) in MemorySink(store, channels: 1) }
        let counter = Counter()
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(recorder)
            context.output()
        }
        recorder.begin()
        _ = renderer.renderOffline(frames: 100)
        for isEarly in [true, false] {
            let wait = Task { try await recorder.waitUntilFinished() }
            if !isEarly { try await Task.sleep(for: .milliseconds(20)) }
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
        }
        #expect(recorder.isRecording)
        _ = renderer.renderOffline(frames: 100)
        // What ends the take closes its file, also in a cancelled task.
        let finish = Task {
            while !Task.isCancelled { await Task.yield() }
            try await recorder.finish()
        }
        finish.cancel()
        try await finish.value
        #expect(store.isFinished.withLock { $0 } && store.samples.withLock { $0[0] } == counted(0..<200))
        try await Task { try await recorder.waitUntilFinished() }.value
    }

    @Test("A take that is called off before a renderer has the recorder is over", .timeLimit(.minutes(1)))
    func calledOff() async throws {
        let recorder = try FileRecorder(path: "memory", channels: 1) { (_, _) in MemorySink(.init(), channels: 1) }
        for time in [RenderTime.immediately, .sample(1_000)] {
            recorder.begin(at: time)
            let wait = Task { try await recorder.waitUntilFinished() }
            recorder.stop()
            try await recorder.waitUntilFinished()
            try await wait.value
        }
        #expect(!recorder.isRecording && recorder.takes.isEmpty)
    }
}
