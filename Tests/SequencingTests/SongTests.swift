import RenderStack
import TestSupport
import Testing

/// A target that writes down the messages that it is sent, and the keys of notes that begin.
private final class Messages: NoteTarget, @unchecked Sendable {
    // Unchecked because the test renders and reads by turns.
    private let memory = UnsafeMutableBufferPointer<(Int64, MIDIMessage)>.allocate(capacity: 10_000)
    private var count = 0

    deinit { memory.deallocate() }

    private func add(_ frame: Int, _ message: MIDIMessage, _ context: borrowing RenderContext) -> Bool {
        guard count < memory.count else { return false }
        memory.initializeElement(at: count, to: (context.sampleTime + Int64(frame), message))
        count += 1
        return true
    }

    func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        add(frame, .noteOn(channel: note.channel, note: note.key, velocity: 1), context)
    }

    func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { true }

    func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        add(frame, message, context)
    }

    var found: [(frame: Int64, message: MIDIMessage)] { (0..<count).map { memory[$0] } }

    /// Returns the messages that came at a frame.
    func at(_ frame: Int64) -> [MIDIMessage] { found.filter { $0.frame == frame }.map(\.message) }
}

/// MIDI files that a sequencer plays, and the tempo maps of songs.
@Suite struct SongTests {
    private static func rig(_ sequencer: Sequencer, rate: Double = 48_000) throws -> Renderer {
        try Renderer(sampleRate: rate) { context in
            context.run(sequencer)
            context.push()
            context.output()
        }
    }

    /// Notes every 7 ticks, and tempos that move.
    private static var file: MIDIFile {
        var leader = MIDIFile.Track()
        for bar in 0..<20 {
            leader.events.append(.init(bar * 960, .tempo(microseconds: 200_000 + 33_337 * (bar * 7 % 20))))
        }
        var track = MIDIFile.Track(name: "steps")
        for step in 0..<2_000 {
            track.add(.noteOn(channel: 3, note: UInt8(step % 128), velocity: 1), at: step * 7)
            track.add(.noteOff(channel: 3, note: UInt8(step % 128), velocity: 1), at: step * 7 + 5)
        }
        return MIDIFile(tracks: [leader, track])
    }

    @Test(
        "Each note of a file is heard on the frame nearest to its time, in cycles of any length",
        arguments: cycleLengths)
    func frames(cycles: [Int]) throws {
        let takes = Takes()
        let song = Sequencer(playing: Self.file, on: takes)
        let renderer = try Self.rig(song)
        #expect(song.tracks.map(\.name) == ["steps"] && song.end == Fraction(1_999 * 7 + 5, 480))
        song.start()
        _ = render(renderer, frames: 600_000, cycles: cycles)
        let expected = Self.file.messages.compactMap { message -> [Double]? in
            guard case .noteOn(_, let note, _) = message.message else { return nil }
            let frame = (message.seconds * 48_000).rounded()
            return frame < 600_000 ? [frame, Double(note)] : nil
        }
        #expect(expected.count > 1_800)
        #expect(takes.begun.count == expected.count)
        #expect(zip(takes.begun, expected).allSatisfy { $0 == $1 })
        #expect(song.lostCount == 0 && takes.hanging == 0)
    }

    @Test("A song is as far as its map says after any place and loop, and a slower map plays the same beats slower")
    func places() throws {
        let map = TempoMap([.init(at: 0, 60), .init(at: 4, 60, .line), .init(at: 12, 240), .init(at: 16, 90)])
        let takes = Takes()
        let sequencer = Sequencer(tracks: [Track("clicks", Clip("60", length: 1), to: takes)])
        sequencer.tempoMap = map
        let renderer = try Self.rig(sequencer)
        sequencer.loop = .beats(5)..<(.beats(17))
        sequencer.start(from: .beats(2))
        // Through the ramp, round the loop, then to another place, at a time.
        var expected = (2..<17).map { ((map.seconds(at: Double($0)) - map.seconds(at: 2)) * 48_000).rounded() }
        let round = map.seconds(at: 17) - map.seconds(at: 5), first = map.seconds(at: 17) - map.seconds(at: 2)
        for turn in 0..<2 {
            expected += (5..<17).map {
                ((first + Double(turn) * round + map.seconds(at: Double($0)) - map.seconds(at: 5)) * 48_000).rounded()
            }
        }
        let there = ((first + 2 * round) * 48_000).rounded() - 1_000
        expected.removeAll { $0 >= there }
        sequencer.locate(.beats(10), at: .at(.sample(Int64(there))))
        expected += (10..<17).map { (there + (map.seconds(at: Double($0)) - map.seconds(at: 10)) * 48_000).rounded() }
        _ = renderer.renderOffline(frames: Int(expected[expected.count - 1]) + 100, cycle: 333)
        let begun = takes.begun.map { $0[0] }
        #expect(begun == expected, "\(zip(begun, expected).first { $0 != $1 } ?? (0, 0))")

        // Half as fast from here on: the beats that come take twice as long.
        let here = sequencer.position
        sequencer.tempoMap = map.scaled(by: 0.5)
        let start = renderer.sampleTime
        _ = renderer.renderOffline(frames: 48_000, cycle: 333)
        let place = map.beat(at: map.seconds(at: here) + 0.5)
        #expect(abs(sequencer.position - place) < 1e-9 && renderer.sampleTime == start + 48_000)
    }

    @Test(
        "A place in the middle of a song has the programs, controllers and bends that hold there, and a mute loses none"
    )
    func states() throws {
        var track = MIDIFile.Track()
        track.add(.program(channel: 5, number: 40), at: 0)
        track.add(.controller(channel: 5, number: 0, value: 1), at: 0)
        for step in 0..<1_000 { track.add(.controller(channel: 5, number: 7, value: UInt8(step % 100)), at: step) }
        track.add(.bend(channel: 5, value: 1_000), at: 1_100)
        track.add(.program(channel: 5, number: 41), at: 2_400)
        track.add(.controller(channel: 5, number: 121, value: 0), at: 2_880)
        for beat in 0..<8 { track.add(.noteOn(channel: 5, note: 60, velocity: 9), at: 480 * beat) }
        let messages = Messages()
        let song = Sequencer(playing: MIDIFile(tracks: [track]), on: messages)
        let renderer = try Self.rig(song)
        song.start(from: 4)
        _ = renderer.renderOffline(frames: 64, cycle: 64)
        #expect(
            messages.at(0) == [
                .controller(channel: 5, number: 0, value: 1), .program(channel: 5, number: 40),
                .bend(channel: 5, value: 1_000), .controller(channel: 5, number: 7, value: 99),
                .noteOn(channel: 5, note: 60, velocity: 1),
            ])
        // Back to the beginning: the bend of later is not heard there.
        song.locate(0, at: .at(.sample(1_000)))
        _ = renderer.renderOffline(frames: 1_000, cycle: 64)
        #expect(messages.at(1_000).contains(.bend(channel: 5, value: 0)))
        song.locate(7, at: .at(.sample(2_000)))
        _ = renderer.renderOffline(frames: 1_000, cycle: 64)
        #expect(messages.at(2_000).prefix(4).contains(.program(channel: 5, number: 41)))
        #expect(messages.at(2_000).contains(.bend(channel: 5, value: 0)))
        // Muted, it goes on telling its state, and plays no note.
        song.tracks[0].isMuted = true
        song.locate(Fraction(2_350, 480), at: .at(.sample(3_000)))
        _ = renderer.renderOffline(frames: 10_000, cycle: 64)
        let later = messages.found.filter { $0.frame > 3_000 }.map(\.message)
        #expect(later.contains(.program(channel: 5, number: 41)))
        #expect(!later.contains(.noteOn(channel: 5, note: 60, velocity: 1)))
        #expect(song.lostCount == 0)
    }

    @Test(
        "The range of the bend is set by its number, and a pedal that is down is let up by a stop and by another place")
    func parameters() throws {
        func controller(_ number: UInt8, _ value: UInt8) -> MIDIMessage {
            .controller(channel: 0, number: number, value: value)
        }
        var track = MIDIFile.Track()
        for (number, value) in [(UInt8(101), UInt8(0)), (100, 0), (6, 12), (101, 127), (100, 127), (6, 99), (64, 127)] {
            track.add(controller(number, value), at: 0)
        }
        track.add(.noteOn(channel: 0, note: 60, velocity: 9), at: 1_920)
        let messages = Messages()
        let song = Sequencer(playing: MIDIFile(tracks: [track]), on: messages)
        let renderer = try Self.rig(song)
        song.start(from: 2)
        _ = renderer.renderOffline(frames: 100, cycle: 64)
        #expect(messages.at(0) == [controller(64, 127), controller(101, 0), controller(100, 0), controller(6, 12)])
        song.locate(3, at: .at(.sample(1_000)))
        song.stop(at: .at(.sample(2_000)))
        _ = renderer.renderOffline(frames: 3_000, cycle: 64)
        let pedals = messages.found.filter { [controller(64, 0), controller(64, 127)].contains($0.message) }
        #expect(pedals.map(\.frame) == [0, 1_000, 1_000, 2_000])
        #expect(
            pedals.map(\.message) == [controller(64, 127), controller(64, 0), controller(64, 127), controller(64, 0)])
    }

    @Test("A map that is taken away, and comes again, leaves the song where it is and the tempo that is asked for")
    func changes() throws {
        let takes = Takes()
        let sequencer = Sequencer(tracks: [Track("clicks", Clip("60*4", length: 1), to: takes)])
        let renderer = try Self.rig(sequencer)
        sequencer.tempoMap = TempoMap([.init(at: 0, 60, .line), .init(at: 8, 300), .init(at: 9, 77)])
        sequencer.start()
        var random = SplitMix(state: 3)
        for turn in 0..<400 {
            let before = sequencer.position
            switch Int.random(in: 0..<6, using: &random) {
            case 0: sequencer.tempoMap = nil
            case 1: sequencer.tempo = Double.random(in: 30...400, using: &random)
            case 2: sequencer.tempo = nil
            case 3: sequencer.followsTransport.toggle()
            case 4: renderer.tempo.map = TempoMap([.init(at: 0, 200, .line), .init(at: 100, 50)])
            default:
                sequencer.tempoMap = TempoMap(
                    (0..<20).map { .init(at: Double($0), Double.random(in: 30...400, using: &random), .line) })
            }
            let frames = Int.random(in: 1...3_000, using: &random)
            _ = renderer.renderOffline(frames: frames, cycle: 256)
            let way = sequencer.position - before
            #expect(way >= 0 && way <= Double(frames) * 400 / (60 * 48_000) + 1e-6, "turn \(turn): \(way) in \(frames)")
        }
        // A tempo that is asked for is the one that is heard, and bars have four beats again.
        sequencer.followsTransport = false
        sequencer.tempo = 120
        _ = renderer.renderOffline(frames: 256)
        let before = sequencer.position
        _ = renderer.renderOffline(frames: 48_000)
        #expect(abs(sequencer.position - before - 2) < 1e-9)
        #expect(takes.hanging <= 1)
        #expect(sequencer.lostCount == 0)
        sequencer.stop()
        _ = renderer.renderOffline(frames: 256)
        #expect(takes.hanging == 0)
    }

    @Test("A file with several channels in a track has a track for each, and what is for all is sent once")
    func channels() throws {
        var track = MIDIFile.Track(name: "all")
        track.events.append(.init(0, .systemExclusive([0xF0, 0x7E, 0x7F, 0x09, 0x01, 0xF7])))
        for channel in [UInt8(2), 9] {
            track.add(.noteOn(channel: channel, note: 40 + channel, velocity: 9), at: 480)
            track.add(.noteOff(channel: channel, note: 40 + channel, velocity: 9), at: 960)
        }
        let messages = Messages()
        let song = Sequencer(playing: MIDIFile(tracks: [MIDIFile.Track(name: "title"), track]), on: messages)
        #expect(song.tracks.map(\.name) == ["all, channel 3", "all, channel 10"])
        let renderer = try Self.rig(song)
        song.start()
        _ = renderer.renderOffline(frames: 200_000, cycle: 512)
        #expect(messages.at(0).count == 1)
        let notes = messages.at(24_000)
        #expect(notes == [.noteOn(channel: 2, note: 42, velocity: 1), .noteOn(channel: 9, note: 49, velocity: 1)])
        // Once, and not again after its length.
        #expect(messages.found.count == 3)
    }

    @Test("A map becomes a MIDI file whose beats come at the same times, and a file's map is as it was")
    func files() throws {
        let map = TempoMap(
            [
                .init(at: 0, 97), .init(at: 8, 97, .line), .init(at: 24, 181.5, .exponential), .init(at: 40, 60),
                .init(at: 44, 60),
            ],
            metres: [.init(at: 0, Metre(3)), .init(at: 24, Metre(6, 8), bar: 3), .init(at: 36, Metre(7, 8))])
        let file = MIDIFile(tracks: [MIDIFile.Track(Clip("a4 b4", length: 8))], tempo: map)
        let again = try MIDIFile(bytes: file.bytes)
        let read = TempoMap(again)
        for beat in 0...50 {
            #expect(abs(read.seconds(at: Double(beat)) - map.seconds(at: Double(beat))) < 3e-5, "\(beat)")
        }
        for beat in [0.0, 2.5, 3, 24, 29.5, 36, 36.5] {
            let (a, b) = (read.bars(at: beat), map.bars(at: beat))
            #expect(a.bar == b.bar && a.beat == b.beat && a.beatsPerBar == b.beatsPerBar, "\(beat): \(a) \(b)")
        }
        // Steps alone go there and back without a change.
        let steps = TempoMap([.init(at: 0, 6e7 / 500_001), .init(at: 3, 6e7 / 333_333), .init(at: 9, 6e7 / 999_999)])
        #expect(TempoMap(try MIDIFile(bytes: MIDIFile(tracks: [], tempo: steps).bytes)) == steps)
        #expect(MIDIFile(tracks: [], tempo: TempoMap([.init(at: 4, 90)])).seconds(at: 480) == 0.666_667)
    }
}
