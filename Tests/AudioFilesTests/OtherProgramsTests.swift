import CSndFile
import Foundation
import RenderCore
import Testing

@testable import AudioFiles

/// Independent programs read what we write, and we read what they write: the same samples.
@Suite struct OtherProgramsTests {
    /// Returns the file as sox reads it, as raw 32-bit integers: exact for every integer format.
    private func sox(_ path: String, _ folder: Folder) throws -> [Int32] {
        let raw = folder.file("raw")
        // -D: no dither of its own.
        let (status, output) = try run(
            "/usr/bin/sox", ["-D", path, "-t", "raw", "-e", "signed", "-b", "32", "-L", raw])
        #expect(status == 0, "\(output)")
        return try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { unsafe bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self) }
        }
    }

    @Test(
        "sox reads what we write, and finds the same samples",
        arguments: [
            AudioFileFormat.wav(.int16), .wav(.int24), .wav(.int32), .wav(.float32), .aiff(.int16), .aiff(.int24),
            .aiff(.int32), .aiff(.float32), .caf(.int16), .caf(.int24), .caf(.int32), .flac(.int16),
            .flac(.int24),
        ], [1, 2, 6])
    func soxReads(format: AudioFileFormat, channels: Int) throws {
        // Floats in CAF are left out: sox makes them as loud as possible, whichever program wrote them.
        let folder = try Folder(), path = folder.file("a." + (format.fileExtension ?? ""))
        let block = ramp(channels: channels, frames: 5_001)
        try write(block, to: path, format: format, sampleRate: 44_100, tags: [.title: "T"])
        let expected = block.interleaved().map { Int32(Double($0) * 2_147_483_648) }
        let found = try sox(path, folder)
        // sox holds 32 bits; a float's own last bits it rounds.
        #expect(zip(found, expected).allSatisfy { abs(Int64($0) - Int64($1)) <= 128 } && found.count == expected.count)
        #expect(try run("/usr/bin/sox", ["--i", "-r", path]).output == "44100\n")
    }

    @Test("sox decodes our Vorbis to what we decode")
    func soxVorbis() throws {
        let folder = try Folder(), path = folder.file("a.ogg")
        try write(sine(channels: 2, frames: 30_000), to: path)
        let found = try sox(path, folder), ours = try read(path)
        #expect(found.count == 60_000 && ours[0].count == 30_000)
        let worst = found.indices.reduce(0.0) {
            max($0, abs(Double(found[$1]) / 2_147_483_648 - Double(ours[$1 % 2][$1 / 2])))
        }
        #expect(worst <= 1 / 32_768)
    }

    @Test("Python's wave and scipy read what we write, and find the same samples")
    func pythonReads() throws {
        let folder = try Folder()
        for (name, format) in [
            ("i16", AudioFileFormat.wav(.int16)), ("i24", .wav(.int24)), ("i32", .wav(.int32)), ("f32", .wav()),
        ] {
            try write(
                ramp(channels: 3, frames: 1_001), to: folder.file(name + ".wav"), format: format, tags: [.title: "T"])
        }
        let program = """
            import sys, wave, numpy as np, scipy.io.wavfile as w
            folder = sys.argv[1] + "/"
            expected = np.array([[((f * 7 + c * 1001) & 0xFFFF) / 32768 - 1 for c in range(3)] for f in range(1001)])
            for name, scale in (("i16", 2**15), ("i24", 2**31), ("i32", 2**31), ("f32", 1)):
                rate, data = w.read(folder + name + ".wav")
                assert rate == 48000 and data.shape == (1001, 3), (name, data.shape)
                assert (data.astype(np.float64) / scale == expected).all(), name
            for name, width in (("i16", 2), ("i24", 3), ("i32", 4)):
                f = wave.open(folder + name + ".wav")
                assert (f.getnchannels(), f.getsampwidth(), f.getframerate(), f.getnframes()) == (3, width, 48000, 1001)
                raw = f.readframes(2000)
                found = [int.from_bytes(raw[i:i + width], "little", signed=True) for i in range(0, len(raw), width)]
                assert (np.array(found).reshape(1001, 3) / 2**(8 * width - 1) == expected).all(), name
            print("same")
            """
        let (status, output) = try run("/usr/bin/python3", ["-W", "error", "-c", program, folder.path])
        #expect(status == 0 && output == "same\n", "\(output)")
    }

    @Test(
        "we read what sox writes, in every format of its that the library knows",
        arguments: [
            "wav", "aiff", "aifc", "au", "caf", "flac", "w64", "voc", "sph", "avr", "htk", "ircam", "mat4", "mat5",
            "paf",
            "pvf", "sds", "xi", "8svx", "wve",
        ])
    func soxWrites(name: String) throws {
        let folder = try Folder(), path = folder.file("a." + name)
        let mono = ["sds", "xi", "htk", "8svx", "wve"].contains(name)
        let rate = name == "wve" ? 8_000.0 : 44_100
        let block = sine(channels: mono ? 1 : 2, frames: 4_800, rate: rate)
        try write(block, to: folder.file("source.wav"), format: .wav(.int16), sampleRate: rate)
        let (status, output) = try run("/usr/bin/sox", ["-D", folder.file("source.wav"), path])
        #expect(status == 0, "\(output)")
        let info = try AudioFileInfo(path: path)
        #expect(info.channelCount == block.channelCount && info.frameCount == 4_800)
        // Two of them keep the length of a sample instead, in whole nanoseconds or ten times that.
        #expect(abs(info.sampleRate / rate - 1) < (["htk", "sds"].contains(name) ? 2e-3 : 1e-9))
        let found = try read(path)
        // Eight bits, or eight bits on a curve; all others have the sixteen that they were given.
        let tolerance: Float = ["8svx", "wve"].contains(name) ? 1 / 40 : 1 / 32_768
        for channel in 0..<block.channelCount {
            let expected = block.array(channel)
            let worst = zip(found[channel], expected).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
            #expect(worst <= tolerance)
        }
    }

    @Test(
        "we read sox's Vorbis, and its streams from a pipe, which do not say how long they are",
        arguments: ["ogg", "flac", "wav"])
    func soxPipes(name: String) throws {
        let folder = try Folder(), path = folder.file("a." + name)
        let block = sine(channels: 2, frames: 50_000)
        try write(block, to: folder.file("source.wav"), format: .wav(.int16))
        let (status, output) = try run(
            "/bin/sh", ["-c", "sox -V1 -D \(folder.file("source.wav")) -t \(name) - | cat > \(path)"])
        #expect(status == 0, "\(output)")
        let info = try AudioFileInfo(path: path)
        #expect(info.frameCount == 50_000)
        let found = try read(path)
        let worst = zip(found[1], block.array(1)).reduce(Float(0)) { max($0, abs($1.0 - $1.1)) }
        #expect(found[1].count == 50_000 && worst < (name == "ogg" ? 0.05 : 1 / 32_768))
    }
}
