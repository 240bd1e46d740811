import Foundation
import RenderCore
import Synchronization
import TestSupport
import Testing

@testable import AudioFiles

@Suite struct LoadingTests {
    @Test("A whole file becomes a block, with the file's rate and channels")
    func whole() async throws {
        let folder = try Folder(), path = folder.file("a.flac")
        try write(ramp(channels: 3, frames: 150_000), to: path, format: .flac(.int16))
        let told = Mutex<[AudioFileProgress]>([])
        let block = try await AudioBlock.load(path: path) { progress in told.withLock { $0.append(progress) } }
        #expect(block.channels == ramp(channels: 3, frames: 150_000).channels)
        let all = told.withLock { $0 }
        #expect(all.map(\.frame) == [65_536, 131_072, 150_000, 150_000] && all.last?.fraction == 1)
        #expect(all.allSatisfy { $0.frameCount == 150_000 && $0.notice == nil })
    }

    @Test("Channels as asked for: mono to all, many into mono, else by number", arguments: [1, 2, 9, 64])
    func channels(wanted: Int) async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        for given in [1, 2, 12] {
            let source = sine(channels: given, frames: 500, level: 0.05)
            try write(source, to: path)
            let block = try await AudioBlock.load(path: path, channels: wanted)
            var expected = AudioBlock(channels: wanted, frames: 500)
            expected.copy(from: source)
            #expect(block.channels == expected.channels)
        }
    }

    @Test(
        "Another sample rate: as long as it should be, and the tone where it was",
        arguments: [(44_100.0, 48_000.0), (48_000, 44_100), (96_000, 32_000)])
    func rates(from: Double, to: Double) async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        let frames = 100_003
        try write(sine(channels: 2, frames: frames, rate: from), to: path, sampleRate: from)
        let block = try await AudioBlock.load(path: path, sampleRate: to, channels: 1)
        #expect(block.frameCount == Int((Double(frames) * to / from).rounded(.up)))
        // The sum of both channels, at the same times.
        var worst = 0.0
        for frame in 1_000..<block.frameCount - 1_000 {
            let time = Double(frame) / to
            let expected = 0.5 * (sin(2 * Double.pi * 440 * time) + sin(2 * Double.pi * 550 * time))
            worst = max(worst, abs(Double(block[0, frame]) - expected))
        }
        #expect(worst < 1e-5)
    }

    @Test("A file that ends early gives what is there, and the last progress says so")
    func truncated() async throws {
        let folder = try Folder(), path = folder.file("a.flac")
        try write(FullDiskTests.noise(frames: 96_000), to: path)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: path))
        let told = Mutex<AudioFileProgress?>(nil)
        let block = try await AudioBlock.load(path: path) { progress in told.withLock { $0 = progress } }
        #expect((40_000...48_000).contains(block.frameCount))
        let last = told.withLock { $0 }
        #expect(last?.notice?.contains("cut off") == true && last?.frame == Int64(block.frameCount))
    }

    @Test("Loading throws if the file is missing, or if its header promises more than any memory")
    func refused() async throws {
        let folder = try Folder(), path = folder.file("a.flac")
        await #expect(throws: AudioFileError.self) { _ = try await AudioBlock.load(path: path).frameCount }
        try write(ramp(channels: 2, frames: 10_000), to: path)
        for (rate, channels) in [(0.0, 2), (.nan, 2), (48_000, 0), (48_000, 65)] {
            await #expect(throws: AudioFileError.self) {
                _ = try await AudioBlock.load(path: path, sampleRate: rate, channels: channels).frameCount
            }
        }
        // 2^36 - 1 frames in the header of a file of some kilobytes: decoded once to see how many there are.
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        bytes[21] |= 15
        for i in 22..<26 { bytes[i] = 255 }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        #expect(try await AudioBlock.load(path: path).channels == ramp(channels: 2, frames: 10_000).channels)
        // A sparse file really is that long.
        let long = folder.file("long.wav")
        var writer = try AudioFileWriter(path: long, sampleRate: 48_000, channels: 64)
        writer.skip(1 << 32)
        try writer.write(AudioBlock(channels: 64, frames: 1))
        try writer.finish()
        do {
            _ = try await AudioBlock.load(path: long).frameCount
            Issue.record("a block of a terabyte")
        } catch let error as AudioFileError {
            #expect(error.reason == .tooLong && error.description.contains("read it in blocks"))
        }
    }

    @Test("Block by block: every frame once, a short last block, and how far it has come")
    func blocks() async throws {
        let folder = try Folder(), path = folder.file("a.aiff")
        try write(ramp(channels: 1, frames: 22_050), to: path, format: .aiff(.int16), sampleRate: 44_100)
        var frames = 0, samples: [Float] = [], last: AudioFileProgress?
        for try await part in AudioFileBlocks(path: path, frames: 512) {
            #expect(part.start == frames && part.block.frameCount == min(512, 22_050 - frames))
            frames += part.block.frameCount
            samples += part.block.array(0)
            last = part.progress
        }
        #expect(samples == ramp(channels: 1, frames: 22_050).array(0) && last?.fraction == 1)
        // Lengths that divide the file, a file without frames, and one that is not there.
        var count = 0
        for try await part in AudioFileBlocks(path: path, frames: 22_050) { count += part.block.frameCount }
        #expect(count == 22_050)
        try write(ramp(channels: 1, frames: 0), to: path)
        for try await _ in AudioFileBlocks(path: path) { Issue.record("a block out of nothing") }
        await #expect(throws: AudioFileError.self) {
            for try await _ in AudioFileBlocks(path: folder.file("none.wav")) {}
        }
    }

    @Test("Blocks at another rate are those of the whole file at that rate", arguments: [100, 4_096, 100_000])
    func blocksAtRate(frames: Int) async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(sine(channels: 2, frames: 30_001, rate: 44_100), to: path, sampleRate: 44_100)
        let whole = try await AudioBlock.load(path: path, sampleRate: 48_000)
        var samples: [Float] = []
        for try await part in AudioFileBlocks(path: path, frames: frames, sampleRate: 48_000) {
            samples += part.block.array(1)
        }
        #expect(samples.count == whole.frameCount && largestDifference(samples, whole.array(1)) < 1e-6)
    }

    @Test("After a cancel nothing is handed out any more")
    func cancel() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(ramp(channels: 1, frames: 100_000), to: path)
        let count = Mutex(0), isCancelled = Mutex(false), late = Mutex(0)
        let task = Task {
            for try await _ in AudioFileBlocks(path: path, frames: 10) {
                if isCancelled.withLock({ $0 }) { late.withLock { $0 += 1 } }
                let now = count.withLock {
                    $0 += 1
                    return $0
                }
                if now == 50 {
                    isCancelled.withLock { $0 = true }
                    withUnsafeCurrentTask { unsafe $0?.cancel() }
                }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(count.withLock { $0 } == 50 && late.withLock { $0 } == 0)
        // Loading, too: no progress and no block.
        let told = Mutex(0)
        let loading = Task {
            withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await AudioBlock.load(path: path) { _ in told.withLock { $0 += 1 } }.frameCount
        }
        await #expect(throws: CancellationError.self) { _ = try await loading.value }
        #expect(told.withLock { $0 } == 0)
    }

    @Test("many files at once, good and bad ones, do not disturb each other")
    func manyAtOnce() async throws {
        let folder = try Folder()
        try await withThrowingTaskGroup { group in
            for number in 0..<24 {
                group.addTask {
                    let format = AudioFileReaderTests.formats[number % AudioFileReaderTests.formats.count]
                    let path = folder.file("\(number)")
                    for _ in 0..<3 {
                        try write(sine(channels: 2, frames: 9_600), to: path, format: format)
                        let block = try await AudioBlock.load(path: path)
                        #expect(abs(block.frameCount - 9_600) <= 2_400 && block.peak > 0.4)
                        _ = failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: folder.path) }
                        try Data("no audio \(number)".utf8).write(to: URL(fileURLWithPath: path + ".txt"))
                        let error = failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: path + ".txt") }
                        #expect(error?.path == path + ".txt")
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
