import Foundation
import Glibc
import RenderCore
import Synchronization
import TestSupport
import Testing

@testable import AudioFiles

/// Reads a stream to its end, in steps of `step` frames.
private func readStream(
    _ bytes: AudioBytes, sampleRate: Double? = nil, channels: Int? = nil, step: Int = 1_000
) throws(AudioFileError) -> (info: AudioStreamInfo, channels: [[Float]], sounds: Int) {
    var reader = try AudioStreamReader(bytes, sampleRate: sampleRate, channels: channels)
    let info = reader.info
    var block = AudioBlock(channels: reader.channelCount, frames: step)
    var all = [[Float]](repeating: [], count: reader.channelCount)
    while case let count = try reader.read(into: &block), count > 0 {
        for channel in all.indices { all[channel] += block.array(channel)[..<count] }
    }
    return (info, all, reader.soundCount)
}

private let formats: [(name: String, format: AudioFileFormat)] = [
    ("wav", .wav(.int16)), ("wav24", .wav(.int24)), ("float", .wav(.float32)), ("aiff", .aiff(.int24)),
    ("caf", .caf(.int16)), ("flac", .flac(.int16)), ("flac24", .flac(.int24)), ("ogg", .oggVorbis()), ("opus", .opus()),
    ("mp3", .mp3()),
]

private final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .acquiring) }
    /// Returns the value before.
    func add(_ more: Int) -> Int { count.wrappingAdd(more, ordering: .acquiringAndReleasing).oldValue }
}

/// A file's bytes.
private func bytes(
    _ format: AudioFileFormat, _ block: borrowing AudioBlock, sampleRate: Double = 48_000,
    tags: [AudioFileTag: String] = [:]
) throws -> [UInt8] {
    let folder = try Folder()
    let path = folder.file("sound")
    try write(block, to: path, format: format, sampleRate: sampleRate, tags: tags)
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
}

@Suite struct AudioStreamTests {
    @Test("a stream has the frames of the file, in whatever pieces its bytes come", arguments: formats.map(\.name))
    func likeTheFile(name: String) throws {
        let format = try #require(formats.first { $0.name == name }?.format)
        let folder = try Folder()
        try write(sine(channels: 2, frames: 30_000), to: folder.file("a"), format: format)
        let all = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("a"))))
        let file = try read(folder.file("a"))
        #expect(file[0].count == 30_000)
        for piece in [1, 37, 4_096, all.count] {
            let place = Counter()
            let source = AudioBytes { [all, piece] in
                let first = place.add(piece)
                return first < all.count ? Array(all[first..<min(all.count, first + piece)]) : []
            }
            let (info, stream, sounds) = try readStream(source, step: piece == 37 ? 77 : 5_000)
            #expect(info.format.container == format.container && info.sampleRate == 48_000 && info.channelCount == 2)
            #expect(sounds == 1)
            #expect(largestDifference(stream[0], file[0]) == 0, "pieces of \(piece)")
            #expect(largestDifference(stream[1], file[1]) == 0, "pieces of \(piece)")
        }
        let (_, memory, _) = try readStream(AudioBytes(all))
        #expect(memory == file)
    }

    @Test("a pipe whose writer trickles gives the same frames", arguments: ["flac", "ogg", "opus", "mp3", "wav"])
    func pipe(name: String) throws {
        let format = try #require(formats.first { $0.name == name }?.format)
        let all = try bytes(format, sine(channels: 1, frames: 24_000))
        let pipe = Pipe()
        let source = AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor, name: "pipe")
        try pipe.fileHandleForReading.close()
        Thread.detachNewThread {
            for first in stride(from: 0, to: all.count, by: 1_000) {
                try? pipe.fileHandleForWriting.write(contentsOf: all[first..<min(all.count, first + 1_000)])
                usleep(500)
            }
            try? pipe.fileHandleForWriting.close()
        }
        #expect(try readStream(source).channels[0].count == 24_000)
    }

    @Test("MP3 and Ogg in memory can be read from any frame, as a file can", arguments: formats.map(\.name))
    func memory(name: String) throws {
        let format = try #require(formats.first { $0.name == name }?.format)
        let folder = try Folder()
        try write(sine(channels: 2, frames: 60_000), to: folder.file("a"), format: format, tags: [.title: "Here"])
        let all = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("a"))))
        var file = try AudioFileReader(path: folder.file("a"))
        var memory = try AudioFileReader(bytes: all, name: "asset")
        #expect(memory.info.path == "asset" && memory.info.frameCount == 60_000)
        #expect(memory.info.tags == file.info.tags)
        var one = AudioBlock(channels: 2, frames: 700)
        var two = AudioBlock(channels: 2, frames: 700)
        for frame in [0, 59_000, 123, 30_000, 29_999, 59_990, 60_000] as [Int64] {
            try file.seek(to: frame)
            try memory.seek(to: frame)
            let counts = (try file.read(into: &one), try memory.read(into: &two))
            #expect(counts.0 == counts.1 && one.channels == two.channels, "frame \(frame)")
        }
        #expect(throws: AudioFileError.self) { try memory.seek(to: 60_001) }
        let empty = failure { () throws(AudioFileError) in _ = try AudioFileReader(bytes: []) }
        #expect(empty?.reason == .empty)
        let text = failure { () throws(AudioFileError) in
            _ = try AudioFileReader(bytes: Array("It is no sound.".utf8), name: "letter")
        }
        #expect(text?.reason == .notAudio && text?.path == "letter")
    }

    @Test("a chain in Ogg goes on with the next sound, at the rate and with the channels that are wanted")
    func chains() throws {
        let first = try bytes(.oggVorbis(), sine(channels: 2, frames: 30_000))
        let second = try bytes(.opus(), sine(channels: 1, frames: 24_000), tags: [.title: "Second"])
        let third = try bytes(.oggVorbis(), sine(channels: 1, frames: 22_050, rate: 44_100), sampleRate: 44_100)
        var reader = try AudioStreamReader(AudioBytes(first + second + third), sampleRate: 48_000, channels: 2)
        var block = AudioBlock(channels: 2, frames: 500)
        var titles: [String?] = []
        var left: [Float] = []
        while case let count = try reader.read(into: &block), count > 0 {
            left += block.array(0)[..<count]
            if reader.soundCount > titles.count { titles.append(reader.info.tags[.title]) }
        }
        #expect(titles == [nil, "Second", nil])
        #expect(reader.soundCount == 3)
        // The last is half a second at 44.1 kHz, which the converter makes 24,000 frames of.
        #expect(left.count == 30_000 + 24_000 + 24_000)
        for start in [5_000, 35_000, 58_000] {
            #expect(abs(level(Array(left[start..<start + 16_384]), frequency: 440) + 6) < 0.5, "from frame \(start)")
        }
    }

    @Test("a part of a chain that is damaged at its beginning is left out, and the next one is heard")
    func damagedLink() throws {
        let first = try bytes(.oggVorbis(), sine(channels: 1, frames: 24_000))
        var second = first
        for i in 40..<90 { second[i] = 7 }
        let (_, channels, _) = try readStream(AudioBytes(first + second + first))
        #expect(channels[0].count == 48_000)
    }

    @Test("MP3 is found behind what is no sound, from its middle, and goes on behind damaged bytes")
    func damagedMP3() throws {
        func text(_ name: String, _ text: String) -> [UInt8] {
            Array(name.utf8) + [0, 0, 0, UInt8(text.utf8.count + 1), 0, 0, 0] + Array(text.utf8)
        }
        let texts = text("TIT2", "Tone") + text("TPE1", "Nobody")
        let tag = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, UInt8(texts.count)] + texts
        let whole = tag + (try bytes(.mp3(), sine(channels: 2, frames: 96_000)))
        let plain = try readStream(AudioBytes(whole))
        #expect(plain.info.tags[.title] == "Tone" && plain.info.tags[.artist] == "Nobody")
        #expect(plain.channels[0].count == 96_000)

        let junk = [UInt8]((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 3) & 0x7F })
        #expect(try readStream(AudioBytes(junk + whole)).channels[0].count == 96_000)

        let middle = try readStream(AudioBytes(Array(whole[(whole.count / 2)...])))
        #expect(abs(middle.channels[0].count - 48_000) < 4_000)

        var damaged = whole
        for i in whole.count / 2..<whole.count / 2 + 3_000 { damaged[i] = UInt8(truncatingIfNeeded: i &* 37) }
        let rest = try readStream(AudioBytes(damaged))
        #expect(rest.channels[0].count > 80_000)
        let end = Array(rest.channels[0].suffix(20_000).prefix(16_384))
        #expect(abs(level(end, frequency: 440) + 6) < 0.5)

        // A megabyte of rubbish between two songs.
        let noise = (0..<1_000_000).map { UInt8(truncatingIfNeeded: ($0 &* 0x9E37_79B9) >> 12) & 0x7F }
        #expect(try readStream(AudioBytes(whole + noise + whole)).channels[0].count > 180_000)
    }

    @Test("a FLAC stream goes on behind damaged bytes")
    func damagedFLAC() throws {
        var all = try bytes(.flac(.int16), sine(channels: 1, frames: 96_000))
        for i in all.count / 2..<all.count / 2 + 50 { all[i] ^= 0x55 }
        #expect(try readStream(AudioBytes(all)).channels[0].count > 40_000)
    }

    @Test("WAV from a program that did not know its length is read to its end")
    func endlessWAV() throws {
        let all = try bytes(.wav(.int16), ramp(channels: 2, frames: 10_000))
        let data = try #require(all.indices.first { all[$0...].starts(with: Array("data".utf8)) })
        for length in [0xFFFF_FFFF, 0x7FFF_FFFF] as [UInt32] {
            var open = all
            for (place, value) in [(4, length), (data + 4, length)] {
                for i in 0..<4 { open[place + i] = UInt8(truncatingIfNeeded: value >> UInt32(8 * i)) }
            }
            let stream = try readStream(AudioBytes(open))
            #expect(
                largestDifference(stream.channels[0], ramp(channels: 2, frames: 10_000).array(0)) == 0,
                "length \(length)")
        }
    }

    @Test("what is no sound gets a sentence")
    func noSound() throws {
        func reason(_ bytes: [UInt8]) -> AudioFileError? {
            failure { () throws(AudioFileError) in _ = try readStream(AudioBytes(bytes, name: "radio")) }
        }
        #expect(reason([])?.reason == .empty)
        #expect(
            reason([])?.description
                == "Cannot read \"radio\": nothing came; the sender closed it without a byte of sound.")
        for text in [
            "<html><body>404 Not Found</body></html>", "O", "OggS", "fLaC", "RIFF", "ID3",
            String(repeating: "x", count: 200_000),
        ] {
            let error = reason(Array(text.utf8))
            #expect(error != nil && error?.path == "radio", "\(text.prefix(20))")
        }
        #expect(reason([UInt8](repeating: 0, count: 500_000)) != nil)
        #expect(reason([0, 0, 0, 32] + Array("ftypM4A ".utf8) + [UInt8](repeating: 0, count: 100)) != nil)
    }

    @Test("an error of the program's closure, and a descriptor that is none, end the stream with a sentence")
    func failingSource() throws {
        struct Broken: Error, CustomStringConvertible { var description: String { "the cable is out" } }
        let all = try bytes(.wav(.int16), ramp(channels: 1, frames: 10_000))
        let place = Counter()
        var reader = try AudioStreamReader(
            AudioBytes(name: "cable") {
                let first = place.add(1_000)
                if first > 8_000 { throw Broken() }
                return Array(all[first..<first + 1_000])
            })
        var block = AudioBlock(channels: 1, frames: 100_000)
        #expect(try reader.read(into: &block) > 4_000)
        let error = failure { () throws(AudioFileError) in _ = try reader.read(into: &block) }
        #expect(error?.description == "Cannot read \"cable\": the program says: the cable is out.")
        let none = failure { () throws(AudioFileError) in
            _ = try readStream(AudioBytes(fileDescriptor: -1, name: "nothing"))
        }
        #expect(none?.reason == .system(EBADF))
    }

    @Test("a reader that waits for a pipe comes to its end when the stream is cancelled")
    func cancelling() async throws {
        let pipe = Pipe()
        let source = AudioBytes(fileDescriptor: pipe.fileHandleForReading.fileDescriptor)
        let ended = Counter()
        Thread.detachNewThread {
            _ = try? AudioStreamReader(source)
            _ = ended.add(1)
        }
        usleep(50_000)
        #expect(ended.value == 0)
        source.cancel()
        #expect(await becomesTrue { ended.value == 1 })
        #expect(source.wasCancelled)
    }

    @Test("numbers that cannot be are refused, and a block that does not fit")
    func numbers() throws {
        let all = try bytes(.wav(.int16), ramp(channels: 2, frames: 1_000))
        for (rate, channels) in [
            (0.0, 2), (-1, 2), (.nan, 2), (.infinity, 2), (1e9, 2), (48_000, 0), (48_000, 65), (48_000, -1),
        ] {
            let error = failure { () throws(AudioFileError) in
                _ = try AudioStreamReader(AudioBytes(all), sampleRate: rate, channels: channels)
            }
            #expect(error?.reason == .unsuitableFormat, "\(rate), \(channels)")
        }
        var reader = try AudioStreamReader(AudioBytes(all))
        var block = AudioBlock(channels: 2, frames: 100)
        for (first, frames) in [(-1, 1), (0, 101), (100, 1), (0, -1), (.max, .max)] {
            #expect(throws: AudioFileError.self) { _ = try reader.read(into: &block, at: first, frames: frames) }
        }
        #expect(try reader.read(into: &block, at: 100) == 0)
    }

    @Test("a part of a chain that cannot be read is passed over, however long it is")
    func longDamagedLink() async throws {
        await #expect(processExitsWith: .success) {
            let song = try bytes(.oggVorbis(), sine(channels: 1, frames: 480_000))
            let pages = song.indices.filter { song[$0...].starts(with: Array("OggS".utf8)) }
            var begin = Array(song[..<pages[3]])
            for i in 40..<90 { begin[i] = 7 }
            let (damaged, page) = (begin, Array(song[pages[3]..<pages[4]]))
            let count = Counter()
            let served = AudioBytes {
                let number = count.add(1)
                if number > 30_000 { return [] }
                return number == 0 || number == 30_000 ? song : number == 1 ? damaged : page
            }
            var reader = try AudioStreamReader(served)
            var block = AudioBlock(channels: 1, frames: 48_000)
            while reader.position < 480_000, try reader.read(into: &block) > 0 {}
            let before = residentBytes()
            while try reader.read(into: &block) > 0 {}
            precondition(reader.position == 960_000)
            // A sanitizer keeps the memory that was freed.
            precondition(page.count > 2_000 && (isSanitized || residentBytes() - before < 8 << 20))
        }
    }

    @Test("a tag behind a long tag is passed over as well")
    func twoTags() throws {
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0x50, 0, 0] + [UInt8](repeating: 0, count: 0x50 << 14)
        let song = try bytes(.flac(.int16), sine(channels: 1, frames: 1_000))
        #expect(try readStream(AudioBytes(tag + tag + song)).channels[0].count == 1_000)
    }

    @Test("a stream of half an hour keeps little of itself")
    func memoryOfLongStreams() async throws {
        // In a process of its own, whose memory no other test takes.
        await #expect(processExitsWith: .success) {
            let tenSeconds = try bytes(.mp3(), sine(channels: 1, frames: 480_000))
            let count = Counter()
            var reader = try AudioStreamReader(AudioBytes { count.add(1) < 180 ? tenSeconds : [] })
            var block = AudioBlock(channels: 1, frames: 48_000)
            while try reader.read(into: &block) > 0 && reader.position < 4_800_000 {}
            let before = residentBytes()
            while try reader.read(into: &block) > 0 {}
            precondition(reader.position > 86_000_000)
            precondition(isSanitized || residentBytes() - before < 8 << 20)
        }
    }
}

/// Bytes of memory that this process has.
private func residentBytes() -> Int {
    let words = ((try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? "").split(separator: " ")
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 4_096
}
