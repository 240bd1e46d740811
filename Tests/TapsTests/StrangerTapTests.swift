import RenderStack
import TestSupport
import Testing

/// A tap that a closure of a second renderer calls directly: it belongs to the first one.
@Suite struct StrangerTapTests {
    @Test("A tap that another renderer has hears nothing there, with one fault a slice")
    func taps() throws {
        let (buffers, level, loudness) = (BufferTap(frames: 64, channels: 1), LevelMeter(), LoudnessMeter(channels: 1))
        let store = MemorySink.Store()
        let recorder = try FileRecorder(
            path: "memory", channels: 1,
            openSink: { (_, _) throws(AudioFileError) in MemorySink(store, channels: 1) })
        let quiet = Counter()
        let owner = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(quiet)
            context.gain(1e-6)
            context.run(buffers)
            context.run(level)
            context.run(loudness)
            context.run(recorder)
            context.output()
        }
        let calls: [@Sendable (inout RenderContext) -> Void] = [
            { buffers.process(&$0) }, { level.process(&$0) }, { loudness.process(&$0) }, { recorder.process(&$0) },
        ]
        recorder.begin()
        _ = owner.renderOffline(frames: 64)
        for call in calls {
            let loud = Counter()
            let stranger = try Renderer(sampleRate: 48_000, channels: 1) { context in
                context.run(loud)
                call(&context)
                context.output()
            }
            let before = stranger.faultCount
            for _ in 0..<50 {
                _ = stranger.renderOffline(frames: 512)
                _ = owner.renderOffline(frames: 64)
            }
            #expect(stranger.faultCount - before == 50)
        }
        var block = AudioBlock(channels: 1, frames: 64 * 201)
        let chunk = buffers.read(into: &block)
        #expect(chunk.frameCount == 64 * 201)
        let expected = counted(0..<64 * 201).map { (number: Float) in number * 1e-6 }
        #expect(block.array(0) == expected)
        #expect(level.combined.peak < -30)
        #expect(recorder.recordedFrameCount == 64 * 201)
    }
}
