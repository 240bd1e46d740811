import CSndFile
import Foundation
import RenderCore
import RenderStack
import Testing

@testable import AudioFiles

@Suite("Marks in files") struct MarkTests {
    private static let marks = [
        AudioFileMark(at: 4_800, name: "Zweites Kapitel, mit ä"), AudioFileMark(at: 0, name: "Welcome"),
        AudioFileMark(at: 9_600), AudioFileMark(at: 9_599, name: "even"),
    ]
    private static var sorted: [AudioFileMark] { marks.sorted { $0.frame < $1.frame } }

    private func write(_ path: String, _ format: AudioFileFormat, _ marks: [AudioFileMark]) throws {
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 1, marks: marks)
        try writer.write(ramp(channels: 1, frames: 9_601))
        try writer.finish()
    }

    @Test("WAV and AIFF files keep marks and their names, and the samples with them stay the same")
    func kept() throws {
        let folder = try Folder()
        for format: AudioFileFormat in [.wav(), .wav(.int16), .wav(.int24), .aiff(), .aiff(.int16), .aiff(.float32)] {
            let path = folder.file("a")
            try write(path, format, Self.marks)
            #expect(try AudioFileInfo(path: path).marks == Self.sorted, "\(format)")
            #expect(try read(path)[0] == ramp(channels: 1, frames: 9_601).array(0), "\(format)")
        }
    }

    @Test("The library finds the marks of our WAV files, with their names")
    func library() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(path, .wav(.int16), Self.marks)
        var info = SF_INFO()
        let file = try #require(sf_open(path, Int32(SFM_READ), &info))
        defer { sf_close(file) }
        var count: UInt32 = 0
        #expect(sf_command(file, Int32(SFC_GET_CUE_COUNT), &count, 4) != 0 && count == 4)
        #expect(info.frames == 9_601)
        var cues = SF_CUES()
        #expect(sf_command(file, Int32(SFC_GET_CUE), &cues, Int32(MemoryLayout<SF_CUES>.size)) != 0)
        let point = cues.cue_points.2
        #expect(point.sample_offset == 9_599 && point.position == 9_599)
        #expect(withUnsafeBytes(of: point.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } == "even")
    }

    @Test("Other formats leave marks out")
    func leftOut() throws {
        let folder = try Folder()
        for format: AudioFileFormat in [.caf(), .flac(), .oggVorbis(), .opus(), .mp3()] where format.isAvailable {
            let path = folder.file("a")
            try write(path, format, Self.marks)
            #expect(try AudioFileInfo(path: path).marks.isEmpty, "\(format)")
            #expect(try read(path)[0].count >= 9_601)
        }
    }

    @Test("A file output writes marks")
    func output() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        let file = try FileOutput(try Renderer { _ in }, path: path, marks: Self.marks)
        try await file.run(for: .milliseconds(10))
        try await file.finish()
        #expect(try AudioFileInfo(path: path).marks == Self.sorted)
    }

    @Test("Odd marks: frames below 0 and beyond 32 bits, zeros and megabytes in names, more than AIFF keeps")
    func odd() throws {
        let folder = try Folder(), path = folder.file("a")
        let long = String(repeating: "ä", count: 100_000)
        let marks = [
            AudioFileMark(at: -5, name: "begin\0ning"), AudioFileMark(at: .max, name: "never"),
            AudioFileMark(at: Int64(UInt32.max), name: long),
            AudioFileMark(at: Int64(UInt32.max) + 1, name: "too late"),
        ]
        let many = (0..<40_000).map { AudioFileMark(at: Int64($0), name: "\($0)") }
        for format: AudioFileFormat in [.wav(), .aiff()] {
            try write(path, format, marks)
            let kept = [
                AudioFileMark(at: 0, name: "begin"),
                AudioFileMark(at: Int64(UInt32.max), name: String(repeating: "ä", count: 126)),
            ]
            #expect(try AudioFileInfo(path: path).marks == kept, "\(format)")
            try write(path, format, many)
            let found = try AudioFileInfo(path: path).marks
            #expect(found.count > 1_000 && found == Array(many.prefix(found.count)), "\(format)")
            #expect(try read(path)[0].count == 9_601)
        }
    }

    @Test("Of a file that is cut anywhere, or damaged at any byte of its marks, the reader takes what is whole")
    func damaged() throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try write(path, .wav(.int16), Self.marks)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let header = try #require(whole.range(of: Data("data".utf8), options: .backwards)).upperBound
        for length in 0..<header {
            try whole.prefix(length).write(to: URL(fileURLWithPath: path))
            if let info = try? AudioFileInfo(path: path) { #expect(info.marks.count <= 4) }
        }
        for place in 12..<header {
            for byte: UInt8 in [0, 0xFF] {
                var damaged = whole
                damaged[place] = byte
                try damaged.write(to: URL(fileURLWithPath: path))
                if let info = try? AudioFileInfo(path: path) { #expect(info.marks.count <= 4 && info.frameCount >= 0) }
            }
        }
    }
}
