import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A sample rate that changes while a recorder records.
@Suite struct RecorderRateTests {
    /// A folder of the test's own.
    private final class Place: Sendable {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("rates-\(UUID().uuidString)").path
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        func file(_ name: String) -> String { "\(path)/\(name)" }
        func contents(_ name: String) throws -> (rate: Double, samples: [Float]) {
            var reader = try AudioFileReader(path: file(name))
            var block = AudioBlock(channels: 1, frames: Int(reader.info.frameCount))
            _ = try reader.read(into: &block)
            return (reader.info.sampleRate, block.array(0))
        }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    private func made(_ path: String, isMultiSource: Bool = false) throws -> (FileRecorder, Renderer) {
        let counter = Counter()
        let recorder = try FileRecorder(path: path, channels: 1, isMultiSource: isMultiSource)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            context.run(recorder)
            context.output()
        }
        return (recorder, renderer)
    }

    @Test("A recording goes on in a new file without losing a frame, and an event says so", arguments: [false, true])
    func goesOn(isMultiSource: Bool) async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"), isMultiSource: isMultiSource)
        var events = recorder.events.makeAsyncIterator()
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        renderer.configure(sampleRate: 96_000)
        #expect(recorder.isRecording)
        _ = renderer.renderOffline(frames: 500)
        #expect(recorder.isRecording && recorder.path == place.file("take-2.wav"))
        renderer.configure(sampleRate: 44_100)
        _ = renderer.renderOffline(frames: 300)
        try await recorder.finish()
        for (name, rate, frames) in [
            ("take.wav", 48_000.0, 0..<1_000), ("take-2.wav", 96_000, 1_000..<1_500),
            ("take-3.wav", 44_100, 1_500..<1_800),
        ] {
            let (found, samples) = try place.contents(name)
            #expect(found == rate && samples == frames.map { Float($0) }, "\(name)")
        }
        #expect(recorder.takes.map(\.path) == ["take.wav", "take-2.wav", "take-3.wav"].map(place.file))
        #expect(recorder.takes.map(\.sampleRate) == [48_000, 96_000, 44_100])
        #expect(recorder.takes.map(\.frameCount) == [1_000, 500, 300])
        // Each file is finished by itself.
        var told: [FileRecorderEvent] = [], finished = 0
        while finished < 3, let event = await events.next() {
            told.append(event)
            if case .finished = event { finished += 1 }
        }
        let first = FileRecorderEvent.rateChanged(
            path: place.file("take.wav"), from: 48_000, to: 96_000, next: place.file("take-2.wav"))
        #expect(
            told.filter { if case .rateChanged = $0 { true } else { false } } == [
                first,
                .rateChanged(
                    path: place.file("take-2.wav"), from: 96_000, to: 44_100, next: place.file("take-3.wav")),
            ])
        #expect(first.description.hasSuffix("the recording goes on in \"\(place.file("take-2.wav"))\"."))
        #expect(told.count { if case .finished = $0 { true } else { false } } == 3)
        #expect(told.contains(.finished(path: place.file("take-3.wav"), frames: 300)))
    }

    @Test("A stop that was planned ends the recording in whichever file it then is")
    func plannedStop() async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin(at: .sample(100))
        recorder.stop(at: .sample(1_200))
        let wait = Task { try await recorder.waitUntilFinished() }
        _ = renderer.renderOffline(frames: 1_000)
        renderer.configure(sampleRate: 96_000)
        _ = renderer.renderOffline(frames: 1_000)
        try await recorder.waitUntilFinished()
        try await wait.value
        #expect(try place.contents("take.wav").samples == (100..<1_000).map { Float($0) })
        #expect(try place.contents("take-2.wav").samples == (1_000..<1_200).map { Float($0) })
        #expect(place.names == ["take-2.wav", "take.wav"])
    }

    @Test(
        "A rate that comes back before a frame is rendered changes nothing, and the file that was made is the next take's"
    )
    func thereAndBack() async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        renderer.configure(sampleRate: 96_000)
        renderer.configure(sampleRate: 44_100)
        renderer.configure(sampleRate: 48_000)
        _ = renderer.renderOffline(frames: 500)
        recorder.begin()
        _ = renderer.renderOffline(frames: 250)
        try await recorder.finish()
        #expect(try place.contents("take.wav").samples == (0..<1_500).map { Float($0) })
        let (rate, samples) = try place.contents("take-2.wav")
        #expect(rate == 48_000 && samples == (1_500..<1_750).map { Float($0) })
        #expect(place.names == ["take-2.wav", "take.wav"])
    }

    @Test("A take that waits for its time has the new rate; one that runs goes on until then")
    func waitingTake() async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        recorder.begin(at: .sample(2_000))
        renderer.configure(sampleRate: 96_000)
        _ = renderer.renderOffline(frames: 2_000)
        try await recorder.finish()
        // The second file was asked for first.
        #expect(try place.contents("take.wav").samples == (0..<1_000).map { Float($0) })
        #expect(try place.contents("take-2.wav") == (96_000, (2_000..<3_000).map { Float($0) }))
        #expect(try place.contents("take-3.wav") == (96_000, (1_000..<2_000).map { Float($0) }))
    }

    @Test("A file that nobody named takes the place of none")
    func namesThatAreTaken() async throws {
        let place = try Place()
        for name in ["take-2.wav", "take-4.wav"] {
            try Data("old".utf8).write(to: URL(fileURLWithPath: place.file(name)))
        }
        #expect(symlink("nowhere", place.file("take-3.wav")) == 0)
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin()
        _ = renderer.renderOffline(frames: 10)
        renderer.configure(sampleRate: 96_000)
        _ = renderer.renderOffline(frames: 10)
        try await recorder.finish()
        #expect(place.names == (1...5).map { $0 == 1 ? "take.wav" : "take-\($0).wav" }.sorted())
        #expect(FileManager.default.contents(atPath: place.file("take-2.wav")) == Data("old".utf8))
        #expect(try place.contents("take-5.wav").samples.count == 10)
    }

    @Test("If no file can be made to go on in, the events and the end say why", .timeLimit(.minutes(1)))
    func cannotGoOn() async throws {
        let place = try Place()
        let folder = place.file("gone")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let (recorder, renderer) = try made("\(folder)/take.wav")
        var events = recorder.events.makeAsyncIterator()
        recorder.begin()
        _ = renderer.renderOffline(frames: 1_000)
        try FileManager.default.moveItem(atPath: folder, toPath: place.file("kept"))
        renderer.configure(sampleRate: 96_000)
        _ = renderer.renderOffline(frames: 500)
        #expect(!recorder.isRecording)
        do throws(AudioFileError) {
            try await recorder.finish()
            Issue.record("no error")
        } catch { #expect(error.reason == .missingFolder) }
        #expect(try place.contents("kept/take.wav").samples == (0..<1_000).map { Float($0) })
        var hasBeenTold = false
        while let event = await events.next() {
            if case .finished = event { break }
            if event == .rateChanged(path: "\(folder)/take.wav", from: 48_000, to: 96_000, next: nil) {
                hasBeenTold = true
            }
        }
        #expect(hasBeenTold)
    }

    @Test("Rates that change while another thread renders lose no frame")
    func whileItRenders() async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin()
        _ = renderer.renderOffline(frames: 64)
        let stop = Flag()
        let rendering = Task.detached {
            while !stop.isSet { _ = renderer.renderOffline(frames: 64) }
        }
        for rate in [96_000.0, 44_100, 8_000, 48_000, 192_000] {
            renderer.configure(sampleRate: rate)
            let frame = renderer.sampleTime
            #expect(await becomesTrue { renderer.sampleTime >= frame + 640 })
        }
        stop.set()
        await rendering.value
        try await recorder.finish()
        let heard = try recorder.takes.flatMap { take in
            try place.contents(String(take.path.dropFirst(place.path.count + 1))).samples
        }
        #expect(heard.count == Int(renderer.sampleTime))
        #expect(heard.enumerated().first { $0.element != Float($0.offset) }?.offset == nil)
        #expect(recorder.takes.map(\.sampleRate) == [48_000, 96_000, 44_100, 8_000, 48_000, 192_000])
    }

    @Test("A recording goes on through rates that change faster than cycles come", .timeLimit(.minutes(1)))
    func faster() async throws {
        let place = try Place()
        let (recorder, renderer) = try made(place.file("take.wav"))
        recorder.begin()
        _ = renderer.renderOffline(frames: 64)
        let stop = Flag()
        let rendering = Task.detached {
            while !stop.isSet { _ = renderer.renderOffline(frames: 64) }
        }
        for round in 0..<100 { renderer.configure(sampleRate: [96_000.0, 44_100, 48_000, 8_000][round % 4]) }
        let frame = renderer.sampleTime
        #expect(await becomesTrue { renderer.sampleTime >= frame + 640 })
        stop.set()
        await rendering.value
        #expect(recorder.isRecording)
        try await recorder.finish()
        let last = try place.contents(String(try #require(recorder.takes.last).path.dropFirst(place.path.count + 1)))
        #expect(last.rate == 8_000 && last.samples.last == Float(renderer.sampleTime - 1))
        #expect(last.samples.enumerated().allSatisfy { $0.element == last.samples[0] + Float($0.offset) })
    }
}

/// A flag for two threads.
final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
}
