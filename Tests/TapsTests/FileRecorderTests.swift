import DiskStreaming
import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A file in memory, on a disk that can be full or slow.
final class MemorySink: StreamSink {
    final class Store: Sendable {
        let samples = Lock<[[Float]]>([])
        let isFinished = Lock(false)
        let gate = Atomic<Bool>(true)
    }
    let store: Store
    let fullAt: Int
    init(_ store: Store, channels: Int, fullAt: Int = .max) {
        self.store = store
        self.fullAt = fullAt
        store.samples.withLock { $0 = Array(repeating: [], count: channels) }
    }
    func write(_ block: borrowing AudioBlock, frames: Int) throws(AudioFileError) {
        while !store.gate.load(ordering: .acquiring) { usleep(200) }
        let arrays = (0..<block.channelCount).map { block.array($0)[..<frames] }
        let count = store.samples.withLock { samples in
            for channel in arrays.indices { samples[channel] += arrays[channel] }
            return samples[0].count
        }
        if count >= fullAt {
            throw AudioFileError(path: "memory", reason: .diskFull, explanation: "the disk is meant to be full")
        }
    }
    func finish() throws(AudioFileError) { store.isFinished.withLock { $0 = true } }
}

/// Pushes the number of the frame in each channel, plus the channel.
final class Counter: Generator {
    let channels: Int
    init(channels: Int = 1) { self.channels = channels }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        let first = context.sampleTime
        var top = context.top
        for channel in 0..<channels {
            var samples = top[channel]
            for i in samples.indices { samples[i] = Float(first + Int64(i)) + Float(channel) * 0.25 }
        }
    }
}

private func temporary(_ name: String) -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("recorder-\(UUID().uuidString)-\(name)").path
}

private func contents(_ path: String) throws -> [[Float]] {
    var reader = try AudioFileReader(path: path)
    var block = AudioBlock(channels: reader.info.channelCount, frames: Int(reader.info.frameCount))
    _ = try reader.read(into: &block)
    return (0..<block.channelCount).map { block.array($0) }
}

@Suite struct FileRecorderTests {
    @Test(
        "A take begins and ends on the frame, and what it hears stays as it is",
        arguments: cycleLengths)
    func exactTimes(cycles: [Int]) async throws {
        let path = temporary("take.wav")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let counter = Counter()
        let recorder = try FileRecorder(path: path, channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(recorder)
            context.output()
        }
        recorder.begin(at: .sample(1_234))
        recorder.stop(at: .sample(7_891))
        let output = render(renderer, frames: 10_000, cycles: cycles)
        try await recorder.waitUntilFinished()
        #expect(try contents(path)[0] == (1_234..<7_891).map { Float($0) })
        #expect(recorder.recordedFrameCount == 7_891 - 1_234)
        #expect(recorder.gapCount == 0)
        // The sound that it hears is unchanged.
        #expect(output[0] == counted(0..<10_000))
    }

    @Test("A time in host nanoseconds is counted by the buffer's own stamp")
    func ownStamp() async throws {
        let path = temporary("take.wav")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let counter = Counter()
        let recorder = try FileRecorder(path: path, channels: 1)
        // An input whose samples were made 100 frames ago.
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            let time = context.time
            context.top.time = RenderTime(
                sampleTime: time.sampleTime! - 100, hostTime: time.hostTime! - 100 * 1_000_000_000 / 48_000)
            context.run(recorder)
        }
        var block = AudioBlock(channels: 1, frames: 480)
        recorder.begin(at: .host(50_000_000))
        recorder.stop(at: .host(60_000_000))
        for cycle in 0..<10 {
            renderer.render(into: &block, hostTime: Int64(cycle) * 10_000_000, isOffline: true)
        }
        try await recorder.waitUntilFinished()
        #expect(try contents(path)[0] == (2_500..<2_980).map { Float($0) })
    }

    @Test("Fewer channels are the sum, more repeat the last one")
    func channels() async throws {
        let stereo = Counter(channels: 2)
        let stores = (0..<2).map { _ in MemorySink.Store() }
        let mono = try FileRecorder(path: "m", channels: 1) { (_, _) in MemorySink(stores[0], channels: 1) }
        let four = try FileRecorder(path: "f", channels: 4) { (_, _) in MemorySink(stores[1], channels: 4) }
        let renderer = try Renderer { context in
            context.run(stereo)
            context.run(mono)
            context.run(four)
            context.output()
        }
        mono.begin()
        four.begin()
        let output = renderer.renderOffline(frames: 1_000)
        try await mono.finish()
        try await four.finish()
        let (left, right) = (output.array(0), output.array(1))
        let sum = zip(left, right).map { (left: Float, right: Float) -> Float in left + right }
        #expect(stores[0].samples.withLock { $0 } == [sum])
        #expect(stores[1].samples.withLock { $0 } == [left, right, right, right])
    }

    @Test("The buffers of one slice are mixed, and the last slice is written", arguments: cycleLengths)
    func multiSource(cycles: [Int]) async throws {
        let (one, two) = (Counter(), Constant(1_000_000))
        let store = MemorySink.Store()
        let recorder = try FileRecorder(path: "m", channels: 1, isMultiSource: true) { (_, _) in
            MemorySink(store, channels: 1)
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(one)
            context.run(recorder)
            context.run(two)
            context.run(recorder)
        }
        recorder.begin(at: .sample(77))
        _ = render(renderer, frames: 3_000, cycles: cycles)
        try await recorder.finish()
        #expect(store.samples.withLock { $0[0] } == counted(1_000_077..<1_003_000))
    }

    @Test("Several takes, each a file of its own, with its true time; one can follow on the next frame")
    func takes() async throws {
        let paths = [temporary("a.wav"), temporary("b.flac")]
        let counter = Counter()
        let recorder = try FileRecorder(path: paths[0], channels: 1)
        let second = FileRecorderTests.second(of: paths[0])
        defer { for path in paths + [second] { try? FileManager.default.removeItem(atPath: path) } }
        let volume = Gain(1 / 65_536)
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(volume)
            context.run(recorder)
        }
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        #expect(recorder.isRecording)
        let seconds: Double = 1_000 / 48_000
        #expect(recorder.recordedTime == seconds)
        recorder.begin(at: .sample(1_500))  // on the frame after the first take's last
        _ = renderer.renderOffline(frames: 1_000)
        recorder.stop()
        _ = renderer.renderOffline(frames: 100)
        #expect(!recorder.isRecording)
        try recorder.begin(path: paths[1])
        _ = renderer.renderOffline(frames: 500)
        try await recorder.finish()
        func frames(_ range: Range<Int>) -> [Float] { range.map { Float($0) / 65_536 } }
        #expect(try contents(paths[0])[0] == frames(0..<1_500))
        #expect(try contents(second)[0] == frames(1_500..<2_000))
        #expect(try contents(paths[1])[0] == frames(2_100..<2_600))
        #expect(recorder.path == paths[1])
    }

    private static func second(of path: String) -> String { path.replacingOccurrences(of: ".wav", with: "-2.wav") }

    @Test("A disk that is too slow costs a gap of silence, counted, and time stays right")
    func slowDisk() async throws {
        let store = MemorySink.Store()
        let counter = Counter()
        let recorder = try FileRecorder(path: "m", channels: 1, ringSeconds: 0.25) { (_, _) in
            MemorySink(store, channels: 1)
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(recorder)
        }
        let events = recorder.events
        recorder.begin()
        store.gate.store(false, ordering: .releasing)
        // Not offline: the renderer does not wait for the disk.
        var block = AudioBlock(channels: 1, frames: 480)
        for cycle in 0..<100 { renderer.render(into: &block, hostTime: Int64(cycle) * 10_000_000) }
        store.gate.store(true, ordering: .releasing)
        // Until there is room again.
        while recorder.gapCount == 0 {
            renderer.render(into: &block)
            try await Task.sleep(for: .milliseconds(1))
        }
        let heard = Int(renderer.sampleTime)
        try await recorder.finish()
        let samples = store.samples.withLock { $0[0] }
        #expect(samples.count == heard)
        #expect(recorder.gapCount > 0)
        let missing = samples.indices.filter { samples[$0] != Float($0) }
        #expect(missing.count == Int(recorder.gapCount))
        #expect(missing.allSatisfy { samples[$0] == 0 })
        for await event in events {
            if case .gap(_, let frames) = event {
                #expect(frames > 0)
                break
            }
        }
    }

    @Test("Offline a slow disk is waited for: nothing is missing")
    func offlineWaits() async throws {
        let store = MemorySink.Store()
        let counter = Counter()
        let recorder = try FileRecorder(path: "m", channels: 1, ringSeconds: 0.25) { (_, _) in
            MemorySink(store, channels: 1)
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(recorder)
        }
        recorder.begin()
        _ = renderer.renderOffline(frames: 200_000, cycle: 4_096)
        try await recorder.finish()
        #expect(store.samples.withLock { $0[0] } == counted(0..<200_000))
        #expect(recorder.gapCount == 0)
    }

    @Test("A full disk is an error of finish and an event; what was written is closed")
    func fullDisk() async throws {
        let store = MemorySink.Store()
        let counter = Counter()
        let recorder = try FileRecorder(path: "m", channels: 1) { (_, _) in
            MemorySink(store, channels: 1, fullAt: 20_000)
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.run(recorder)
        }
        let events = recorder.events
        recorder.begin()
        _ = renderer.renderOffline(frames: 400_000, cycle: 4_096)
        await #expect(throws: AudioFileError.self) { try await recorder.finish() }
        #expect(store.isFinished.withLock { $0 })
        #expect(store.samples.withLock { $0[0] }.prefix(20_000) == counted(0..<20_000)[...])
        for await event in events {
            if case .failed(let error) = event {
                #expect(error.reason == .diskFull)
                break
            }
        }
    }

    @Test("A recorder refuses a device, and a folder that is not there")
    func refused() throws {
        let path = temporary("null.wav")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (path, reason) in [
            (path, AudioFileError.Reason.notAFile), ("/dev/null", .notAFile),
            ("no/such/folder/take.wav", .missingFolder),
        ] {
            do throws(AudioFileError) {
                _ = try FileRecorder(path: path, format: .wav())
                Issue.record("\(path)")
            } catch { #expect(error.reason == reason && error.path == path) }
        }
    }

    @Test("A recorder that goes without finish finishes its file")
    func goes() async throws {
        let path = temporary("take.wav")
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let counter = Counter()
            let recorder = try FileRecorder(path: path, channels: 1)
            let renderer = try Renderer(channels: 1) { context in
                context.run(counter)
                context.run(recorder)
            }
            recorder.begin()
            _ = renderer.renderOffline(frames: 5_000)
        }
        // The disk thread may be the last to release it.
        _ = await becomesTrue { (try? contents(path))?[0].count == 5_000 }
        #expect(try contents(path)[0] == (0..<5_000).map { Float($0) })
    }

    @Test("A stop before the start calls it off; a file of another rate is made anew")
    func calledOff() async throws {
        let path = temporary("take.wav")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let counter = Counter()
        let recorder = try FileRecorder(path: path, channels: 1)
        let renderer = try Renderer(sampleRate: 44_100, channels: 1) { context in
            context.run(counter)
            context.run(recorder)
        }
        recorder.begin(at: .sample(2_000))
        _ = renderer.renderOffline(frames: 500)
        recorder.stop()
        _ = renderer.renderOffline(frames: 5_000)
        try await recorder.waitUntilFinished()
        #expect(recorder.recordedFrameCount == 0)
        // The rate in the header of a WAV file that has no frames.
        let bytes = try #require(FileManager.default.contents(atPath: path))
        let format = try #require(bytes.range(of: Data("fmt ".utf8)))
        let rate = (0..<4).reduce(0) { $0 | Int(bytes[format.upperBound + 8 + $1]) << (8 * $1) }
        #expect(rate == 44_100)
    }
}
