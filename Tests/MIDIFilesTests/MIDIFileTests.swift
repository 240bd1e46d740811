import Foundation
import MIDIFiles
import RenderStack
import Synchronization
import TestSupport
import Testing

@Suite struct MIDIFileTests {
    /// The example of the specification's appendix: a chord in 4/4 at 120 beats a minute, type 0, 96 ticks a quarter.
    private static let example: [UInt8] = [
        0x4D, 0x54, 0x68, 0x64, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0x60, 0x4D, 0x54, 0x72, 0x6B, 0, 0, 0, 0x3B, 0, 0xFF, 0x58,
        4, 4,
        2, 0x18, 8, 0, 0xFF, 0x51, 3, 7, 0xA1, 0x20, 0, 0xC0, 5, 0, 0xC1, 0x2E, 0, 0xC2, 0x46, 0, 0x92, 0x30, 0x60, 0,
        0x3C, 0x60, 0x60, 0x91, 0x43, 0x40, 0x60, 0x90, 0x4C, 0x20, 0x81, 0x40, 0x82, 0x30, 0x40, 0, 0x3C, 0x40, 0,
        0x81,
        0x43, 0x40, 0, 0x80, 0x4C, 0x40, 0, 0xFF, 0x2F, 0,
    ]

    @Test("The example of the specification has its notes, times and tempo")
    func specification() throws {
        let file = try MIDIFile(bytes: Self.example)
        #expect(file.division == .quarter(96) && file.tracks.count == 1)
        #expect(file.tracks[0].events[0].content == .metre(beats: 4, note: 4))
        #expect(file.tracks[0].events[1].content == .tempo(microseconds: 500_000))
        let notes = file.messages.filter { if case .noteOn = $0.message { true } else { false } }
        #expect(notes.map(\.seconds) == [0, 0, 0.5, 1])
        #expect(notes.last?.message == .noteOn(channel: 0, note: 76, velocity: 32))
        #expect(file.duration == 2 && file.messages.count == 11)
    }

    @Test("A reader gets what the writer wrote: all contents, both types, film frames")
    func roundTrip() throws {
        var one = MIDIFile.Track(name: "Ünö")
        for step in 0..<200 {
            one.add(.noteOn(channel: 3, note: UInt8(step % 128), velocity: 1), at: step * 300)
            one.add(.noteOff(channel: 3, note: UInt8(step % 128), velocity: 0), at: step * 300 + 70_000)
            one.add(.bend(channel: 15, value: Int16(step * 60 - 6_000)), at: step * 300)
        }
        one.events.sort { $0.tick < $1.tick }
        var two = MIDIFile.Track(
            events: [
                .init(0, .tempo(microseconds: 1)), .init(7, .metre(beats: 7, note: 8)), .init(7, .text(kind: 6, "")),
                .init(9, .other(kind: 0x7F, [UInt8](repeating: 200, count: 300))),
                .init(9, .systemExclusive([0xF0] + [UInt8](repeating: 5, count: 40) + [0xF7])),
                .init(10, .systemExclusive([0xF7])), .init(2_097_152, .message(.program(channel: 0, number: 9))),
            ], end: 200_000_000)
        for division in [MIDIFile.Division.quarter(1), .quarter(32_767), .film(framesPerSecond: 29, ticks: 80)] {
            for tracks in [[one], [one, two], [two]] {
                let file = MIDIFile(tracks: tracks, division: division)
                let again = try MIDIFile(bytes: file.bytes)
                #expect(again.division == division && again.tracks.map(\.events) == tracks.map(\.events))
                #expect(again.duration == file.duration)
            }
        }
        two.end = 0
        #expect(two.end == 2_097_152)
    }

    @Test("Times follow every change of tempo, in whatever track it stands")
    func tempos() throws {
        var leader = MIDIFile.Track()
        var expected = 0.0
        var melody = MIDIFile.Track()
        var times: [Double] = []
        for bar in 0..<50 {
            let microseconds = 200_000 + 13_337 * bar
            leader.events.append(.init(bar * 1_920, .tempo(microseconds: microseconds)))
            melody.add(.noteOn(channel: 0, note: 60, velocity: 9), at: bar * 1_920 + 480)
            times.append(expected + Double(microseconds) * 1e-6)
            expected += 4 * Double(microseconds) * 1e-6
        }
        for tracks in [[leader, melody], [melody, leader]] {
            let found = MIDIFile(tracks: tracks).messages.map(\.seconds)
            #expect(zip(found, times).allSatisfy { abs($0 - $1) < 1e-9 } && found.count == 50)
        }
        let film = MIDIFile(tracks: [melody], division: .film(framesPerSecond: 29, ticks: 100))
        let seconds: Double = 480 * 1_001 / 3_000_000
        #expect(abs((film.messages.first?.seconds ?? 0) - seconds) < 1e-12)
    }

    @Test("Damaged files give a sentence that names the place, and no crash")
    func damaged() throws {
        func sentence(_ bytes: [UInt8]) -> String {
            do {
                _ = try MIDIFile(bytes: bytes)
                return ""
            } catch { return "\(error)" }
        }
        #expect(sentence([]).contains("begins with “MThd”"))
        #expect(sentence(Array("MThd".utf8)).contains("begins with “MThd”"))
        var two = Self.example
        two[9] = 2
        #expect(sentence(two).contains("of type 2"))
        var none = Self.example
        (none[12], none[13]) = (0, 0)
        #expect(sentence(none).contains("no length"))
        #expect(sentence(Array(Self.example.dropLast(9))).contains("track 1 ends at byte 72"))
        #expect(sentence(Array(Self.example[..<14])).contains("no track"))
        var wrong = Self.example
        wrong[38] = 0x05
        #expect(sentence(wrong).contains("no event that begins with 5"))
        // Any bytes at all: an answer, and what was read can be written.
        var random = SplitMix(state: 22)
        for _ in 0..<20_000 {
            var bytes = Self.example
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<40, using: &random)) }
            guard let file = try? MIDIFile(bytes: bytes) else { continue }
            let again = try MIDIFile(bytes: file.bytes)
            #expect(again.messages.count == file.messages.count && file.duration.isFinite)
            if again.messages.count != file.messages.count { break }
        }
        #expect(throws: MIDIFileError.self) { try MIDIFile(path: "/nowhere/song.mid") }
        #expect(throws: MIDIFileError.self) { try MIDIFile(path: "/") }
        let folder = try TemporaryFolder()
        try MIDIFile(bytes: Self.example).write(path: "\(folder.path)/a.mid")
        #expect(try MIDIFile(path: "\(folder.path)/a.mid") == MIDIFile(bytes: Self.example))
        #expect(throws: MIDIFileError.self) { try MIDIFile(bytes: Self.example).write(path: "/nowhere/a.mid") }
    }

    @Test("A file that is written anew keeps its mode, a link leads where it did, and a device or a pipe is refused")
    func keepsWhatIsThere() throws {
        let folder = try TemporaryFolder(), song = try MIDIFile(bytes: Self.example)
        let real = "\(folder.path)/real.mid", link = "\(folder.path)/link.mid", pipe = "\(folder.path)/pipe.mid"
        func mode(_ path: String) -> mode_t {
            var status = stat()
            return unsafe lstat(path, &status) == 0 ? status.st_mode : 0
        }
        try song.write(path: real)
        #expect(chmod(real, 0o600) == 0 && symlink("real.mid", link) == 0 && mkfifo(pipe, 0o600) == 0)
        try song.write(path: link)
        #expect(mode(real) == S_IFREG | 0o600 && mode(link) & S_IFMT == S_IFLNK)
        #expect(try MIDIFile(path: real) == song)
        for path in [pipe, "/dev/null", "/dev/zero"] {
            let before = mode(path)
            do throws(MIDIFileError) {
                try song.write(path: path)
                Issue.record("\(path) was written")
            } catch {
                #expect(
                    error.description
                        == "\"\(path)\" cannot be written: it is not an ordinary file; choose another name.")
            }
            #expect(mode(path) == before)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
    }

    @Test("A division out of its range is held to it: what is written is read again, with the same times")
    func oddDivisions() throws {
        for frames in [Int.min, -1, 0, 23, 24, 26, 28, 29, 30, 60, 300, .max] {
            for ticks in [Int.min, 0, 1, 40, 255, 256, .max] {
                for division in [MIDIFile.Division.film(framesPerSecond: frames, ticks: ticks), .quarter(ticks)] {
                    var track = MIDIFile.Track()
                    track.add(.noteOn(channel: 0, note: 1, velocity: 1), at: 100)
                    let file = MIDIFile(tracks: [track], division: division)
                    let again = try MIDIFile(bytes: file.bytes)
                    #expect(again.messages == file.messages, "\(division)")
                    #expect(again.duration == file.duration && file.duration.isFinite, "\(division)")
                }
            }
        }
    }
}
