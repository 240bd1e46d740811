import RenderStack
import TestSupport
import Testing

/// The defects that an attacker found.
@Suite struct SequencerAttackTests {
    struct CalledOff: Error {}

    @Test("Edits that are called off leave what was heard; a track that was added in a transaction stays")
    func calledOff() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        rig.render(1_000)
        #expect(throws: CalledOff.self) {
            try rig.renderer.transaction {
                for number in 0..<20 { track.replace(with: Pattern("\(number)*4")) }
                rig.sequencer.append(Track("more", Pattern("9"), to: takes))
                throw CalledOff()
            }
        }
        #expect(rig.sequencer.tracks.count == 2)
        rig.render(24_000)
        #expect(takes.begun.contains([24_000, 1]) && !takes.begun.contains { $0[1] == 19 })
    }

    @Test("Many edits that wait for a far time do not silence the pattern that plays")
    func farEdits() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        for number in 0..<20 {
            try rig.renderer.transaction(at: .sample(48_000 * 60)) { track.replace(with: Pattern("\(number + 2)*4")) }
        }
        rig.render(48_000 * 50, cycle: 4_096)
        #expect(takes.begun.count == 100 && takes.begun.allSatisfy { $0[1] == 1 })
        #expect(rig.sequencer.lateCount == 0)
    }

    @Test("A change that comes later takes nothing back that was set meanwhile")
    func settings() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1*4"), to: takes)
        let rig = try Rig(track)
        try rig.renderer.transaction(at: .sample(48_000)) {
            track.rate = 2
            rig.sequencer.loop = 0..<2
        }
        track.isMuted = true
        rig.sequencer.followsTransport = true
        rig.render(60_000)
        #expect(track.isMuted && track.rate == 2 && rig.sequencer.followsTransport && rig.sequencer.loop == 0..<2)
        #expect(takes.count == 0)
    }

    @Test("Another clock or position of the tempo leaves the song where it is; notes go on, and end in time")
    func clocks() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 3 4"), to: takes))
        rig.renderer.tempo.beatsPerMinute = 90
        rig.sequencer.start()
        rig.render(32_000 * 4 + 16_000)
        #expect(abs(rig.sequencer.position - 4.5) < 1e-9)
        rig.sequencer.tempo = 60
        rig.render(24_000)
        #expect(abs(rig.sequencer.position - 5) < 1e-9)
        rig.renderer.tempo.position = 1_000
        rig.sequencer.tempo = nil
        rig.render(32_000)
        rig.renderer.tempo.position = -77.25
        rig.render(32_000)
        #expect(abs(rig.sequencer.position - 7) < 1e-9)
        #expect(takes.begun.map { $0[1] } == [1, 2, 3, 4, 1, 2, 3])
        #expect(takes.ended.map { $0[1] } == [1, 2, 3, 4, 1, 2])
        #expect(rig.sequencer.lateCount == 0)
    }

    @Test("Clips: without a length silent, events outside of it left out, and said")
    func clips() throws {
        let takes = Takes()
        var clip = Clip(length: 4)
        for (word, beat) in [("1", -1), ("2", 0), ("3", 3.5), ("4", 4), ("5", 99)] as [(String, Fraction)] {
            clip.add(word, at: beat, length: 0.25)
        }
        let track = Track("clip", clip, to: takes)
        #expect(track.problem?.contains("3 notes") == true)
        var none = Clip(length: 0)
        none.add("7", at: 0)
        let silent = Track("none", none, to: takes)
        #expect(silent.problem != nil)
        let rig = try Rig(track, silent)
        rig.sequencer.start()
        rig.render(48_000 * 4)
        #expect(takes.begun == [[0, 2], [84_000, 3], [96_000, 2], [180_000, 3]])
    }

    @Test("A million notes on one beat: a bound for a slice, and the rest is counted")
    func million() throws {
        let takes = Takes()
        let note = MusicEvent(.note(Note(word: "60", number: 60)), at: 1, length: 1)
        let clip = Clip(length: 4, events: Array(repeating: note, count: 1_000_000))
        let rig = try Rig(Track("many", clip, to: takes))
        rig.sequencer.start()
        rig.render(30_000)
        #expect(takes.begun.count == 4_096 && rig.sequencer.lostCount == 1_000_000 - 4_096)
        rig.render(30_000)
        #expect(takes.hanging == 0)
    }

    @Test("A hundred tracks that are launched at the next bar, all of them")
    func launches() throws {
        let takes = Takes()
        let tracks = (0..<100).map { Track("\($0)", Pattern("1"), to: takes) }
        let sequencer = Sequencer(tracks: tracks)
        let renderer = try Renderer(sampleRate: 48_000) { context in
            context.run(sequencer)
            context.push()
            context.output()
        }
        #expect(tracks.allSatisfy { $0.launch() })
        _ = renderer.renderOffline(frames: 1_000)
        #expect(takes.begun.count == 100 && sequencer.lostCount == 0)
    }

    @Test("The slowest rate loses no note")
    func slow() throws {
        let takes = Takes()
        let track = Track("slow", Pattern("1*4"), to: takes)
        track.rate = Fraction(1, 64)
        let rig = try Rig(track)
        rig.renderer.tempo.beatsPerMinute = 999
        rig.sequencer.start()
        rig.render(48_000 * 200, cycle: 4_096)
        #expect(takes.begun.count == 53 && rig.sequencer.lateCount == 0)
    }

    @Test("An edit far into a long note leaves it, if both have it")
    func longNotes() throws {
        let takes = Takes()
        let long = Pattern("1").slow(4)
        let track = Track("long", long, to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        rig.render(24_000 * 13)
        track.replace(with: long + Pattern("2").delayed(by: 1))
        rig.render(24_000 * 2)
        #expect(!takes.ended.contains { $0[1] == 1 })
    }

    @Test("Hostile numbers for targets")
    func numbers() throws {
        let kit = SamplePlayer().kit([:])
        for number: Float in [.nan, .infinity, -.infinity, -1, 1e30] {
            let note = TargetNote(voice: -1, number: number, velocity: number)
            _ = (note.key, note.midiVelocity, note.on, note.off)
            let renderer = try Renderer { context in
                _ = kit.begin(note, inFrame: 0, context)
                context.push()
                context.output()
            }
            _ = renderer.renderOffline(frames: 10)
        }
    }
}
