import RenderStack
import TestSupport
import Testing

@Suite struct ClipMIDITests {
    @Test("A track becomes notes with exact beats, and other messages")
    func reading() {
        var track = MIDIFile.Track(name: "melody")
        track.add(.program(channel: 2, number: 5), at: 0)
        track.add(.noteOn(channel: 2, note: 60, velocity: 127), at: 0)
        track.add(.noteOff(channel: 2, note: 60, velocity: 3), at: 32)
        track.add(.noteOn(channel: 2, note: 61, velocity: 64), at: 32)
        track.add(.noteOn(channel: 3, note: 61, velocity: 1), at: 33)
        track.add(.noteOn(channel: 2, note: 61, velocity: 0), at: 64)
        track.add(.noteOff(channel: 3, note: 61, velocity: 0), at: 96 * 4 + 1)
        track.events.append(MIDIFile.Event(48, .systemExclusive([0xF0] + Array(1...20) + [0xF7])))
        let file = MIDIFile(tracks: [track], division: .quarter(96), tempo: 90)
        let clip = Clip(file.tracks[0], of: file)
        #expect(clip.length == 8 && clip.remarks.isEmpty)
        #expect(clip.events.map(\.start) == [0, 0, Fraction(1, 3), Fraction(33, 96), 0.5, 0.5])
        #expect(clip.events.map(\.length) == [0, Fraction(1, 3), Fraction(1, 3), Fraction(352, 96), 0, 0])
        #expect(clip.events[1].content == .note(Note(word: "c4", number: 60, velocity: 1)))
        #expect(clip.events[0].content == .message(.program(channel: 2, number: 5)))
        let second = Clip(track, of: file, channel: 2, length: .beats(1 / 4))
        #expect(second.events.map(shown).last == "c4@0+1/4" && second.events.count == 2 && second.length == 0.25)
        let waltz = MIDIFile(
            tracks: [MIDIFile.Track(events: [MIDIFile.Event(0, .metre(beats: 6, note: 8))] + track.events)],
            division: .quarter(96))
        #expect(Clip(waltz.tracks[0], of: waltz).length == 6)
        // 25 frames of 40 ticks a second: a tick is a thousandth, and a beat half a second.
        let film = MIDIFile(tracks: [track], division: .film(framesPerSecond: 25, ticks: 40))
        #expect(Clip(track, of: film).events[2].start == Fraction(64, 1_000))
        let ntsc = MIDIFile(tracks: [track], division: .film(framesPerSecond: 29, ticks: 100))
        #expect(Clip(track, of: ntsc).events[2].start == Fraction(64 * 1_001, 3_000_000))
    }

    @Test("Notes without an end get one, and the clip says so")
    func hanging() {
        var track = MIDIFile.Track(end: 960)
        track.add(.noteOff(channel: 0, note: 1, velocity: 0), at: 0)
        track.add(.noteOn(channel: 0, note: 60, velocity: 9), at: 240)
        track.add(.noteOn(channel: 0, note: 60, velocity: 9), at: 480)
        track.add(.noteOff(channel: 0, note: 60, velocity: 9), at: 720)
        let file = MIDIFile(tracks: [track])
        let clip = Clip(track, of: file)
        #expect(clip.events.map(shown) == ["c4@1/2+1", "c4@1+1"])
        #expect(
            clip.remarks == [
                "The note c4 at beat 1 has no end in the file; it ends with the track, at beat 2.",
                "A note-off in the file ends no note; it is left out.",
            ])
        for key in 0..<100 { track.add(.noteOn(channel: 1, note: UInt8(key), velocity: 9), at: 0) }
        #expect(
            Clip(track, of: file).remarks.count == 22 && Clip(track, of: file).remarks[20].hasPrefix("81 more notes"))
    }

    @Test("What a clip writes is what an independent reader of the bytes finds")
    func writing() {
        var clip = Clip(length: .bars(2))
        clip.add("c4", at: 0, length: 1 / 2, velocity: 1)
        clip.add("kick", at: 1 / 3, length: 0, velocity: 0.5)
        clip.add("snare", at: 1)
        clip.add(.controller(channel: 4, number: 7, value: 99), at: 1 / 2)
        clip.add("c4", at: 1 / 2, length: 1 / 4, velocity: 0)
        clip.add("d4", at: 8)
        let bytes = MIDIFile(clip, channel: 9, keys: ["kick": 36], ticks: 96).bytes
        #expect(
            naiveEvents(bytes) == [
                "0 99 3c 7f", "32 99 24 40", "33 89 24 40", "48 89 3c 40", "48 b4 7 63", "48 99 3c 1", "72 89 3c 40",
                "768 ff 2f",
            ])
        #expect(Array(bytes[12..<14]) == [0, 96])
    }

    /// The events of a file of one track: tick, status and data in hexadecimal.
    private func naiveEvents(_ bytes: [UInt8]) -> [String] {
        var (place, tick, status): (Int, Int, UInt8) = (22, 0, 0)
        var result: [String] = []
        while place < bytes.count {
            var delta = 0
            while bytes[place] >= 0x80 {
                delta = delta * 128 + Int(bytes[place] & 0x7F)
                place += 1
            }
            tick += delta * 128 + Int(bytes[place])
            place += 1
            if bytes[place] == 0xFF {
                result.append("\(tick) ff \(String(bytes[place + 1], radix: 16))")
                place += 3 + Int(bytes[place + 2])
                continue
            }
            if bytes[place] >= 0x80 {
                status = bytes[place]
                place += 1
            }
            result.append(
                "\(tick) "
                    + [status, bytes[place], bytes[place + 1]].map { String($0, radix: 16) }.joined(separator: " "))
            place += 2
        }
        return result
    }

    @Test("A file that is read again gives the same clip, with all messages")
    func roundTrip() throws {
        var random = SplitMix(state: 31)
        for _ in 0..<100 {
            var clip = Clip(length: .bars(4))
            // Notes of one key do not overlap, because a file does not say which of them ends.
            var ends: [UInt8: Int] = [:]
            for tick in stride(from: 0, to: 480 * 15, by: 20) where Int.random(in: 0...3, using: &random) == 0 {
                let key = UInt8.random(in: 0...127, using: &random)
                if ends[key, default: 0] > tick { continue }
                let length = Int.random(in: 1...400, using: &random)
                ends[key] = tick + length
                let velocity = Double(Int.random(in: 1...127, using: &random)) / 127
                clip.add(
                    Note.name(of: Double(key)), at: Fraction(tick, 480), length: Fraction(length, 480),
                    velocity: velocity)
                if key < 20 {
                    clip.add(.bend(channel: 3, value: Int16(key) * 400 - 4_000), at: Fraction(tick + 7, 480))
                }
                if key == 1 { clip.add(.pressure(channel: 0, pressure: 7), at: Fraction(tick + 7, 480)) }
            }
            let chunk = (1...3).map {
                MIDIChunk(bytes: SIMD16(repeating: $0 == 1 ? 0xF0 : 5), count: 16, isFirst: $0 == 1, isLast: $0 == 3)
            }
            for part in chunk { clip.add(.systemExclusive(part), at: 15.5) }
            clip.events = Clip(clip.pattern, length: clip.length).events
            let file = try MIDIFile(bytes: MIDIFile(clip).bytes)
            let again = Clip(file.tracks[0], of: file)
            #expect(
                again.events.inOneOrder == clip.events.inOneOrder && again.length == clip.length
                    && again.remarks.isEmpty)
        }
    }

    @Test("Numbers out of their ranges are held")
    func hostile() throws {
        var clip = Clip(length: Fraction(.max))
        for number in [-1, 128, 1e300, .infinity, .nan, 60.4] {
            clip.events.append(
                MusicEvent(.note(Note(word: "x", number: number, velocity: number)), at: 1, length: Fraction(number)))
        }
        clip.add("a4", at: Fraction(.max - 1), length: Fraction(.max))
        clip.add(.controller(channel: 200, number: 200, value: 200), at: 0)
        for ticks in [Int.min, 0, 480, .max] {
            let file = try MIDIFile(
                bytes: MIDIFile(clip, channel: 255, keys: ["x": 255], ticks: ticks, tempo: .nan).bytes)
            #expect(file.messages.count >= 10)
            for length in [Fraction?.none, 0, -1, 3, Fraction(.max)] {
                _ = Clip(file.tracks[0], of: file, channel: 255, length: length).text
            }
        }
        var track = MIDIFile.Track(end: -5)
        track.add(.noteOn(channel: 99, note: 255, velocity: 255), at: .min)
        track.add(.noteOff(channel: 99, note: 255, velocity: 255), at: .max)
        for division in [
            MIDIFile.Division.quarter(0), .quarter(.max), .film(framesPerSecond: 0, ticks: 0),
            .film(framesPerSecond: .max, ticks: .max),
        ] {
            let clip = Clip(track, of: MIDIFile(tracks: [track], division: division))
            #expect(clip.events.count == 1 && clip.events[0].length > 0 && clip.length > 0)
        }
    }
}
