import Foundation
import RenderCore
import Testing

@testable import AudioFiles

/// Files that the library gets wrong without our help.
@Suite struct OddFilesTests {
    /// Loud and soft by turns, so that an encoder saves bits for later.
    private static func sound(_ frames: Int, rate: Double, channels: Int) -> AudioBlock {
        var random = Random(state: 3)
        let samples = (0..<frames).map { frame in
            let seconds = Double(frame) / rate
            let noise = Float(Int64(random.next() >> 48) - 32_768) / 32_768
            let tone = Float(RenderMath.sin(2 * .pi * 440 * seconds)) * 0.3
            return RenderMath.sin(8 * seconds) > 0.8 ? tone + 0.2 * noise : tone
        }
        return AudioBlock(Array(repeating: samples, count: channels))
    }

    private static func write(
        _ block: borrowing AudioBlock, _ path: String, _ format: AudioFileFormat, rate: Double,
        tags: [AudioFileTag: String] = [:]
    ) throws {
        var writer = try AudioFileWriter(
            path: path, format: format, sampleRate: rate, channels: block.channelCount, tags: tags)
        try writer.write(block)
        try writer.finish()
    }

    @Test("An MP3 file has the length that was written, at every rate and quality")
    func mp3Length() throws {
        let folder = try Folder(), path = folder.file("a.mp3")
        for rate in [8_000.0, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] {
            for channels in 1...2 {
                let frames = Int(rate * 1.5) + 123
                let block = Self.sound(frames, rate: rate, channels: channels)
                for quality in [nil, 0, 0.1, 0.3] as [Double?] {
                    try Self.write(block, path, .mp3(quality: quality), rate: rate)
                    let info = try AudioFileInfo(path: path)
                    #expect(
                        info.frameCount == Int64(frames) && info.notice == nil, "\(rate) \(channels) \(quality ?? -1)")
                    #expect(try read(path)[0].count == frames)
                }
            }
        }
    }

    /// An MP3 file without the frame that says how long it is, whose bit rate changes.
    private static func headless(_ folder: borrowing Folder) throws -> (path: String, frames: Int) {
        var bytes: [UInt8] = []
        for (index, quality) in [0.1, 0.9, 0.12].enumerated() {
            let path = folder.file("part\(index).mp3")
            try write(sound(200_000, rate: 44_100, channels: 2), path, .mp3(quality: quality), rate: 44_100)
            let part = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            guard let header = MPEGFrames.Header(part[..<4].reduce(0) { $0 << 8 | UInt32($1) }) else { continue }
            bytes += part[Int(header.length)...]
        }
        var (frames, place) = (0, 0)
        while place + 4 <= bytes.count,
            let header = MPEGFrames.Header(bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) })
        {
            frames += 1
            place += Int(header.length)
        }
        let path = folder.file("headless.mp3")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return (path, frames * 1_152)
    }

    @Test("An MP3 file that does not say how long it is, with a bit rate that varies, is read to its end")
    func mp3WithoutHeader() throws {
        let folder = try Folder()
        let (path, frames) = try Self.headless(folder)
        let info = try AudioFileInfo(path: path)
        // The decoder's own delay of 529 frames is left out.
        #expect(info.frameCount == Int64(frames - 529), "\(info)")
        let whole = try read(path)
        #expect(whole[0].count == frames - 529)
        #expect(whole[0].suffix(20_000).contains { abs($0) > 0.2 })
    }

    @Test("A seek in an MP3 file of a low bit rate leads to the right frames")
    func mp3Seeks() throws {
        let folder = try Folder()
        var paths = [try Self.headless(folder).path]
        for (rate, channels) in [(8_000.0, 1), (22_050, 2), (44_100, 2)] {
            let path = folder.file("\(rate).mp3")
            try Self.write(
                Self.sound(Int(rate) * 8, rate: rate, channels: channels), path, .mp3(quality: 0), rate: rate)
            paths.append(path)
        }
        for path in paths {
            let whole = try read(path)
            var reader = try AudioFileReader(path: path)
            var block = AudioBlock(channels: whole.count, frames: 3_000)
            var random = Random(state: 9)
            for _ in 0..<60 {
                let frame = Int(random.next() % UInt64(whole[0].count - 3_000))
                try reader.seek(to: Int64(frame))
                #expect(try reader.read(into: &block) == 3_000)
                let worst = zip(block.array(0), whole[0][frame...]).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
                #expect(worst < 1e-5, "\(path) \(frame)")
            }
        }
    }

    @Test("An Opus file has its last milliseconds, wherever it ends", arguments: [48_000.0, 24_000, 16_000])
    func opusEnd(rate: Double) throws {
        let folder = try Folder(), path = folder.file("a.opus")
        let last = Int(rate / 200)
        for extra in stride(from: 0, to: Int(rate / 50), by: Int(rate / 1_000)) {
            let frames = Int(rate) / 2 + extra
            let samples = (0..<frames).map { Float(RenderMath.sin(2 * .pi * 300 * Double($0) / rate)) * 0.4 }
            try Self.write(AudioBlock([samples]), path, .opus(), rate: rate)
            let info = try AudioFileInfo(path: path)
            let output = try read(path)[0]
            #expect(info.frameCount == Int64(frames) && output.count == frames && info.notice == nil)
            let error = zip(output.suffix(last), samples.suffix(last)).reduce(0.0) {
                $0 + Double(($1.0 - $1.1) * ($1.0 - $1.1))
            }
            #expect((error / Double(last)).squareRoot() < 0.08, "\(frames)")
        }
    }

    @Test("An AIFF file of an odd number of bytes says the true number", arguments: [1_001, 1_000])
    func aiffSize(frames: Int) throws {
        let folder = try Folder(), path = folder.file("a.aiff")
        for channels in [1, 2, 3] {
            try Self.write(Self.sound(frames, rate: 48_000, channels: channels), path, .aiff(.int24), rate: 48_000)
            let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            func number(_ place: Int) -> Int { data[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
            var place = 12
            while String(decoding: data[place..<place + 4], as: UTF8.self) != "SSND" { place += 8 + number(place + 4) }
            #expect(number(place + 4) == frames * channels * 3 + 8)
            #expect(number(4) == data.count - 8 && data.count % 2 == 0)
            #expect(try AudioFileInfo(path: path).frameCount == Int64(frames))
        }
    }

    @Test("Long tags of a WAV file come back, and tags in Latin-1 are read as such")
    func tags() throws {
        let folder = try Folder(), path = folder.file("a.wav"), other = folder.file("a.mp3")
        let long = String(repeating: "Grüße, ", count: 714)
        let block = Self.sound(48_000, rate: 48_000, channels: 1)
        try Self.write(block, path, .wav(.int16), rate: 48_000, tags: [.comment: long, .title: "Ä", .artist: "B"])
        #expect(try AudioFileInfo(path: path).tags == [.comment: long, .title: "Ä", .artist: "B"])
        try Self.write(block, other, .mp3(), rate: 48_000, tags: [.title: "Händel", .artist: "Björk"])
        let tags = try AudioFileInfo(path: other).tags
        #expect(tags[.title] == "Händel" && tags[.artist] == "Björk", "\(tags)")
    }
}
