import CSndFile
import Foundation
import Glibc
import RenderCore
import Synchronization
import Testing

@testable import AudioFiles

/// Files that are broken on purpose: whatever is in them, reading ends, with samples or with an error.
///
/// Each seed file is mutated by numbers from a generator that begins the same each time, in a child process with a limit
/// on its memory and an alarm for what never ends. RENDERSTACK_FUZZ_SECONDS says how long each seed is tried (else 60
/// files); RENDERSTACK_FUZZ_SEED begins with another number. A file that kills the child stays as `culprit` in the
/// folder that the test names.
@Suite struct FuzzTests {
    @Test(
        "files broken at random never crash, never hang, never take memory without end",
        arguments: [
            "wav", "wav24", "rf64", "aiff", "aifc", "caf", "flac", "ogg", "opus", "mp3", "w64", "au", "voc", "nist",
            "avr",
            "paf", "svx", "ircam", "mat4", "mat5", "pvf", "sds", "xi", "htk", "wve", "mpc", "ima", "ms", "gsm", "alac",
            "g721", "aiffima", "dwvw", "nms",
        ])
    func mutations(seed: String) async throws {
        let folder = try Folder()
        try FuzzTests.makeSeed(seed, at: folder.file("seed"))
        let path = folder.path
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [path = path as String, seed = seed as String] in
            FuzzTests.limitMemory()
            let environment = ProcessInfo.processInfo.environment
            let start = environment["RENDERSTACK_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
            let end = environment["RENDERSTACK_FUZZ_SECONDS"].flatMap { Double($0) }.map { Date() + $0 }
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "/seed")))
            var random = Random(
                state: start &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(seed.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
            var rounds = 0
            while end.map({ Date() < $0 }) ?? (rounds < 60) {
                var broken = FuzzTests.mutate(bytes, &random)
                // Sometimes a chain, whole or broken.
                if random.next() % 4 == 0 {
                    broken += random.next() % 2 == 0 ? bytes : FuzzTests.mutate(bytes, &random)
                }
                try Data(broken).write(to: URL(fileURLWithPath: path + "/culprit"))
                alarm(20)
                FuzzTests.use(path + "/culprit", &random)
                FuzzTests.listen(broken, &random)
                alarm(0)
                rounds += 1
            }
            print("\(seed): \(rounds) files")
        }
        if let result { print(String(decoding: result.standardOutputContent, as: UTF8.self), terminator: "") }
        if result == nil || !FileManager.default.fileExists(atPath: folder.file("culprit")) {
            let kept = FileManager.default.temporaryDirectory.path + "/culprit-\(seed)"
            try? FileManager.default.removeItem(atPath: kept)
            try? FileManager.default.copyItem(atPath: folder.file("culprit"), toPath: kept)
            Issue.record("the file that did it is \(kept)")
        }
    }

    /// Reads the bytes as a stream, in pieces of any length: to its end, or as far as a million frames.
    private static func listen(_ bytes: [UInt8], _ random: inout Random) {
        let most = Int(random.next() % 5_000) + 1
        let place = Mutex(0)
        let source = AudioBytes(name: "culprit") {
            place.withLock { place in
                let piece = bytes[place..<min(bytes.count, place + most)]
                place += piece.count
                return Array(piece)
            }
        }
        let (rates, channels) = ([nil, 44_100, 8_000] as [Double?], [nil, 1, 2] as [Int?])
        do throws(AudioFileError) {
            var reader = try AudioStreamReader(
                source, sampleRate: rates[Int(random.next() % 3)], channels: channels[Int(random.next() % 3)])
            var block = AudioBlock(channels: reader.channelCount, frames: 3_000)
            while case let count = try reader.read(into: &block), count > 0, reader.position < 1_000_000 {
                precondition(count <= 3_000 && reader.info.channelCount <= 64)
            }
        } catch {
            precondition(error.path == "culprit" && !error.description.isEmpty)
        }
    }

    /// Everything that a user does with a file.
    static func use(_ path: String, _ random: inout Random) {
        _ = try? AudioFileInfo(path: path)
        do throws(AudioFileError) {
            var reader = try AudioFileReader(path: path)
            var block = AudioBlock(channels: reader.info.channelCount, frames: 1_000)
            var read = 0
            for _ in 0..<100 {
                let count = try reader.read(into: &block, at: 10, frames: 700)
                precondition(count >= 0 && count <= 700)
                read += count
                if count == 0 { break }
            }
            for _ in 0..<4 {
                let most = UInt64(max(1, min(reader.info.frameCount, 1 << 40)))
                try reader.seek(to: Int64(random.next() % most))
                _ = try reader.read(into: &block)
            }
        } catch {
            precondition(error.path == path && !error.description.isEmpty)
        }
    }

    static func mutate(_ seed: [UInt8], _ random: inout Random) -> [UInt8] {
        var bytes = seed
        let edges: [[UInt8]] = [
            [0, 0, 0, 0], [255, 255, 255, 255], [255, 255, 255, 127], [0, 0, 0, 128], [127, 255, 255, 255],
            [128, 0, 0, 0],
            [1, 0, 0, 0], [0, 0, 0, 1], [255, 255], [0, 0], [0, 255, 255, 255, 255, 255, 255, 255],
        ]
        for _ in 0..<(1 + random.next() % 8) where !bytes.isEmpty {
            // Mostly in the header, where the lies are.
            let range = random.next() % 3 > 0 ? min(bytes.count, 200) : bytes.count
            let place = Int(random.next() % UInt64(range))
            switch random.next() % 7 {
            case 0: bytes[place] ^= UInt8(1 << (random.next() % 8))
            case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 2:
                for (i, byte) in edges[Int(random.next() % UInt64(edges.count))].enumerated()
                where place + i < bytes.count {
                    bytes[place + i] = byte
                }
            case 3: bytes.removeLast(Int(random.next() % UInt64(bytes.count)) / (random.next() % 2 == 0 ? 1 : 20))
            case 4:
                let length = min(bytes.count - place, Int(random.next() % 64))
                bytes.insert(contentsOf: bytes[place..<place + length], at: Int(random.next() % UInt64(bytes.count)))
            case 5: bytes.removeSubrange(place..<min(bytes.count, place + Int(random.next() % 16)))
            default:
                for i in place..<min(bytes.count, place + Int(random.next() % 40)) {
                    bytes[i] = UInt8(truncatingIfNeeded: random.next())
                }
            }
        }
        return bytes
    }

    /// A tenth of a second of two sines, with tags.
    static func makeSeed(_ name: String, at path: String) throws {
        let ours: [String: AudioFileFormat] = [
            "wav": .wav(.float32), "wav24": .wav(.int24), "aiff": .aiff(.int16), "aifc": .aiff(.float32),
            "caf": .caf(.int24),
            "flac": .flac(.int16), "ogg": .oggVorbis(), "opus": .opus(), "mp3": .mp3(),
        ]
        if let format = ours[name] {
            let block = sine(channels: 2, frames: 12_000)
            return try write(block, to: path, format: format, tags: [.title: "One", .comment: "A comment"])
        }
        let (code, channels) = try #require(theirs[name])
        var info = SF_INFO(
            frames: 0, samplerate: 8_000, channels: channels, format: Int32(code), sections: 0, seekable: 0)
        let file = unsafe try #require(sf_open(path, Int32(SFM_WRITE), &info), "\(name)")
        let samples = sine(channels: Int(channels), frames: 4_800, rate: 8_000).interleaved()
        #expect(unsafe sf_writef_float(file, samples, 4_800) == 4_800)
        unsafe sf_close(file)
    }

    /// Formats that only the library writes.
    private static let theirs: [String: (code: Int, channels: Int32)] = [
        "rf64": (SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 2), "w64": (SF_FORMAT_W64 | SF_FORMAT_PCM_16, 2),
        "au": (SF_FORMAT_AU | SF_FORMAT_PCM_16, 2), "voc": (SF_FORMAT_VOC | SF_FORMAT_PCM_16, 2),
        "nist": (SF_FORMAT_NIST | SF_FORMAT_PCM_16, 2), "avr": (SF_FORMAT_AVR | SF_FORMAT_PCM_16, 2),
        "paf": (SF_FORMAT_PAF | SF_FORMAT_PCM_24, 2), "svx": (SF_FORMAT_SVX | SF_FORMAT_PCM_16, 1),
        "ircam": (SF_FORMAT_IRCAM | SF_FORMAT_FLOAT, 2), "mat4": (SF_FORMAT_MAT4 | SF_FORMAT_FLOAT, 2),
        "mat5": (SF_FORMAT_MAT5 | SF_FORMAT_FLOAT, 2), "pvf": (SF_FORMAT_PVF | SF_FORMAT_PCM_16, 2),
        "sds": (SF_FORMAT_SDS | SF_FORMAT_PCM_16, 1), "xi": (SF_FORMAT_XI | SF_FORMAT_DPCM_16, 1),
        "htk": (SF_FORMAT_HTK | SF_FORMAT_PCM_16, 1), "wve": (SF_FORMAT_WVE | SF_FORMAT_ALAW, 1),
        "mpc": (SF_FORMAT_MPC2K | SF_FORMAT_PCM_16, 2), "ima": (SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 2),
        "ms": (SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, 2), "gsm": (SF_FORMAT_WAV | SF_FORMAT_GSM610, 1),
        "alac": (SF_FORMAT_CAF | SF_FORMAT_ALAC_16, 2), "g721": (SF_FORMAT_AU | SF_FORMAT_G721_32, 1),
        "aiffima": (SF_FORMAT_AIFF | SF_FORMAT_IMA_ADPCM, 2), "dwvw": (SF_FORMAT_AIFF | SF_FORMAT_DWVW_16, 1),
        "nms": (SF_FORMAT_WAV | SF_FORMAT_NMS_ADPCM_32, 1),
    ]

    private static func limitMemory() {
        // A sanitizer reserves terabytes of addresses.
        if unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil { return }
        var limit = rlimit(rlim_cur: 8 << 30, rlim_max: 8 << 30)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014): the same numbers everywhere.
struct Random {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
