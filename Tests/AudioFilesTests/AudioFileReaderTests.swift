import CSndFile
import Foundation
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

@Suite struct AudioFileReaderTests {
    static let formats: [AudioFileFormat] = [
        .wav(.int16), .wav(.float32), .aiff(.int24), .caf(.float32), .flac(.int24), .oggVorbis(), .opus(), .mp3(),
    ]

    @Test("a frame that was gone to has the same samples as one that was come to", arguments: formats)
    func seeking(format: AudioFileFormat) throws {
        // The library's own seeking in Ogg Vorbis is wrong in one of ten cases.
        let folder = try Folder(), path = folder.file("a")
        try write(FullDiskTests.noise(frames: extent(400_000, inDebug: 100_000)), to: path, format: format)
        let whole = try read(path, step: 997)
        var reader = try AudioFileReader(path: path)
        var random = Random(state: 3), worst: Float = 0
        var block = AudioBlock(channels: 2, frames: 500)
        let count = Int(reader.info.frameCount)
        var bad: [String] = []
        for round in 0..<60 {
            let frame = [0, count - 1, count, 4_095, 4_096][safe: round] ?? Int(random.next() % UInt64(count))
            try reader.seek(to: Int64(frame))
            #expect(reader.position == frame)
            let read = try reader.read(into: &block)
            #expect(read == min(500, count - frame) && reader.position == frame + read)
            var here: Float = 0
            for channel in 0..<2 {
                for i in 0..<read { here = max(here, abs(block[channel, i] - whole[channel][frame + i])) }
            }
            worst = max(worst, here)
            if here > 0 { bad.append("\(frame):\(here)") }
        }
        #expect(worst <= (format.encoding == .opus ? 1e-6 : 0), "\(bad)")
    }

    @Test("the error for a file without audio says why, and what to do")
    func noFiles() throws {
        let folder = try Folder()
        func make(_ name: String, _ bytes: [UInt8]) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        try make("empty.wav", [])
        try make("text.wav", Array("This is a letter, and no sound at all.\n".utf8))
        try make("short.wav", Array("RIFF".utf8))
        try make("header.wav", Array("RIFF\u{4}\0\0\0WAVE".utf8))
        try make("garbage.flac", (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 3) })
        try make("half.flac", Array("fLaC\0\0\0\u{22}\0\0\0\0\0\0\0\0".utf8))
        try make("half.ogg", Array("OggS\0\u{2}\0\0\0\0\0\0\0\0\0\0".utf8))
        try make("movie.m4a", [0, 0, 0, 24] + Array("ftypM4A \0\0\0\0M4A mp42".utf8))
        unsafe mkfifo(folder.file("pipe"), 0o600)
        let cases: [(String, AudioFileError.Reason, String)] = [
            ("none.wav", .missingFile, "there is no such file; look at the name and at the folder."),
            ("none/a.wav", .missingFile, "there is no such file; look at the name and at the folder."),
            ("", .notAFile, "it is a folder; name a file in it."),
            ("pipe", .notAFile, "it is not an ordinary file; choose another name."),
            ("empty.wav", .empty, "it is empty; the program that made it wrote nothing into it."),
            ("text.wav", .notAudio, "what is in it is not audio that can be read here; convert it"),
            ("short.wav", .notAudio, "what is in it is not audio that can be read here; convert it"),
            ("header.wav", .damaged, "it is damaged ("),
            ("garbage.flac", .notAudio, "what is in it is not audio that can be read here; convert it"),
            ("half.flac", .damaged, "it is damaged ("), ("half.ogg", .damaged, "it is damaged ("),
            ("movie.m4a", .notAudio, "what is in it is not audio that can be read here; convert it"),
            ("a\0.wav", .notAFile, "its name is impossible here; choose another one."),
        ]
        for (name, reason, sentence) in cases {
            let path = folder.file(name)
            let error = failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: path) }
            #expect(error?.path == path && error?.reason == reason, "\(name): \(error as Any)")
            let shown = path.replacingOccurrences(of: "\0", with: "\\u{0}")
            #expect(error?.description.hasPrefix("Cannot read \"\(shown)\": " + sentence) == true, "\(error as Any)")
        }
        #expect(failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: "/dev/zero") }?.reason == .notAFile)
    }

    @Test("without rights to the file the sentence says so", .needs(.anotherUser))
    func noRights() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(ramp(channels: 1, frames: 10), to: path)
        _ = unsafe chmod(path, 0o000)
        // Nor may its owner write in the folder.
        _ = unsafe chmod(folder.path, 0o555)
        defer { _ = unsafe chmod(folder.path, 0o755) }
        // Root may read and write anything, so the child gives that up.
        await #expect(processExitsWith: .success) { [path = path as String] in
            becomeNobody()
            let error = failure { () throws(AudioFileError) in _ = try AudioFileInfo(path: path) }
            #expect(error?.reason == .notPermitted)
            #expect(error?.description.contains("you may not read it") == true)
            let writing = failure { () throws(AudioFileError) in
                try write(ramp(channels: 1, frames: 10), to: path + ".wav")
            }
            #expect(writing?.reason == .notPermitted)
            #expect(writing?.description.contains("you may not write there") == true)
        }
    }

    @Test("a file that was cut off gives the frames that are there, and a notice", arguments: formats)
    func truncated(format: AudioFileFormat) throws {
        let folder = try Folder(), path = folder.file("a")
        try write(FullDiskTests.noise(frames: 96_000), to: path, format: format)
        let whole = try read(path)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try bytes.prefix(bytes.count / 3).write(to: URL(fileURLWithPath: path))
        var reader = try AudioFileReader(path: path)
        var block = AudioBlock(channels: 2, frames: 96_000)
        let count = try reader.read(into: &block)
        #expect((12_000...40_000).contains(count) && reader.info.frameCount == count)
        // An Ogg file is as long as its last page says, and has promised nothing.
        #expect((reader.info.notice?.contains("cut off") ?? false) == (format.container != .ogg))
        let safe = count - 2_000
        let (got, expected) = (Array(block.array(0)[..<safe]), Array(whole[0][..<safe]))
        #expect(got == expected)
        #expect(try reader.read(into: &block) == 0)
        if format.container != .mpeg && format.container != .flac && format.container != .ogg {
            let info = try AudioFileInfo(path: path)
            #expect(info.notice?.hasPrefix("It was cut off: its header promises") == true && info.frameCount == count)
        }
    }

    @Test("headers that lie about the length: from a pipe, or by mistake")
    func lies() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(ramp(channels: 2, frames: 1_000), to: path, format: .wav(.int16))
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let cases: [(UInt32, Int, Bool)] = [
            (UInt32.max, 1_000, false), (0x7FFF_FFF0, 1_000, true), (8_000, 1_000, true), (400, 100, false),
        ]
        let expected = ramp(channels: 2, frames: 1_000).array(1)
        for (size, frames, isNoticed) in cases {
            var lying = bytes
            for i in 0..<4 { lying[76 + i] = UInt8(truncatingIfNeeded: size >> UInt32(8 * i)) }
            try Data(lying).write(to: URL(fileURLWithPath: path))
            let info = try AudioFileInfo(path: path)
            #expect(info.frameCount == frames && (info.notice != nil) == isNoticed, "\(size): \(info)")
            #expect(try read(path)[1] == Array(expected[..<frames]))
        }
    }

    @Test("a block of another shape is refused, and so is a frame that is not there; nothing is lost by it")
    func misuse() throws {
        let folder = try Folder(), path = folder.file("a.flac")
        try write(ramp(channels: 2, frames: 100), to: path)
        var reader = try AudioFileReader(path: path)
        for (channels, first, frames) in [
            (1, 0, 10), (3, 0, 10), (2, -1, 5), (2, 0, -1), (2, 11, 0), (2, 5, 6), (2, .max, .max), (2, 1, .max),
        ] {
            var block = AudioBlock(channels: channels, frames: 10)
            var reason: AudioFileError.Reason?
            do throws(AudioFileError) {
                _ = try reader.read(into: &block, at: first, frames: frames)
            } catch { reason = error.reason }
            #expect(reason == .unsuitableFormat)
        }
        for frame in [-1, 101, .max, .min] as [Int64] {
            var reason: AudioFileError.Reason?
            do throws(AudioFileError) { try reader.seek(to: frame) } catch { reason = error.reason }
            #expect(reason == .outOfRange && reader.position == 0)
        }
        var block = AudioBlock(channels: 2, frames: 100)
        #expect(try reader.read(into: &block, frames: 0) == 0)
        #expect(try reader.read(into: &block) == 100)
        #expect(block.channels == ramp(channels: 2, frames: 100).channels)
    }

    @Test("more channels than a block has: information, but no reader")
    func manyChannels() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        var info = SF_INFO(
            frames: 0, samplerate: 48_000, channels: 100, format: Int32(SF_FORMAT_WAV | SF_FORMAT_PCM_16), sections: 0,
            seekable: 0)
        let file = unsafe try #require(sf_open(path, Int32(SFM_WRITE), &info))
        let samples = [Float](repeating: 0.25, count: 100 * 7)
        unsafe sf_writef_float(file, samples, 7)
        unsafe sf_close(file)
        #expect(try AudioFileInfo(path: path).channelCount == 100 && AudioFileInfo(path: path).frameCount == 7)
        let error = failure { () throws(AudioFileError) in _ = try AudioFileReader(path: path).position }
        #expect(error?.reason == .unsuitableFormat && error?.description.contains("100 channels") == true)
    }

    @Test("A file tells its rate, channels, length and format")
    func information() throws {
        let folder = try Folder(), path = folder.file("a.flac")
        try write(
            sine(channels: 1, frames: 22_050), to: path, format: .flac(.int16), sampleRate: 44_100, tags: [.title: "La"]
        )
        let info = try AudioFileInfo(path: path)
        #expect(info.sampleRate == 44_100 && info.channelCount == 1 && info.frameCount == 22_050)
        #expect(info.seconds == 0.5 && info.duration == .milliseconds(500) && info.tags == [.title: "La"])
        #expect("\(info)" == "\(path): FLAC, 16-bit integers, 1 channel, 44100 Hz, 0.50 s")
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
