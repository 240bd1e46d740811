import Foundation
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// The content of a file whose program was killed while it wrote.
@Suite struct KilledWriterTests {
    /// Formats, and how many frames of the last may be missing at 48 kHz: none where a header says how many there are; one
    /// FLAC frame and one sample; a page; what an MP3 encoder holds back.
    static let formats: [(AudioFileFormat, missing: Int)] = [
        (.wav(.int16), 0), (.wav(.int24), 0), (.wav(.float32), 0), (.aiff(.int24), 0), (.aiff(.float32), 0),
        (.caf(.int24), 0), (.caf(.float32), 0), (.flac(.int16), 4_096), (.flac(.int24), 4_096),
        (.oggVorbis(), 48_000), (.opus(), 48_000), (.mp3(), 8_000),
    ]

    private static let frames: Int = extent(240_000, inDebug: 96_000)

    @Test("kill -9: the file is valid, and what was written is in it", arguments: formats.indices)
    func killed(index: Int) async throws {
        let (format, missing) = KilledWriterTests.formats[index]
        let folder = try Folder(), path = folder.file("a." + (format.fileExtension ?? ""))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, index = index as Int] in
            let format = KilledWriterTests.formats[index].0
            var writer = try AudioFileWriter(path: path, format: format, sampleRate: 48_000, channels: 2)
            let block = sine(channels: 2, frames: KilledWriterTests.frames)
            for first in stride(from: 0, to: KilledWriterTests.frames, by: 1_000) {
                try writer.write(block, from: first, frames: 1_000)
            }
            kill(getpid(), SIGKILL)
        }
        let info = try AudioFileInfo(path: path)
        #expect(info.notice == nil && info.sampleRate == 48_000 && info.channelCount == 2)
        let channels = try read(path)
        // The length of a bare MPEG stream is calculated from its bytes, to a frame or so.
        #expect(info.frameCount - Int64(channels[0].count) <= (format.encoding == .mp3 ? 1_152 : 0))
        #expect((Self.frames - missing...Self.frames).contains(channels[0].count))
        if !format.isLossy {
            let steps = Float(1 << ((format.integerBits ?? 24) - 1))
            let expected = sine(channels: 2, frames: Self.frames).channels
            for channel in 0..<2 {
                let worst = zip(channels[channel], expected[channel]).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
                #expect(worst <= 0.5 / steps + 1e-7)
            }
        }
        // Another program agrees, where it knows the format.
        if format.encoding == .opus || format.encoding == .mp3 { return }
        let (status, output) = try run("/usr/bin/sox", [path, "-n", "stat"])
        #expect(status == 0 && abs(length(output) - Double(info.frameCount) / 48_000) < 1e-4, "\(output)")
    }
}

/// The seconds that `sox -n stat` prints.
func length(_ output: String) -> Double {
    for line in output.split(separator: "\n") where line.hasPrefix("Length (seconds):") {
        return Double(line.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) ?? -1
    }
    return -1
}
