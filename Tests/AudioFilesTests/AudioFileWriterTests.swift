import Foundation
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

@Suite struct AudioFileWriterTests {
    @Test(
        "Formats that lose nothing give back what was written, in blocks of any size",
        arguments: [
            AudioFileFormat.wav(.int16), .wav(.int24), .wav(.int32), .wav(.float32), .aiff(.int16), .aiff(.int24),
            .aiff(.int32), .aiff(.float32), .caf(.int16), .caf(.int24), .caf(.int32), .caf(.float32), .flac(.int16),
            .flac(.int24),
        ], [(1, 8_000.0), (2, 44_100), (6, 48_000), (extent(64, inDebug: 12), 192_000)])
    func exact(format: AudioFileFormat, shape: (channels: Int, rate: Double)) throws {
        let folder = try Folder(), path = folder.file("a")
        let channels = format.container == .flac ? min(8, shape.channels) : shape.channels
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: shape.rate, channels: channels)
        var frames = 0
        for size in [0, 1, 4_095, 4_096, 4_097, 700] {
            try writer.write(ramp(channels: channels, frames: size + 5, from: frames - 3), from: 3, frames: size)
            frames += size
        }
        #expect(writer.frameCount == frames && writer.clippedCount == 0)
        try writer.finish()
        try writer.finish()
        let info = try AudioFileInfo(path: path)
        #expect(info.format == format && info.sampleRate == shape.rate && info.channelCount == channels)
        #expect(info.frameCount == frames && info.notice == nil)
        #expect(try read(path) == ramp(channels: channels, frames: frames).channels)
    }

    @Test(
        "Vorbis, Opus and MP3, where the library has them, give back what sounds the same",
        arguments: [AudioFileFormat.oggVorbis(quality: 0.8), .opus(), .mp3(quality: 0.9)], [1, 2])
    func lossy(format: AudioFileFormat, channels: Int) throws {
        #expect(format.isAvailable)
        let folder = try Folder(), path = folder.file("a")
        let block = sine(channels: channels, frames: 48_000)
        try write(block, to: path, format: format)
        let info = try AudioFileInfo(path: path)
        #expect(info.format.encoding == format.encoding && info.channelCount == channels && info.sampleRate == 48_000)
        let decoded = try read(path)
        #expect(info.frameCount == 48_000 && decoded[0].count == 48_000)
        for channel in 0..<channels {
            let middle = Array(decoded[channel][4_800..<28_800])
            #expect(abs(level(middle, frequency: 440 + 110 * Double(channel)) + 6.02) < 0.5)
        }
    }

    @Test("A float WAV is a RIFF file of 32-bit floats, byte for byte")
    func header() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(AudioBlock([[0, 1, 2], [1 / 64, 1 + 1 / 64, -2]]), to: path)
        let expected: [UInt8] =
            Array("RIFF".utf8) + [110, 0, 0, 0] + Array("WAVEJUNK".utf8) + [28, 0, 0, 0]
            + [UInt8](repeating: 0, count: 28)
            + Array("fmt ".utf8) + [18, 0, 0, 0, 3, 0, 2, 0, 0x80, 0xBB, 0, 0, 0x00, 0xDC, 0x05, 0, 8, 0, 32, 0, 0, 0]
            + Array("fact".utf8) + [4, 0, 0, 0, 3, 0, 0, 0] + Array("data".utf8) + [24, 0, 0, 0]
            + [0, 0, 0, 0, 0, 0, 0x80, 0x3C, 0, 0, 0x80, 0x3F, 0, 0, 0x82, 0x3F, 0, 0, 0, 0x40, 0, 0, 0, 0xC0]
        #expect(FileManager.default.contents(atPath: path).map { [UInt8]($0) } == expected)
    }

    @Test(
        "a file without frames is one",
        arguments: [AudioFileFormat.wav(), .aiff(), .aiff(.float32), .caf(), .flac(), .oggVorbis()])
    func nothing(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
        try writer.write(AudioBlock(channels: 2, frames: 0))
        try writer.finish()
        let info = try AudioFileInfo(path: path)
        #expect(info.frameCount == 0 && info.notice == "There are no frames in it." && info.format == format)
        #expect(try read(path) == [[], []])
    }

    @Test("Opus and MP3 files without a frame cannot be read, and the error says so")
    func nothingLossy() throws {
        for (format, reason) in [(AudioFileFormat.opus(), AudioFileError.Reason.damaged), (.mp3(), .empty)] {
            let folder = try Folder(), path = folder.file("a")
            try write(AudioBlock(channels: 2, frames: 0), to: path, format: format)
            let error = failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: path) }
            #expect(error?.reason == reason)
        }
    }

    @Test("an odd number of bytes gets the padding that RIFF wants")
    func padding() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(ramp(channels: 1, frames: 3), to: path, format: .wav(.int24))
        let bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        #expect(bytes.count == 80 + 9 + 1 && bytes[4] == UInt8(bytes.count - 8) && bytes[76] == 9 && bytes[89] == 0)
    }

    @Test("a file is emptied before it is written, and finished by a writer that just goes")
    func overwrite() throws {
        let folder = try Folder(), path = folder.file("a.flac")
        try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: path))
        do {
            var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1)
            try writer.write(ramp(channels: 1, frames: 5))
        }
        #expect(try read(path) == ramp(channels: 1, frames: 5).channels)
    }

    @Test("the extension chooses the format, and an unknown one is refused with a sentence")
    func extensions() throws {
        let folder = try Folder()
        let names: [String: AudioFileFormat] = [
            "a.wav": .wav(.float32), "a.WAVE": .wav(.float32), "b.aif": .aiff(.int24), "b.aiff": .aiff(.int24),
            "b.aifc": .aiff(.float32), "c.caf": .caf(.float32), "d.flac": .flac(.int24), "e.ogg": .oggVorbis(),
            "f.opus": .opus(), "g.mp3": .mp3(),
        ]
        for (name, format) in names {
            #expect(AudioFileFormat(path: name) == format)
            try write(sine(channels: 1, frames: 9_600), to: folder.file(name))
            let info = try AudioFileInfo(path: folder.file(name))
            #expect(info.format.container == format.container && info.format.encoding == format.encoding)
        }
        for name in ["a", "a.txt", "b.d/a", ".wav/a", "a.wav.bak", ""] { #expect(AudioFileFormat(path: name) == nil) }
        let path = folder.file("a.txt")
        let error = failure { () throws(AudioFileError) in try write(ramp(channels: 1, frames: 1), to: path) }
        #expect(error?.reason == .unsuitableFormat && error?.description.contains("end it with .wav, .aiff") == true)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "the writer refuses settings that a format cannot have, and makes or empties no file",
        arguments: [
            (AudioFileFormat.wav(), 0.0, 2), (.wav(), -1, 2), (.wav(), .nan, 2), (.wav(), .infinity, 2),
            (.wav(), 44_100.5, 2), (.wav(), 0.5, 2), (.wav(), 1e9, 2), (.wav(), 48_000, 0), (.wav(), 48_000, -1),
            (.wav(), 48_000, 65), (.flac(), 48_000, 9), (.flac(), 700_000, 2), (.opus(), 44_100, 2),
            (.mp3(), 48_000, 3),
            (.mp3(), 96_000, 2), (.flac(.float32), 48_000, 2), (.wav(.vorbis), 48_000, 2), (.caf(.int8), 48_000, 2),
        ])
    func badFormat(format: AudioFileFormat, rate: Double, channels: Int) throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try Data("kept".utf8).write(to: URL(fileURLWithPath: path))
        let error = failure { () throws(AudioFileError) in
            _ = try AudioFileWriter(path: path, format: format, sampleRate: rate, channels: channels).frameCount
        }
        #expect(error?.reason == .unsuitableFormat || error?.reason == .unavailable)
        #expect(error?.description.contains("choose") == true)
        #expect(FileManager.default.contents(atPath: path) == Data("kept".utf8))
    }

    @Test("a block of another shape is refused, and so is a write after the end")
    func misuse() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 2)
        for (channels, frames, first, asked) in [
            (1, 4, 0, 4), (3, 4, 0, 4), (2, 4, 0, 5), (2, 4, 0, -1), (2, 4, -1, 2), (2, 4, 5, 0), (2, 4, 1, 4),
            (2, 4, .max, .max), (2, 4, 1, .max),
        ] {
            var reason: AudioFileError.Reason?
            do throws(AudioFileError) {
                try writer.write(ramp(channels: channels, frames: frames), from: first, frames: asked)
            } catch { reason = error.reason }
            #expect(reason == .unsuitableFormat)
        }
        try writer.write(ramp(channels: 2, frames: 4))
        try writer.finish()
        var reason: AudioFileError.Reason?
        do throws(AudioFileError) { try writer.write(ramp(channels: 2, frames: 4)) } catch { reason = error.reason }
        #expect(reason == .finished)
        #expect(try AudioFileInfo(path: path).frameCount == 4)
    }

    @Test(
        "integers hold -1 to 1: what is beyond is clipped and counted, what is no number is 0 and counted",
        arguments: [AudioFileFormat.wav(.int16), .aiff(.int24), .caf(.int32), .flac(.int16)])
    func clipping(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
        try writer.write(AudioBlock([[1, -1, 1.5, -3, .nan, 0.5], [.infinity, -.infinity, 0, -0.0, 1e30, -0.25]]))
        #expect(writer.clippedCount == 6)
        try writer.finish()
        let steps = Float(sign: .plus, exponent: (format.integerBits ?? 0) - 1, significand: 1)
        let top = (steps - 1) / steps
        #expect(try read(path) == [[top, -1, top, -1, 0, 0.5], [top, -1, 0, 0, top, -0.25]])
    }

    @Test("floats are written as they are", arguments: [AudioFileFormat.wav(), .aiff(.float32), .caf()])
    func floats(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        let samples: [Float] = [1.5, -1e30, .infinity, -.infinity, .leastNonzeroMagnitude, 1e-20, 0.1]
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 1)
        try writer.write(AudioBlock([samples + [.nan]]))
        #expect(writer.clippedCount == 0)
        try writer.finish()
        let back = try read(path)[0]
        #expect(Array(back.dropLast()) == samples && back.last?.isNaN == true)
    }

    @Test(
        "lossy encoders get no number that is none, and end",
        arguments: [AudioFileFormat.oggVorbis(), .opus(), .mp3()])
    func lossyGarbage(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        let samples = (0..<48_000).map { [Float.nan, .infinity, -.infinity, 1e38, -1e38, 0.5][$0 % 6] }
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 1)
        try writer.write(AudioBlock([samples]))
        #expect(writer.clippedCount == 40_000)
        try writer.finish()
        #expect(try read(path)[0].allSatisfy { $0.isFinite })
    }

    @Test("dither makes hiss of what is rounded off: triangular, one step, the same each time however it is cut")
    func dither() throws {
        let folder = try Folder()
        let quiet = (0..<96_000).map { (i: Int) -> Float in 0.3 * Float(sin(Double(i) * 0.0577)) / 32_768 }
        let paths = ["a", "b", "c"].map { folder.file($0) }
        for (index, path) in paths.enumerated() {
            var writer = try AudioFileWriter(
                path: path, format: .wav(.int16), sampleRate: 48_000, channels: 1, dither: index < 2)
            let block = AudioBlock([quiet]), step = index == 0 ? 96_000 : 777
            for first in stride(from: 0, to: 96_000, by: step) {
                try writer.write(block, from: first, frames: min(step, 96_000 - first))
            }
            try writer.finish()
        }
        let dithered = try read(paths[0])[0], plain = try read(paths[2])[0]
        #expect(try read(paths[1])[0] == dithered)
        // A tone of less than half a step is lost without dither, and is there with it.
        #expect(plain.allSatisfy { $0 == 0 })
        let correlation = zip(dithered, quiet).reduce(0.0) { $0 + Double($1.0) * Double($1.1) }
        let power = quiet.reduce(0.0) { $0 + Double($1) * Double($1) }
        #expect(abs(correlation / power - 1) < 0.05)
        // Rounding and triangular noise together have a variance of a quarter of a step squared.
        let errors = zip(dithered, quiet).map { Double($0 - $1) * 32_768 }
        let variance = errors.reduce(0) { $0 + $1 * $1 } / Double(errors.count)
        #expect(abs(variance - 0.25) < 0.01 && errors.allSatisfy { abs($0) <= 1.5 })
    }

    @Test(
        "tags are kept, where the format has a place for them",
        arguments: [
            (AudioFileFormat.wav(.int16), [.license]), (.wav(), [.license]),
            (.aiff(), [.album, .license, .trackNumber, .genre, .date]), (.caf(), []), (.flac(), []), (.oggVorbis(), []),
            (.opus(), []), (.mp3(), [.license, .copyright]),
        ] as [(AudioFileFormat, [AudioFileTag])])
    func tags(format: AudioFileFormat, lost: [AudioFileTag]) throws {
        let folder = try Folder(), path = folder.file("a")
        var tags: [AudioFileTag: String] = [:]
        for tag in AudioFileTag.allCases { tags[tag] = "\(tag.rawValue) ä" }
        tags[.trackNumber] = "7"
        tags[.date] = "2026-11-21"
        // AIFF keeps its copyright in ASCII.
        tags[.copyright] = "Whose?"
        try write(sine(channels: 1, frames: 9_601), to: path, format: format, tags: tags)
        let info = try AudioFileInfo(path: path)
        for tag in AudioFileTag.allCases where tag != .software {
            #expect(info.tags[tag] == (lost.contains(tag) ? nil : tags[tag]), "\(tag)")
        }
        #expect(try read(path)[0].count >= 9_601)
    }

    @Test("past 4 GB a WAV file is an RF64 file, and every frame is found")
    func long() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        var writer = try AudioFileWriter(path: path, format: .wav(.int16), sampleRate: 48_000, channels: 2)
        try writer.write(ramp(channels: 2, frames: 10))
        // Skips frames as if more were written: the file is sparse.
        writer.skip(1_100_000_000)
        try writer.write(ramp(channels: 2, frames: 10, from: 10))
        #expect(writer.frameCount == 1_100_000_020)
        try writer.finish()
        let handle = try #require(FileHandle(forReadingAtPath: path))
        let header = [UInt8](try #require(try handle.read(upToCount: 80)))
        let length = try handle.seekToEnd()
        #expect(length == 80 + 4_400_000_080)
        #expect(
            Array(header[0..<8]) == Array("RF64".utf8) + [255, 255, 255, 255]
                && Array(header[12..<16]) == Array("ds64".utf8))
        let sizes = [20, 28, 36].map { header[$0..<$0 + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        #expect(sizes == [length - 8, 4_400_000_080, 1_100_000_020])
        var reader = try AudioFileReader(path: path)
        #expect(
            reader.info.frameCount == 1_100_000_020 && reader.info.format == .wav(.int16) && reader.info.notice == nil)
        try reader.seek(to: 1_100_000_005)
        var block = AudioBlock(channels: 2, frames: 20)
        #expect(try reader.read(into: &block) == 15)
        #expect(block[0, 4] == 0 && Array(block.array(0)[5..<15]) == ramp(channels: 1, frames: 10, from: 10).array(0))
    }

    @Test("an AIFF file ends at 4 GB: what would be longer is refused as a whole")
    func aiffEnds() throws {
        let folder = try Folder(), path = folder.file("a.aiff")
        var writer = try AudioFileWriter(path: path, format: .aiff(.int16), sampleRate: 48_000, channels: 64)
        #expect((33_553_000...33_554_432).contains(writer.remainingFrames))
        writer.skip(writer.remainingFrames - 10)
        let error = failure { () throws(AudioFileError) in try writer.write(ramp(channels: 64, frames: 11)) }
        #expect(error?.reason == .tooLong && writer.remainingFrames == 10)
    }
}
