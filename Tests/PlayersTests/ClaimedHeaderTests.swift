import Foundation
import RenderStack
import TestSupport
import Testing

/// Headers that claim what cannot be: players say so, or play what there is, and take no memory for what is not there.
@Suite struct ClaimedHeaderTests {
    private struct Bytes {
        var data = Data()
        mutating func text(_ text: String) { data += Data(text.utf8) }
        mutating func big(_ number: Int, _ count: Int) {
            for index in (0..<count).reversed() { data.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
        }
        mutating func little(_ number: Int, _ count: Int) {
            for index in 0..<count { data.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
        }
    }

    private static func wav(_ rate: Int, _ channels: Int, _ length: Int, _ frames: Int) -> Data {
        var bytes = Bytes()
        bytes.text("RIFF")
        bytes.little(min(length + 36, 0xFFFF_FFFF), 4)
        bytes.text("WAVEfmt ")
        for (number, count) in [
            (16, 4), (1, 2), (channels, 2), (rate, 4), (rate &* channels &* 2, 4), (channels * 2, 2), (16, 2),
        ] { bytes.little(number, count) }
        bytes.text("data")
        bytes.little(length, 4)
        return bytes.data + Data(repeating: 3, count: frames * 2 * min(channels, 64))
    }

    private static func aiff(_ rate: Int, _ channels: Int, _ length: Int, _ frames: Int) -> Data {
        var bytes = Bytes()
        bytes.text("FORM")
        bytes.big(length + 46, 4)
        bytes.text("AIFFCOMM")
        for (number, count) in [(18, 4), (channels, 2), (length / 2 / max(1, channels), 4), (16, 2)] {
            bytes.big(number, count)
        }
        // An 80-bit float.
        let exponent = rate == 0 ? 0 : 16_383 + (63 - rate.leadingZeroBitCount)
        bytes.big(exponent, 2)
        bytes.big(rate == 0 ? 0 : rate << rate.leadingZeroBitCount, 8)
        bytes.text("SSND")
        bytes.big(length + 8, 4)
        bytes.big(0, 8)
        return bytes.data + Data(repeating: 3, count: frames * 2 * min(channels, 64))
    }

    private static func caf(_ rate: Int, _ channels: Int, _ length: Int, _ frames: Int) -> Data {
        var bytes = Bytes()
        bytes.text("caff")
        bytes.big(0x1_0000, 4)
        bytes.text("desc")
        bytes.big(32, 8)
        bytes.big(Int(truncatingIfNeeded: Double(rate).bitPattern), 8)
        bytes.text("lpcm")
        for number in [0, channels * 2, 1, channels, 16] { bytes.big(number, 4) }
        bytes.text("data")
        bytes.big(length == 0xFFFF_FFFF ? -1 : length + 4, 8)
        bytes.big(0, 4)
        return bytes.data + Data(repeating: 3, count: frames * 2 * min(channels, 64))
    }

    /// A FLAC file of one frame, whose header is another one's.
    private static func flac(_ rate: Int, _ channels: Int, _ length: Int, _ folder: TemporaryFolder) throws -> Data {
        var data = try Data(contentsOf: URL(fileURLWithPath: folder.write([noise(3_000, seed: 1)], "whole.flac")))
        let old = data[18..<26].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let new =
            UInt64(rate & 0xF_FFFF) << 44 | UInt64((channels - 1) & 7) << 41 | old & (31 << 36) | UInt64(length)
            & 0xF_FFFF_FFFF
        for index in 0..<8 { data[18 + index] = UInt8(truncatingIfNeeded: new >> UInt64(56 - 8 * index)) }
        return data
    }

    private static func resident() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (Int(status.split(separator: " ")[1]) ?? 0) * 4_096
    }

    @Test("Claimed rates, channels and lengths are errors with a sentence, or are played as far as there is something")
    func claims() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/claim"
        let before = try Self.resident()
        for rate in [0, 1, 8_000, 999_999, 1_000_001, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] {
            for channels in [0, 1, 64, 65_535] {
                for length in [0, 6_000, 0xFFFF_FFFF] where rate == 8_000 || channels == 1 {
                    for kind in 0..<4 {
                        let data =
                            switch kind {
                            case 0: Self.wav(rate, channels, length, 1_000)
                            case 1: Self.aiff(rate, channels, length, 1_000)
                            case 2: Self.caf(rate, channels, length, 1_000)
                            default: try Self.flac(rate, channels, length, folder)
                            }
                        try data.write(to: URL(fileURLWithPath: path))
                        try Self.use(path, rate: rate)
                    }
                }
            }
        }
        // The claimed length would be gigabytes.
        #expect(try Self.resident() - before < 1 << 30)
    }

    private static func use(_ path: String, rate: Int) throws {
        do throws(AudioFileError) {
            let player = try FilePlayer(path: path, readAhead: 0.25)
            player.play()
            if player.channelCount == 1 && player.frameCount > 1 {
                for rate in [1_000_000.0, 1] {
                    let renderer = try? Renderer(sampleRate: rate, channels: 2) { context in
                        context.run(player)
                        context.output()
                    }
                    _ = renderer?.renderOffline(frames: 64)
                }
            }
        } catch {
            #expect(error.path == path && error.description.count > 20)
        }
        do throws(AudioFileError) {
            let sound = try Sound(path: path)
            #expect(sound.frameCount <= 10_000)
        } catch {
            #expect(error.path == path && error.description.count > 20)
        }
    }

    @Test("Two megahertz and two gigahertz are refused with the claimed rate", arguments: [2_000_000, 2_000_000_000])
    func tooFast(rate: Int) async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/fast.wav"
        try Self.wav(rate, 1, 2_000, 1_000).write(to: URL(fileURLWithPath: path))
        func refusal(_ body: () throws -> Void) -> String {
            do {
                try body()
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(refusal { _ = try FilePlayer(path: path) }.contains("\(rate)"))
        #expect(refusal { _ = try Sound(path: path) }.contains("\(rate)"))
        #expect(refusal { try BufferPlayer().schedule(path: path) }.contains("\(rate)"))
        await #expect(throws: AudioFileError.self) { _ = try await Sound.load(path: path) }
        await #expect(throws: AudioFileError.self) { _ = try await AudioBlock.load(path: path, sampleRate: 48_000) }
    }
}
