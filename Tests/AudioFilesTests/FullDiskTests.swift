import Foundation
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// Disks that fill up, files that vanish, disks that cannot be read.
@Suite struct FullDiskTests {
    static let formats: [AudioFileFormat] = [
        .wav(.int16), .wav(.int24), .wav(.float32), .aiff(.int24), .aiff(.float32), .caf(.int16), .caf(.float32),
        .flac(.int16), .oggVorbis(), .opus(), .mp3(),
    ]

    /// Noise, so that no encoder makes it small.
    static func noise(frames: Int) -> AudioBlock {
        AudioBlock(
            (0..<2).map { channel in
                (0..<frames).map { frame in
                    var random = Random(state: UInt64(2 * frame + channel))
                    return Float(Int64(random.next() >> 48) - 32_768) / 32_768
                }
            })
    }

    @Test(
        "A disk that fills up is an error at the caller, and what found room is playable",
        arguments: formats.indices)
    func full(index: Int) async throws {
        let folder = try Folder(), path = folder.file("a")
        // A file-size limit stands for the disk: it cuts a write short in the same way, here inside a frame.
        await #expect(processExitsWith: .success) { [path = path as String, index = index as Int] in
            let format = FullDiskTests.formats[index]
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 60_003, rlim_max: 60_003)
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
            var thrown: AudioFileError?
            // PCM and FLAC fill the disk with less than one block.
            let block = FullDiskTests.noise(frames: 60_000)
            do throws(AudioFileError) {
                for first in stride(from: 0, to: 480_000, by: 1_000) {
                    try writer.write(block, from: first % 60_000, frames: 1_000)
                }
            } catch { thrown = error }
            #expect(thrown?.reason == .tooLong && thrown?.path == path)
            let count = writer.frameCount
            #expect(count > 0 && count < 480_000)
            var again: AudioFileError?
            do throws(AudioFileError) { try writer.write(block, frames: 1) } catch { again = error }
            #expect(again == thrown && writer.frameCount == count)
            try writer.finish()
            let info = try AudioFileInfo(path: path)
            #expect(info.notice == nil, "\(info)")
            if !format.isLossy { #expect(info.frameCount == count) }
        }
        let info = try AudioFileInfo(path: path), format = FullDiskTests.formats[index]
        let channels = try read(path)
        #expect(channels[0].count > 1_000)
        if let bits = format.integerBits ?? (format.encoding == .float32 ? 32 : nil), format.container != .flac {
            // Every frame that fits, but for the header.
            #expect(Int64(channels[0].count) == info.frameCount)
            #expect((60_003 - 4_200...60_003).contains(channels[0].count * 2 * bits / 8))
            #expect(channels == FullDiskTests.noise(frames: channels[0].count).channels)
        }
        if format.container == .flac {
            #expect(channels == FullDiskTests.noise(frames: channels[0].count).channels)
        }
    }

    @Test(
        "A small disk that is really full", .needs(.smallDisk),
        arguments: [AudioFileFormat.wav(.int16), .aiff(.int24), .flac(.int16)])
    func smallDisk(format: AudioFileFormat) throws {
        let place = try Folder(), disk = try SmallDisk(on: place.path)
        let path = disk.path + "/a"
        var thrown: AudioFileError?
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
        do throws(AudioFileError) {
            for _ in 0..<100 { try writer.write(FullDiskTests.noise(frames: 4_800)) }
        } catch { thrown = error }
        #expect(
            thrown?.description
                == "Cannot write \"\(path)\": the disk is full; free some space or choose another disk.")
        try writer.finish()
        let info = try AudioFileInfo(path: path)
        #expect(info.frameCount == writer.frameCount && info.frameCount > 30_000 && info.notice == nil)
        #expect(try read(path)[0].count == Int(info.frameCount))
    }

    /// A disk of 256 kB, which a process of its own mounts where no other sees it, and keeps until the test ends.
    private final class SmallDisk {
        let path: String
        private let keeper: Program

        init(on folder: String) throws {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("small-disk")
            keeper = try Program(script.path, [folder], seconds: nil, hasInput: true)
            let text = keeper.read()
            let number = try #require(text.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }, "\(text)")
            path = "/proc/\(number)/root\(folder)"
        }

        deinit { keeper.wait() }
    }

    @Test("a file removed under its writer is an error, at once or at the end", arguments: formats)
    func removed(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
        try writer.write(FullDiskTests.noise(frames: 100))
        #expect(unlink(path) == 0)
        var thrown: AudioFileError?
        do throws(AudioFileError) { try writer.finish() } catch { thrown = error }
        #expect(thrown?.reason == .deleted && thrown?.description.contains("another program removed the file") == true)
    }

    @Test("a file removed under its writer is noticed within a second")
    func removedWhileWriting() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 2)
        try writer.write(FullDiskTests.noise(frames: 100))
        #expect(unlink(path) == 0)
        usleep(1_050_000)
        var thrown: AudioFileError?
        do throws(AudioFileError) { try writer.write(FullDiskTests.noise(frames: 100)) } catch { thrown = error }
        #expect(thrown?.reason == .deleted)
    }

    @Test(
        "a read error in the middle is an error at the caller, and what came before it is there", arguments: formats)
    func readError(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        try write(FullDiskTests.noise(frames: 96_000), to: path, format: format)
        let whole = try read(path)
        var reader = try AudioFileReader(path: path)
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64)
        reader.fail(from: size / 2, with: EIO)
        var block = AudioBlock(channels: 2, frames: 1_000)
        var thrown: AudioFileError?
        var read: [Float] = []
        do throws(AudioFileError) {
            while case let count = try reader.read(into: &block), count > 0 { read += block.array(0)[..<count] }
        } catch { thrown = error }
        #expect(thrown?.reason == .system(EIO))
        #expect(thrown?.description.contains("the disk cannot read it") == true)
        #expect(read.count > 10_000 && read.count < 96_000 && read == Array(whole[0][..<read.count]))
        // The disk is well again: it goes on.
        reader.fail(from: .max, with: 0)
        let position = Int(reader.position)
        let count = try reader.read(into: &block)
        #expect(count == 1_000 && Array(whole[0][position..<position + 1_000]) == block.array(0))
    }
}
