import DiskStreaming
import Foundation
import RenderStack
import TestSupport
import Testing

private struct Thrown: Error {}

@Suite struct RecorderTransactionTests {
    private func made(_ store: MemorySink.Store, isMultiSource: Bool = false) throws -> FileRecorder {
        try FileRecorder(
            path: "memory", channels: 1, isMultiSource: isMultiSource,
            openSink: { (_, _) throws(AudioFileError) in MemorySink(store, channels: 1) })
    }

    private func alone(_ recorder: FileRecorder, maximumFrameCount: Int? = nil) throws -> Renderer {
        let counter = Counter()
        return try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            context.run(recorder)
            context.output()
        }
    }

    @Test("A take that was begun in a transaction that is thrown out of is not begun, and the one before goes on")
    func thrown() async throws {
        let store = MemorySink.Store()
        let recorder = try made(store)
        let renderer = try alone(recorder)
        try? renderer.transaction { () throws in
            recorder.begin()
            throw Thrown()
        }
        _ = renderer.renderOffline(frames: 100)
        #expect(!recorder.isRecording)
        try await recorder.waitUntilFinished()
        // A take that is planned stays planned.
        recorder.begin(at: .sample(150))
        try? renderer.transaction { () throws in
            recorder.begin()
            throw Thrown()
        }
        _ = renderer.renderOffline(frames: 100)
        #expect(recorder.isRecording)
        try? renderer.transaction { () throws in
            recorder.begin()
            recorder.stop()
            throw Thrown()
        }
        _ = renderer.renderOffline(frames: 100)
        #expect(recorder.isRecording && recorder.recordedFrameCount == 150)
        try await recorder.finish()
        #expect(store.samples.withLock { $0[0] } == counted(150..<300))
    }

    @Test("A larger layout does not end a take, and loses nothing of it", arguments: [false, true])
    func largerLayout(isMultiSource: Bool) async throws {
        let store = MemorySink.Store()
        let recorder = try made(store, isMultiSource: isMultiSource)
        let renderer = try alone(recorder)
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        renderer.configure(layout: StackLayout(slots: 16, channels: 2, frames: 8_192))
        _ = renderer.renderOffline(frames: 20_000)
        #expect(recorder.isRecording)
        try await recorder.finish()
        #expect(store.samples.withLock { $0[0] } == counted(0..<21_000))
    }

}

/// A disk that takes a part of the last block.
private final class PartialSink: StreamSink {
    var keptFrameCount: Int64? { 700 }
    func write(_ block: borrowing AudioBlock, frames: Int) throws(AudioFileError) {
        throw AudioFileError(path: "memory", reason: .diskFull, explanation: "the disk is meant to be full")
    }
    func finish() throws(AudioFileError) {}
}

@Suite struct RecorderCountTests {
    @Test("A recorder counts the part of the last block that found room on a full disk", .timeLimit(.minutes(1)))
    func partialBlock() async throws {
        let recorder = try FileRecorder(
            path: "memory", channels: 1, openSink: { (_, _) throws(AudioFileError) in PartialSink() })
        let counter = Counter()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            context.run(recorder)
            context.output()
        }
        var events = recorder.events.makeAsyncIterator()
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        try? await recorder.finish()
        while let event = await events.next() {
            guard case .finished(_, let frames) = event else { continue }
            #expect(frames == 700)
            break
        }
    }
}
