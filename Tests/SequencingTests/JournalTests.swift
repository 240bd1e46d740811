import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A journal of what was done, which plays again to the same bits.
@Suite struct JournalTests {
    /// A voice whose sound tells its pitch, its velocity, and the frame on which it began.
    struct Bell: LaneVoice {
        private var tone = SineLanes()
        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing Notes) -> Lanes { 0.2 * notes.velocity * tone.next(notes.step) }
    }

    static let texts = [
        "0 7 4 <9 12>", "[0 3]*4 ~ 5?", "60(5,8)", "1*16", "<60 62 63>/2 [64,65,66]", "0 2 3@5 _ 4!3", "{60 62 63}%5",
    ]

    /// A sequencer with the instruments that it plays, in a renderer.
    struct Stage {
        let sequencer: Sequencer
        let renderer: Renderer
        let low = Polyphony<Bell>(voices: 64)
        let high = Polyphony<Bell>(voices: 64)
        var targets: [String: any NoteTarget] { ["low": low, "high": high, "guest": high] }

        init(_ sequencer: Sequencer) throws {
            self.sequencer = sequencer
            let (low, high) = (low, high)
            renderer = try Renderer { context in
                context.run(sequencer)
                context.run(low)
                context.run(high)
                context.mix(2)
                context.output()
            }
        }
    }

    /// Plays a journal again. Returns the bits of the first channel.
    static func again(_ journal: SequencerJournal, cycle: Int) throws -> [UInt32] {
        let stage = try Stage(Sequencer(capacity: journal.capacity))
        var sound: [UInt32] = []
        try journal.perform(on: stage.sequencer, of: stage.renderer, targets: stage.targets, cycle: cycle) { block in
            sound += block.array(0).map(\.bitPattern)
        }
        #expect(stage.sequencer.lateCount == 0)
        return sound
    }

    /// A map of some ramps and metres.
    static func map(_ random: inout SplitMix) -> TempoMap {
        let points = (0..<Int.random(in: 1...5, using: &random)).map { _ in
            TempoMap.Point(
                at: Double.random(in: 0...40, using: &random), Double.random(in: 60...300, using: &random),
                TempoMap.Shape.allCases.randomElement(using: &random) ?? .line)
        }
        return TempoMap(points, metres: [.init(at: Double(Int.random(in: 1...9, using: &random)), Metre(3))])
    }

    /// Does one of the things that can be done.
    static func edit(_ stage: Stage, _ random: inout SplitMix) {
        let (sequencer, renderer) = (stage.sequencer, stage.renderer)
        let (track, number) = (sequencer.tracks.randomElement(using: &random), Int.random(in: -9...99, using: &random))
        let beat = Fraction(number, Int.random(in: 1...7, using: &random))
        let moments: [Moment] = [.now, .nextBeat, .nextBar, .next(1 / 3), .at(.now + .milliseconds(number))]
        let moment = moments.randomElement(using: &random) ?? .now
        let text = texts.randomElement(using: &random) ?? "0"
        switch Int.random(in: 0...21, using: &random) {
        case 0, 1: sequencer.start(at: moment, from: Bool.random(using: &random) ? max(beat, 0) : nil)
        case 2: sequencer.locate(beat, at: moment)
        case 3: sequencer.loop = Bool.random(using: &random) ? beat..<(beat + 3) : nil
        case 4: track?.isMuted.toggle()
        case 5: track?.isSoloed.toggle()
        case 6: track?.rate = Fraction(Int.random(in: 1...9, using: &random), 4)
        case 7: track?.offset = beat
        case 8: track?.loop = Bool.random(using: &random) ? beat : nil
        case 9: track?.launch(at: moment)
        case 10: _ = Bool.random(using: &random) ? track?.stop(at: moment) : track?.rejoin(at: moment)
        case 11, 12: track?.replace(with: Pattern(text, seed: UInt64(abs(number))))
        case 13: track?.replace(with: Clip(Pattern(text), length: 3))
        case 14: sequencer.append(Track("guest", Pattern(text), to: stage.high))
        case 15: if let track, track.name == "guest" { sequencer.remove(track) }
        case 16: sequencer.tempo = Bool.random(using: &random) ? Double(number + 90) : nil
        case 18: renderer.tempo.ramp(to: Double(number + 90), beats: Double.random(in: 0.1...9, using: &random))
        case 19: renderer.tempo.ramp(to: Double(number + 90), seconds: 0.7, shape: .exponential)
        case 20: renderer.tempo.map = Bool.random(using: &random) ? map(&random) : nil
        case 21: sequencer.tempoMap = Bool.random(using: &random) ? map(&random) : nil
        default:
            if number % 3 == 0 { renderer.tempo.position = Double(number) }
            if number % 3 == 1 { renderer.tempo.metre = Metre(number % 5 + 3, 4) }
            renderer.tempo.beatsPerMinute = Double.random(in: 60...300, using: &random)
        }
    }

    /// The edits come between cycles of random lengths, and take effect in the middle of later ones.
    @Test("Edits while it plays in cycles of random lengths: played again to the same bits")
    func edits() throws {
        for seed in 0..<UInt64(Int(ProcessInfo.processInfo.environment["RENDERSTACK_JOURNALS"] ?? "") ?? 6) {
            var random = SplitMix(state: seed)
            let sequencer = Sequencer(capacity: 16)
            let stage = try Stage(sequencer)
            sequencer.append(Track("low", Pattern(Self.texts[0]), to: stage.low))
            sequencer.append(Track("high", Pattern(Self.texts[1]), to: stage.high))
            sequencer.keepJournal()
            sequencer.start()
            var sound: [UInt32] = []
            for cycle in 0..<1_000 {
                if cycle % 40 == 0 {
                    let time = RenderTime.sample(stage.renderer.sampleTime + Int64.random(in: 0..<500, using: &random))
                    try stage.renderer.transaction(at: time) { for _ in 0..<3 { Self.edit(stage, &random) } }
                } else if cycle % 10 == 0 {
                    Self.edit(stage, &random)
                }
                let frames = Int.random(in: 1...300, using: &random)
                sound += stage.renderer.renderOffline(frames: frames, cycle: frames).array(0).map(\.bitPattern)
            }
            #expect(sequencer.lateCount == 0)
            let journal = try #require(sequencer.endJournal())
            #expect(journal.remarks.isEmpty && journal.frames == 0..<Int64(sound.count), "\(journal.remarks)")
            #expect(sound.contains { $0 & 0x7fff_ffff != 0 })
            for cycle in [64, 1_000] {
                #expect(try Self.again(journal, cycle: cycle) == sound, "seed \(seed), cycle \(cycle)")
            }
            let read = try SequencerJournal(text: try journal.text)
            #expect(try Self.again(read, cycle: 4_096) == sound)
        }
    }

    /// The edits come in the middle of cycles.
    @Test("Edits from another thread while it plays in cycles of random lengths: played again to the same bits")
    func live() throws {
        for seed in 0..<UInt64(Int(ProcessInfo.processInfo.environment["RENDERSTACK_JOURNALS"] ?? "") ?? 3) {
            var random = SplitMix(state: seed)
            let sequencer = Sequencer(capacity: 16)
            let stage = try Stage(sequencer)
            sequencer.append(Track("low", Pattern(Self.texts[0]), to: stage.low))
            sequencer.append(Track("high", Pattern(Self.texts[1]), to: stage.high))
            sequencer.keepJournal()
            sequencer.start()
            // The other thread edits as fast as it is let, in the middle of cycles.
            let edits = Atomic(0)
            let isOver = Atomic(false)
            let editor = Thread {
                var random = SplitMix(state: seed + 1_000)
                while !isOver.load(ordering: .relaxed) {
                    if edits.load(ordering: .relaxed) > 0 {
                        edits.wrappingSubtract(1, ordering: .relaxed)
                        if Int.random(in: 0...3, using: &random) == 0 {
                            _ = try? stage.renderer.transaction(at: .now + .milliseconds(5)) {
                                for _ in 0..<3 { Self.edit(stage, &random) }
                            }
                        } else {
                            Self.edit(stage, &random)
                        }
                    } else {
                        usleep(20)
                    }
                }
            }
            editor.start()
            var sound: [UInt32] = []
            for cycle in 0..<2_000 {
                let frames = Int.random(in: 1...300, using: &random)
                sound += stage.renderer.renderOffline(frames: frames, cycle: frames).array(0).map(\.bitPattern)
                if cycle % 10 == 0 { edits.wrappingAdd(1, ordering: .relaxed) }
            }
            isOver.store(true, ordering: .relaxed)
            while !editor.isFinished { usleep(100) }
            let journal = try #require(sequencer.endJournal())
            // Alone a renderer that renders offline waits for its patterns; an edit that another thread makes while it renders is not waited
            // for.
            if sequencer.lateCount > 0 {
                #expect(!journal.remarks.isEmpty)
                continue
            }
            #expect(journal.remarks.isEmpty && journal.frames == 0..<Int64(sound.count), "\(journal.remarks)")
            #expect(sound.contains { $0 & 0x7fff_ffff != 0 })
            for cycle in [64, 1_000] {
                #expect(try Self.again(journal, cycle: cycle) == sound, "seed \(seed), cycle \(cycle)")
            }
            let read = try SequencerJournal(text: try journal.text)
            #expect(try Self.again(read, cycle: 4_096) == sound)
        }
    }

    @Test(
        "A journal that is begun later goes by the same beats, if the sequencer stood",
        arguments: ["tempo", "ramp", "map", "metre"])
    func later(before: String) throws {
        let stage = try Stage(Sequencer(tracks: []))
        let track = Track("low", Pattern("0*7"), to: stage.low)
        stage.sequencer.append(track)
        stage.renderer.tempo.beatsPerMinute = 97.3
        _ = stage.renderer.renderOffline(frames: 12_345, cycle: 100)
        switch before {
        case "ramp": stage.renderer.tempo.ramp(to: 233.7, beats: 3, shape: .exponential)
        case "map":
            stage.renderer.tempo.map = TempoMap(
                [.init(at: 0, 97.3, .line), .init(at: 0.9, 300, .line), .init(at: 3, 100)],
                metres: [.init(at: 1, Metre(2)), .init(at: 2, Metre(3))])
        case "metre":
            stage.renderer.tempo.position = 17.3
            _ = stage.renderer.renderOffline(frames: 777, cycle: 100)
            stage.renderer.tempo.metre = Metre(3)
        default: stage.renderer.tempo.beatsPerMinute = 133.7
        }
        _ = stage.renderer.renderOffline(frames: before == "metre" ? 7_000 : 7_777, cycle: 100)
        stage.sequencer.keepJournal()
        stage.sequencer.start(at: .nextBar)
        let sound = stage.renderer.renderOffline(frames: 60_000, cycle: 77).array(0).map(\.bitPattern)
        let journal = try #require(stage.sequencer.journal)
        #expect(journal.remarks.isEmpty && journal.frames == 20_122..<80_122)
        #expect(try Self.again(journal, cycle: 512).suffix(60_000) == sound[...])
        let read = try SequencerJournal(text: try journal.text)
        #expect(try Self.again(read, cycle: 4_000).suffix(60_000) == sound[...])
    }

    @Test("What a journal cannot say, it says")
    func remarks() throws {
        let stage = try Stage(Sequencer())
        let track = Track("low", Pattern("0*8"), to: stage.low)
        stage.sequencer.append(track)
        #expect(stage.sequencer.journal == nil && stage.sequencer.endJournal() == nil)
        stage.sequencer.keepJournal()
        #expect(stage.sequencer.journal?.count == 0)
        stage.sequencer.start()
        _ = stage.renderer.renderOffline(frames: 5_000)
        #expect(stage.sequencer.endJournal()?.remarks == [])
        stage.sequencer.keepJournal()
        _ = stage.renderer.renderOffline(frames: 9_000)
        let journal = try #require(stage.sequencer.endJournal())
        #expect(journal.remarks.contains { $0.contains("while the sequencer played") })
        // It plays all the same.
        #expect(try Self.again(journal, cycle: 512).contains { $0 != 0 })
        track.replace(with: Pattern { _, _ in [] })
        stage.sequencer.keepJournal()
        _ = stage.renderer.renderOffline(frames: 500)
        let closure = try #require(stage.sequencer.endJournal())
        #expect { try closure.text } throws: { "\($0)".contains("low") && "\($0)".contains("no text") }
    }

    @Test("Where it cannot be performed, a sentence says why")
    func refusals() throws {
        let stage = try Stage(Sequencer(capacity: 32))
        stage.sequencer.append(Track("low", Pattern("0"), to: stage.low))
        stage.sequencer.keepJournal()
        _ = stage.renderer.renderOffline(frames: 500)
        let journal = try #require(stage.sequencer.endJournal())
        func reason(_ stage: Stage, _ targets: [String: any NoteTarget]) -> String {
            do {
                try journal.perform(on: stage.sequencer, of: stage.renderer, targets: targets) { _ in }
                return ""
            } catch { return "\(error)" }
        }
        #expect(reason(stage, stage.targets).contains("has rendered already"))
        let small = try Stage(Sequencer(capacity: 8))
        #expect(reason(small, small.targets).contains("room for 8"))
        let fresh = try Stage(Sequencer(capacity: 32))
        #expect(reason(fresh, [:]).contains("\"low\""))
        #expect(reason(fresh, fresh.targets).isEmpty)
        let full = try Stage(Sequencer(tracks: [Track("low", Pattern("0"), to: fresh.low)], capacity: 32))
        #expect(reason(full, full.targets).contains("has tracks already"))
    }

    @Test("A reset, and a track that came and went, are played again")
    func resets() throws {
        let stage = try Stage(Sequencer(capacity: 2))
        stage.sequencer.append(Track("low", Pattern("0 4 7 11"), to: stage.low))
        stage.sequencer.keepJournal()
        stage.sequencer.start()
        var sound = stage.renderer.renderOffline(frames: 30_000, cycle: 99).array(0)
        let guest = Track("guest", Pattern("60*8"), to: stage.high, channel: 3)
        stage.sequencer.append(guest)
        sound += stage.renderer.renderOffline(frames: 10_000, cycle: 99).array(0)
        stage.sequencer.remove(guest)
        try stage.renderer.messages.send { [sequencer = stage.sequencer] context in context.reset(sequencer) }
        sound += stage.renderer.renderOffline(frames: 30_000, cycle: 99).array(0)
        let journal = try #require(stage.sequencer.endJournal())
        let read = try SequencerJournal(text: try journal.text)
        #expect(try read.text == journal.text)
        #expect(try Self.again(read, cycle: 256) == sound.map(\.bitPattern))
    }

    @Test(
        "A text that is no journal: the line, and what is wrong",
        arguments: [
            "", "journal 2", "journal 1\nrate x", "journal 1\nat 0", "journal 1\nat 0 clock", "journal 1\nat 0 dance 1",
            "journal 1\nclip 1 3\nclip 4", "journal 1\nclip 1 1\nclop 4", "journal 1\npattern 1 4 0",
            "journal 1\ntrack 1 0 \"a",
            "journal 1\nat 0 join 0 1 99", "journal 1\nframes 5 2", "journal 1\nroom -3",
            "journal 1\nclip 1 99999999999999",
            "journal 1\nat 0 clock nan", "journal 1\nat 0 content 99999999999 0", "journal 1\nat 9 command start 1",
            "journal 1\nat 0 own 0.5", "journal 1\nat 0 start 0 1e-300", "journal 1\nat 0 settings 0 0 0 0 1 0.001",
            "journal 1\nat 0 settings 0 0 0 0 0 0", "journal 1\nat -1 reset", "journal 1\nat 0 loop inf 2",
            "journal 1\nat 0 reset now", "journal 1\nat 0 clock 0 0 0 0 120 4 4",
            "journal 1\nat 0 clock 0 0 0 0 120 4 4 0 120 120 inf inf 0 0 0 1 4 4 inf 4 4 0 0",
            "journal 1\nat 0 clock 0 0 0 0 120 4 4 120 120 120 inf inf 0 0 0 1 4 4 inf 4 4 0 0 map 3",
            "journal 1\nat 0 clock 0 0 0 0 120 4 4 120 120 120 8 1 3 0 0 1 4 4 inf 4 4 0 0",
            "journal 1\nat 0 own map 1", "journal 1\nmap 1 2\npoint 0 120 step",
            "journal 1\nmap 1 1\npoint 0 0 step", "journal 1\nmap 1 1\npoint 0 120 step 3",
            "journal 1\nmap 1 1\nbar 0 4 4 4",
        ])
    func wrong(text: String) {
        #expect { try SequencerJournal(text: text) } throws: { "\($0)".hasPrefix("Line ") }
    }
}
