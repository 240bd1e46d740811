import DiskStreaming
import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Takes that the render loop begins, splits and ends.
@Suite struct PreparedTakeTests {
    private func names(_ folder: TemporaryFolder) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    private func samples(_ path: String) throws -> [Float] {
        var reader = try AudioFileReader(path: path)
        var block = AudioBlock(channels: reader.info.channelCount, frames: Int(reader.info.frameCount))
        _ = try reader.read(into: &block)
        return block.array(0)
    }

    /// The orders of a loop to the recorder, at sample times that it computes itself.
    private enum Way: Sendable {
        /// A take begins every so many frames, from the first on.
        case splits(every: Int64)
        /// A take begins at each multiple of the one number, and ends so many frames behind.
        case pieces(every: Int64, length: Int64)
    }

    private func renderer(_ recorder: FileRecorder, _ way: Way) throws -> Renderer {
        let counter = Counter()
        return try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            let (first, end) = (context.sampleTime, context.sampleTime + Int64(context.frameCount))
            switch way {
            case .splits(let period):
                var next = (first + period - 1) / period * period
                while next < end {
                    recorder.begin(inFrame: Int(next - first), &context)
                    next += period
                }
            case .pieces(let period, let length):
                var next = first / period * period
                while next < end {
                    if next >= first { recorder.begin(inFrame: Int(next - first), &context) }
                    if next + length >= first && next + length < end {
                        recorder.stop(inFrame: Int(next + length - first), &context)
                    }
                    next += period
                }
            }
            context.run(recorder)
            context.output()
        }
    }

    @Test(
        "Splits come on their frame, and nothing is lost or doubled: the files together are the sound, to the bit",
        arguments: [[1], [64], [4_096], [3, 500, 1, 64, 2_000]], [Int64(1_000), 617, 4_096])
    func splits(cycles: [Int], period: Int64) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let recorder = try FileRecorder(path: "\(path)/unused.wav", channels: 1, ringSeconds: 0.25)
        recorder.prepareTakes(8) { number in "\(path)/bar-\(number).wav" }
        #expect(recorder.takes.isEmpty && !recorder.isRecording)
        let renderer = try renderer(recorder, .splits(every: period))
        let total = 12_345
        let heard = render(renderer, frames: total, cycles: cycles)[0]
        #expect(recorder.isRecording)
        try await recorder.finish()
        let count = (total + Int(period) - 1) / Int(period)
        let takes = recorder.takes
        #expect(takes.map(\.path) == (1...count).map { "\(path)/bar-\($0).wav" })
        #expect(takes.dropLast().allSatisfy { $0.frameCount == period })
        #expect(try takes.flatMap { try samples($0.path) } == heard)
        #expect(recorder.gapCount == 0 && renderer.faultCount == 0)
    }

    @Test("Takes begin and end on their frames, several in a slice too", arguments: [[1], [64], [4_096]])
    func pieces(cycles: [Int]) async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1, ringSeconds: 0.25)
        recorder.prepareTakes(4)
        let renderer = try renderer(recorder, .pieces(every: 2_000, length: 701))
        let heard = render(renderer, frames: 9_000, cycles: cycles)[0]
        #expect(!recorder.isRecording)
        try await recorder.finish()
        let names = ["take.wav"] + (2...5).map { "take-\($0).wav" }
        #expect(recorder.takes.map(\.path) == names.map { "\(folder.path)/\($0)" })
        for (number, name) in names.enumerated() {
            #expect(try samples("\(folder.path)/\(name)") == Array(heard[2_000 * number..<2_000 * number + 701]))
        }
        #expect(renderer.faultCount == 0)
    }

    @Test("Without a file that is ready nothing changes: the take goes on, and an event tells it")
    func unprepared() async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1)
        let events = recorder.events
        let renderer = try renderer(recorder, .splits(every: 100))
        recorder.begin()
        let heard = render(renderer, frames: 1_000, cycles: [64])[0]
        try await recorder.finish()
        #expect(try samples("\(folder.path)/take.wav") == heard && recorder.takes.count == 1)
        var count = 0
        for await event in events {
            if case .unprepared(let more) = event { count += more }
            if count == 10 { break }
        }
    }

    @Test("Files that were prepared and never begun go with the recorder, or when none are wanted")
    func unused() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        defer { withExtendedLifetime(folder) {} }
        do {
            let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
            recorder.prepareTakes(3)
            #expect(names(folder) == ["take-2.wav", "take-3.wav", "take.wav"])
            recorder.prepareTakes(1)
            #expect(names(folder) == ["take.wav"])
            recorder.prepareTakes(2) { "\(path)/named-\($0).wav" }
            #expect(names(folder) == ["named-1.wav", "named-2.wav", "take.wav"])
            let renderer = try renderer(recorder, .splits(every: 1_000_000))
            _ = render(renderer, frames: 64)
            try await recorder.finish()
            let all = (1...3).map { "named-\($0).wav" } + ["take.wav"]
            #expect(await becomesTrue { names(folder) == all })
        }
        #expect(await becomesTrue { names(folder) == ["named-1.wav", "take.wav"] })
        let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
        recorder.prepareTakes(2)
        recorder.prepareTakes(0)
        // The recorder's own first file is not one of those that were prepared.
        #expect(names(folder) == ["named-1.wav", "take.wav"])
        recorder.begin()
        let renderer = try renderer(recorder, .pieces(every: 1_000_000, length: 500_000))
        _ = render(renderer, frames: 64)
        try await recorder.finish()
        #expect(recorder.takes.count == 1 && recorder.takes[0].frameCount == 64)
        #expect(recorder.takes[0].path == "\(path)/take.wav")
    }

    @Test("Control code that begins or prepares just behind the render loop leaves the take that runs alone")
    func behindTheLoop() async throws {
        for round in 0..<20 {
            let folder = try TemporaryFolder()
            let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1)
            recorder.prepareTakes(2)
            let renderer = try renderer(recorder, .splits(every: 1_000_000))
            _ = render(renderer, frames: 64)
            if round % 2 == 0 {
                recorder.begin()
            } else {
                recorder.prepareTakes(0)
                #expect(recorder.isRecording && recorder.path == "\(folder.path)/take.wav")
                #expect(recorder.recordedFrameCount == 64)
                recorder.begin(at: .sample(1_000_000))
                #expect(recorder.isRecording)
            }
            _ = render(renderer, frames: 100)
            try await recorder.finish()
            #expect(recorder.takes.map(\.frameCount) == (round % 2 == 0 ? [64, 100] : [164]))
        }
    }

    @Test("A take in a file that was prepared is kept, and none goes into a file to which another is written")
    func ownFiles() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        defer { withExtendedLifetime(folder) {} }
        weak var gone: FileRecorder?
        do {
            let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
            gone = recorder
            recorder.prepareTakes(2)
            let renderer = try renderer(recorder, .splits(every: 1_000_000))
            _ = render(renderer, frames: 64)
            try recorder.begin(path: "\(path)/./take-2.wav")
            _ = render(renderer, frames: 100)
            #expect(throws: AudioFileError.self) { try recorder.begin(path: "\(path)/take-2.wav") }
            _ = render(renderer, frames: 100)
            try await recorder.finish()
            #expect(recorder.takes.map(\.frameCount) == [64, 200])
        }
        #expect(await becomesTrue { gone == nil })
        #expect(try samples("\(path)/take-2.wav") == ramp(200, from: 64))
        do {
            let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
            gone = recorder
            try recorder.begin(path: "\(path)/take.wav")
            let renderer = try renderer(recorder, .pieces(every: 1_000_000, length: 500_000))
            _ = render(renderer, frames: 64)
            try await recorder.finish()
        }
        #expect(await becomesTrue { gone == nil })
        #expect(try samples("\(path)/take.wav").count == 64)
    }

    @Test("Files are there when the call returns, also while another thread makes one, whose name is not used")
    func busy() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
        let gate = TestSupport.Gate(), isAsked = Guarded(false)
        gate.shut()
        let first = Task.detached {
            recorder.prepareTakes(1) { _ in
                isAsked.withLock { $0 = true }
                gate.pass()
                return "\(path)/old.wav"
            }
        }
        #expect(await becomesTrue { isAsked.now })
        recorder.prepareTakes(2) { "\(path)/new-\($0).wav" }
        #expect(names(folder) == ["new-1.wav", "new-2.wav", "take.wav"])
        gate.open()
        await first.value
        #expect(names(folder) == ["new-1.wav", "new-2.wav", "take.wav"])
    }

    @Test("Control code begins and ends among them, each on its frame")
    func both() async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1)
        recorder.prepareTakes(6)
        let counter = Counter()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            if context.sampleTime == 0 {
                recorder.begin(inFrame: 100, &context)
                recorder.begin(inFrame: 700, &context)
                recorder.begin(inFrame: 1_500, &context)
            }
            context.run(recorder)
            context.output()
        }
        recorder.begin(at: .sample(400))
        recorder.stop(at: .sample(900))
        _ = render(renderer, frames: 2_000, cycles: [1_000])
        try await recorder.finish()
        let spans = try recorder.takes.map { take in
            let all = try samples(take.path)
            return [all.first ?? -1, all.last ?? -1]
        }.sorted { $0[0] < $1[0] }
        #expect(spans == [[100, 399], [400, 699], [700, 899], [1_500, 1_999]])
    }

    @Test("At another sample rate the files that wait are made anew, and the take goes on")
    func rates() async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1)
        recorder.prepareTakes(3)
        let renderer = try renderer(recorder, .splits(every: 500))
        _ = render(renderer, frames: 750, cycles: [250])
        renderer.configure(sampleRate: 44_100)
        _ = render(renderer, frames: 750, cycles: [250])
        try await recorder.finish()
        let takes = recorder.takes
        #expect(takes.reduce(0) { $0 + $1.frameCount } == 1_500, "\(takes)")
        #expect(takes.map(\.sampleRate).sorted() == [44_100, 44_100, 48_000, 48_000])
        #expect(Set(try takes.flatMap { try samples($0.path) }).count == 1_500)
        for take in takes { #expect(try AudioFileInfo(path: take.path).sampleRate == take.sampleRate) }
    }

    @Test("Several buffers of a slice are mixed into each of the takes that share it")
    func multiSource() async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1, isMultiSource: true)
        recorder.prepareTakes(6)
        let counter = Counter()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            if context.sampleTime == 0 { for split in 0..<5 { recorder.begin(inFrame: 100 * split, &context) } }
            context.run(recorder)
            context.run(recorder)
            context.output()
        }
        let heard = render(renderer, frames: 1_024, cycles: [512])[0]
        try await recorder.finish()
        #expect(recorder.takes.map(\.frameCount) == [100, 100, 100, 100, 624])
        #expect(try recorder.takes.flatMap { try samples($0.path) } == heard.map { 2 * $0 })
    }

    @Test("Hostile numbers and names: frames of any size, more calls than there is room for, names twice or impossible")
    func hostile() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let recorder = try FileRecorder(path: "\(path)/take.wav", channels: 1)
        let events = recorder.events
        for count in [-1, Int.min] {
            recorder.prepareTakes(count)
        }
        recorder.prepareTakes(64)
        let taken = Guarded([Bool]())
        let counter = Counter()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(counter)
            if context.sampleTime == 0 && !context.isDryRun {
                var answers: [Bool] = []
                for frame in [Int.min, -1, .max, 1_000_000] { answers.append(recorder.begin(inFrame: frame, &context)) }
                for frame in 0..<20 { answers.append(recorder.begin(inFrame: frame, &context)) }
                answers.append(recorder.stop(inFrame: 3, &context))
                taken.withLock { $0 = answers }
            }
            context.run(recorder)
            context.output()
        }
        let heard = render(renderer, frames: 512, cycles: [64])[0]
        #expect(taken.now == Array(repeating: true, count: 16) + Array(repeating: false, count: 9))
        recorder.stop()
        _ = render(renderer, frames: 64)
        try await recorder.finish()
        #expect(try recorder.takes.flatMap { try samples($0.path) } == heard)

        for name in ["\(path)/same.wav", "", "\(path)/none/x.wav", "a\0b.wav", "/proc/nothing.wav"] {
            recorder.prepareTakes(2) { _ in name }
            var hasFailed = false
            for await event in events {
                if case .failed(let error) = event {
                    #expect(!"\(error)".isEmpty)
                    hasFailed = true
                    break
                }
            }
            #expect(hasFailed)
        }
        await #expect(throws: AudioFileError.self) { try await recorder.finish() }
    }

    @Test(
        "Control code and the render loop begin and end at the same time, and no frame is in two files",
        .timeLimit(.minutes(2)))
    func threads() async throws {
        let folder = try TemporaryFolder()
        let recorder = try FileRecorder(path: "\(folder.path)/take.wav", channels: 1, ringSeconds: 0.25)
        recorder.prepareTakes(4)
        let renderer = try renderer(recorder, .splits(every: 333))
        let isOver = Guarded(false)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<60 {
                    switch round % 4 {
                    case 0: recorder.begin()
                    case 1: recorder.prepareTakes(1 + round % 5)
                    case 2: recorder.stop()
                    default: _ = (recorder.takes, recorder.isRecording, recorder.path, recorder.recordedTime)
                    }
                    try? await Task.sleep(for: .milliseconds(1))
                }
                isOver.withLock { $0 = true }
            }
            group.addTask {
                while !isOver.now {
                    _ = render(renderer, frames: 128, cycles: [64])
                    await Task.yield()
                }
            }
        }
        try await recorder.finish()
        let all = try recorder.takes.flatMap { try samples($0.path) }
        #expect(Set(all).count == all.count && recorder.gapCount == 0)
        for take in recorder.takes {
            let part = try samples(take.path)
            #expect(Int64(part.count) == take.frameCount)
            #expect(zip(part, part.dropFirst()).allSatisfy { $1 - $0 == 1 })
        }
        #expect(renderer.faultCount == 0)
    }
}
