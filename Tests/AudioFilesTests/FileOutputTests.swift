import Foundation
import Glibc
import RenderCore
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import AudioFiles

/// A fixed number of frames of noise-free ramp, then an echo that halves every 4,800 frames, in its last channel only.
private final class Fading: Generator {
    let frames: Int64
    private let channels: Int
    init(frames: Int64, channels: Int = 2) {
        self.frames = frames
        self.channels = channels
    }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        let start = context.sampleTime
        var top = context.top
        var last = top[channels - 1]
        for i in last.indices {
            let time = start &+ Int64(i)
            if time < frames {
                last[i] = 0.5
            } else if (time &- frames) % 4_800 == 0 {
                // One sample per echo, half as loud each time.
                var level: Float = 0.5, echo = (time &- frames) / 4_800
                while echo > 0 {
                    level *= 0.5
                    echo &-= 1
                }
                last[i] = level
            }
        }
    }
}

@Suite struct FileOutputTests {
    private func tone(channels: Int = 2) throws -> Renderer {
        let tone = Oscillator(frequency: 441, level: 0.5)
        return try Renderer(sampleRate: 44_100, channels: channels) { context in
            context.run(tone)
            context.output()
        }
    }

    @Test("A time is rendered into a file, exact to the frame, in several runs, as it sounds live")
    func time() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        let output = try FileOutput(try tone(), path: path)
        #expect(try await output.run(for: .milliseconds(500)) == 22_050)
        #expect(try await output.run(for: .nanoseconds(22_676), cycle: 7) == 1)
        #expect(try await output.run(for: .zero) == 0)
        #expect(try await output.run(for: .seconds(-1)) == 0)
        #expect(try await output.run(for: .milliseconds(100), cycle: 4_096) == 4_410)
        #expect(output.frameCount == 26_461)
        try await output.finish()
        try await output.finish()
        let info = try AudioFileInfo(path: path)
        #expect(info.frameCount == 26_461 && info.sampleRate == 44_100 && info.channelCount == 2)
        #expect(try read(path) == render(try tone(), frames: 26_461))
        await #expect(throws: AudioFileError.self) { try await output.run(for: .seconds(1)) }
    }

    @Test(
        "Blocks end where pages of the system's memory do, and no frame is lost between them",
        arguments: [.int16, .int24, .float32] as [AudioFileFormat.Encoding])
    func blocks(encoding: AudioFileFormat.Encoding) async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        let output = try FileOutput(try tone(), path: path, format: .wav(encoding))
        #expect(try await output.run(for: .seconds(2), cycle: 100) == 88_200)
        try await output.finish()
        for (heard, expected) in zip(try read(path), render(try tone(), frames: 88_200)) {
            #expect(heard.count == 88_200 && zip(heard, expected).allSatisfy { abs($0 - $1) <= 0x1p-15 })
        }
        let other = folder.file("b.wav")
        var writer = try AudioFileWriter(path: other, format: .wav(.int16), sampleRate: 48_000, channels: 2)
        let first = writer.wholeBlocks(of: 20_000)
        let tooFew = writer.wholeBlocks(of: first - 1)
        #expect(tooFew == 0 && first * 4 < 65_536 && first * 4 > 65_000)
        try writer.write(AudioBlock(channels: 2, frames: first))
        let size = try FileManager.default.attributesOfItem(atPath: other)[.size] as? Int
        #expect(size == 65_536)
        let (none, two) = (writer.wholeBlocks(of: 16_383), writer.wholeBlocks(of: 40_000))
        #expect(none == 0 && two == 32_768)
        try writer.finish()
    }

    @Test("The renderer gets the rate and the channels that are asked for")
    func settings() async throws {
        let folder = try Folder(), path = folder.file("a.flac"), renderer = try tone()
        let output = try FileOutput(renderer, path: path, sampleRate: 96_000, channels: 1, tags: [.title: "T"])
        #expect(renderer.sampleRate == 96_000 && renderer.channelCount == 1 && output.sampleRate == 96_000)
        try await output.run(for: .seconds(1))
        try await output.finish()
        let info = try AudioFileInfo(path: path)
        #expect(info.frameCount == 96_000 && info.channelCount == 1 && info.tags == [.title: "T"])
        #expect(abs(level(try read(path)[0], frequency: 441, sampleRate: 96_000) + 6.02) < 0.1)
    }

    @Test("An output for a file that cannot be throws when it is made, and leaves the renderer alone")
    func refused() throws {
        let renderer = try tone()
        for (path, rate, channels) in [("/nowhere/a.wav", 48_000.0, 2), ("a.opus", 44_100, 2), ("a.flac", 48_000, 9)] {
            #expect(throws: AudioFileError.self) {
                _ = try FileOutput(renderer, path: path, sampleRate: rate, channels: channels)
            }
        }
        #expect(renderer.sampleRate == 44_100 && renderer.channelCount == 2)
    }

    @Test("A pre-roll is rendered and not written")
    func preroll() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        let output = try FileOutput(try tone(), path: path)
        try await output.preroll(for: .milliseconds(100))
        #expect(output.frameCount == 0 && output.clippedCount == 0)
        try await output.run(for: .milliseconds(100))
        try await output.finish()
        #expect(try read(path)[1] == Array(render(try tone(), frames: 8_820)[1][4_410...]))
    }

    @Test("A condition ends it, asked before each cycle")
    func condition() async throws {
        let folder = try Folder(), path = folder.file("a.wav"), renderer = try tone()
        let output = try FileOutput(renderer, path: path)
        #expect(try await output.run(until: { renderer.sampleTime >= 10_000 }, cycle: 100) == 10_000)
        #expect(try await output.run(until: { true }) == 0)
        try await output.finish()
        #expect(try AudioFileInfo(path: path).frameCount == 10_000)
    }

    @Test("Then until every channel is silent for a while, and no longer than is asked for")
    func silence() async throws {
        let folder = try Folder()
        func frames(_ silence: Silence) async throws -> Int64 {
            let fading = Fading(frames: 4_800)
            let renderer = try Renderer { context in
                context.run(fading)
                context.output()
            }
            let output = try FileOutput(renderer, path: folder.file("a.wav"))
            let count = try await output.run(for: .milliseconds(100), tail: silence, cycle: 100)
            try await output.finish()
            return count
        }
        // Echoes 0…12 are above -80 dB; the last at 4,800 × 13, and the window begins with the cycle behind it.
        #expect(try await frames(Silence()) == 62_400 + 100 + 24_000)
        // A window shorter than the pause between two echoes ends in the first pause.
        #expect(try await frames(Silence(window: .milliseconds(50))) == 4_800 + 100 + 2_400)
        #expect(try await frames(Silence(level: 0.1)) == 4_800 * 4 + 100 + 24_000 - 4_800)
        #expect(try await frames(Silence(longest: .milliseconds(200))) == 4_800 + 9_600)
        #expect(try await frames(Silence(longest: .zero)) == 4_800)
    }

    @Test("Each output becomes a file of its own, in one pass, with the names given or numbers")
    func tracks() async throws {
        let folder = try Folder(), low = Constant(0.25, channels: 2), high = Constant(0.5)
        let renderer = try Renderer(channels: 2, auxiliaryOutputs: [1, 3]) { context in
            context.run(low)
            context.output()
            context.run(high)
            context.output(to: .auxiliary(1))
        }
        let output = try FileOutput(
            renderer, folder: folder.file("stems"), names: ["Mix", nil, "Mix/../x"], format: .flac(.int16))
        #expect(output.paths == ["Mix", "Track 02", "Mix-..-x"].map { folder.file("stems/\($0).flac") })
        try await output.run(for: .milliseconds(10))
        try await output.finish()
        let files = try output.paths.map { try read($0) }
        let expected = [(0.25, 2), (0.5, 1), (0, 3)].map { level, channels in
            [[Float]](repeating: [Float](repeating: Float(level), count: 480), count: channels)
        }
        #expect(files == expected)
        #expect(try AudioFileInfo(path: output.paths[0]).tags[.title] == "Mix")
    }

    @Test("A single output of many channels becomes pairs; each has its own file")
    func pairs() async throws {
        let folder = try Folder(), wide = Fading(frames: 100, channels: 5)
        let renderer = try Renderer(channels: 5) { context in
            context.run(wide)
            context.output()
        }
        let output = try FileOutput(renderer, folder: folder.path, names: ["A", "A"])
        #expect(output.paths == ["A", "A 2", "Track 03"].map { folder.file("\($0).wav") })
        try await output.run(for: .milliseconds(1))
        try await output.finish()
        let files = try output.paths.map { try read($0) }
        #expect(files.map(\.count) == [2, 2, 1] && files[2] == [[Float](repeating: 0.5, count: 48)])
        #expect(files[0] == [[Float]](repeating: [Float](repeating: 0, count: 48), count: 2))
    }

    @Test("Another renderer from the next run on")
    func anotherRenderer() async throws {
        let folder = try Folder(), path = folder.file("a.wav"), loud = Constant(0.75)
        let output = try FileOutput(try tone(), path: path)
        try await output.run(for: .milliseconds(10))
        let second = try Renderer(sampleRate: 8_000, channels: 1) { context in
            context.run(loud)
            context.output()
        }
        await output.use(second)
        #expect(second.sampleRate == 44_100 && second.channelCount == 2)
        try await output.run(for: .milliseconds(10))
        try await output.finish()
        let channels = try read(path)
        #expect(channels[1].count == 882 && channels[1][441...].allSatisfy { $0 == 0.75 })
    }

    @Test("Transactions apply without a device, on their frame")
    func transactions() async throws {
        let folder = try Folder(), path = folder.file("a.wav"), source = Constant(1), gain = Gain(1)
        let renderer = try Renderer { context in
            context.run(source)
            context.run(gain)
            context.output()
        }
        let output = try FileOutput(renderer, path: path)
        try renderer.transaction(at: .sample(700)) { gain.level.value = 0.5 }
        try await output.run(for: .milliseconds(20))
        try await output.finish()
        let samples = try read(path)[0]
        #expect((700...701).contains(samples.firstIndex { $0 != 1 } ?? 0) && samples[900] < 0.8)
    }

    @Test("progress: how far, how fast, how long still")
    func progress() async throws {
        let folder = try Folder()
        let told = Mutex<[FileOutput.Progress]>([])
        let output = try FileOutput(try tone(), path: folder.file("a.wav"))
        try await output.run(for: .seconds(20), cycle: 64) { progress in told.withLock { $0.append(progress) } }
        try await output.finish()
        let all = told.withLock { $0 }
        let last = try #require(all.last)
        #expect(last.frame == 882_000 && last.frameCount == 882_000 && last.remaining == .zero && last.speed > 0)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.frame <= $1.frame && $0.elapsed <= $1.elapsed })
        #expect(abs(last.speed * (last.elapsed / .seconds(1)) - 20) < 1e-6)
        for progress in all.dropLast() {
            let remaining = try #require(progress.remaining), share = Double(progress.frame) / 882_000
            #expect(abs(remaining / progress.elapsed - (1 - share) / share) < 1e-3 / share)
        }
    }

    @Test(
        "a cancel leaves a valid file with what was rendered, which may go on", arguments: ["a.wav", "a.flac", "a.ogg"])
    func cancel(name: String) async throws {
        let folder = try Folder(), path = folder.file(name)
        let output = try FileOutput(try tone(), path: path)
        let task = Task {
            try await output.run(for: .seconds(3_600)) { progress in
                if progress.frame > 10_000 { withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let count = output.frameCount
        #expect(count > 10_000 && count < 3_600 * 44_100)
        if name == "a.wav" { #expect(try AudioFileInfo(path: path).frameCount == count) }
        try await output.run(for: .milliseconds(100))
        try await output.finish()
        #expect(try AudioFileInfo(path: path).frameCount == count + 4_410)
    }

    @Test("A full disk reaches the caller, and what found room is playable")
    func fullDisk() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        await #expect(processExitsWith: .success) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let source = Constant(0.5)
            let renderer = try Renderer { context in
                context.run(source)
                context.output()
            }
            let output = try FileOutput(renderer, path: path)
            for _ in 0..<2 {
                do {
                    try await output.run(for: .seconds(10))
                    Issue.record("a full disk went unnoticed")
                } catch let error as AudioFileError {
                    #expect(error.reason == .tooLong && error.path == path)
                }
            }
            #expect(output.frameCount == (100_000 - 92) / 8)
            try await output.finish()
        }
        #expect(try read(path)[0] == [Float](repeating: 0.5, count: (100_000 - 92) / 8))
    }

    private final class Turns: Sendable { let count = Atomic<Int>(0) }

    @Test("it renders off the caller's thread: the main actor goes on meanwhile")
    @MainActor
    func offMain() async throws {
        let folder = try Folder()
        let output = try FileOutput(try tone(), path: folder.file("a.wav"))
        let isMain = Mutex(false)
        let turns = Turns()
        let ticking = Task { @MainActor in
            while !Task.isCancelled {
                turns.count.wrappingAdd(1, ordering: .relaxed)
                await Task.yield()
            }
        }
        let hasGoneOn = Mutex(false)
        try await output.run(for: .seconds(5)) { _ in
            if Thread.isMainThread { isMain.withLock { $0 = true } }
            if hasGoneOn.withLock({ $0 }) { return }
            // Rendering stands still here until the main actor has had two turns.
            let (before, end) = (turns.count.load(ordering: .relaxed), ContinuousClock.now + .seconds(20))
            while turns.count.load(ordering: .relaxed) < before + 2 && ContinuousClock.now < end { usleep(200) }
            hasGoneOn.withLock { $0 = turns.count.load(ordering: .relaxed) >= before + 2 }
        }
        ticking.cancel()
        #expect(hasGoneOn.withLock { $0 } && !isMain.withLock { $0 })
    }
}
