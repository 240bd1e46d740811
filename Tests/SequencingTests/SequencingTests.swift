import RenderStack
import TestSupport
import Testing

@Suite struct SequencerTests {
    @Test(
        "Four steps to a bar: each on its frame, and each ends where the next begins",
        arguments: [1, 7, 64, 256, 1_000, 4_096])
    func steps(cycle: Int) throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 3 4"), to: takes))
        rig.sequencer.start()
        rig.render(100_000, cycle: cycle)
        #expect(takes.begun == [[0, 1], [24_000, 2], [48_000, 3], [72_000, 4], [96_000, 1]])
        #expect(takes.ended == [[24_000, 1], [48_000, 2], [72_000, 3], [96_000, 4]])
        #expect(rig.sequencer.isPlaying)
        #expect(abs(rig.sequencer.position - 100_000 / 24_000) < 1e-9)
        #expect(rig.sequencer.lateCount == 0 && rig.sequencer.lostCount == 0)
    }

    @Test("A stop ends what sounds; a start goes on from there, or from a given beat")
    func stops() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 3 4"), to: takes))
        rig.sequencer.start()
        rig.render(30_000)
        rig.sequencer.stop()
        rig.render(10_000)
        #expect(takes.hanging == 0 && !rig.sequencer.isPlaying)
        #expect(rig.sequencer.position == 1.25)
        rig.sequencer.start()
        rig.render(20_000)
        #expect(takes.begun.last == [58_000, 3])
        rig.sequencer.start(from: 0)
        rig.render(1_000)
        #expect(takes.begun.last == [60_000, 1])
        #expect(takes.hanging == 1)
    }

    @Test("Moments: the next beat, the next bar, a grid, a time")
    func moments() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1"), to: takes))
        rig.render(1_000)
        rig.sequencer.start(at: .nextBeat)
        rig.render(30_000)
        #expect(takes.begun == [[24_000, 1]])
        rig.sequencer.stop(at: .nextBar)
        rig.render(100_000)
        #expect(takes.ended == [[96_000, 1]])
        rig.sequencer.start(at: .next(0.5), from: 0)
        rig.render(20_000)
        #expect(takes.begun.last == [132_000, 1])
        rig.sequencer.stop(at: .at(.sample(155_555)))
        rig.render(10_000)
        #expect(takes.ended.last == [155_555, 1])
    }

    @Test("A loop: its end is where its beginning sounds, and no note crosses it")
    func loops() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 3 4"), to: takes))
        rig.sequencer.loop = 1..<2.5
        rig.sequencer.start()
        rig.render(150_000)
        let expected: [[Double]] = [
            [0, 1], [24_000, 2], [48_000, 3], [60_000, 2], [84_000, 3], [96_000, 2], [120_000, 3], [132_000, 2],
        ]
        #expect(takes.begun == expected)
        #expect(takes.ended.contains([60_000, 3]) && takes.ended.contains([96_000, 3]))
        #expect(rig.sequencer.loop == 1..<2.5)
    }

    @Test("Another place: what sounded ends there")
    func places() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 3 4"), to: takes))
        rig.sequencer.start()
        rig.render(12_000)
        rig.sequencer.locate(102)
        rig.render(30_000)
        #expect(takes.entries.map(\.frame) == [0, 12_000, 12_000, 36_000, 36_000])
        #expect(takes.begun.map { $0[1] } == [1, 3, 4])
        #expect(rig.sequencer.lateCount == 0)
    }

    @Test("A track that is launched begins at its own beat 0, and stays when the song moves")
    func launches() throws {
        let (song, own) = (Takes(), Takes())
        let tracks = [Track("song", Pattern("1 2 3 4"), to: song), Track("own", Pattern("1 2 3 4"), to: own)]
        let rig = try Rig(tracks[0], tracks[1])
        rig.sequencer.start()
        tracks[1].stop()
        rig.render(30_000)
        #expect(own.count == 0)
        tracks[1].launch(at: .nextBeat)
        rig.render(30_000)
        rig.sequencer.locate(8)
        rig.render(30_000)
        #expect(own.begun == [[48_000, 1], [72_000, 2]])
        #expect(song.begun.map { $0[0] } == [0, 24_000, 48_000, 60_000, 84_000])
        tracks[1].rejoin()
        rig.render(24_000)
        #expect(own.begun.last == [108_000, 3])
    }

    @Test("Mute, solo: silent at once, and heard again with the next note")
    func mutes() throws {
        let (a, b) = (Takes(), Takes())
        let tracks = [Track("a", Pattern("1 2 3 4"), to: a), Track("b", Pattern("1 2 3 4"), to: b)]
        let rig = try Rig(tracks[0], tracks[1])
        rig.sequencer.start()
        rig.render(1_000)
        rig.sequencer["a"]?.isMuted = true
        rig.render(30_000)
        #expect(a.hanging == 0 && a.begun.count == 1 && b.begun.count == 2)
        rig.sequencer["a"]?.isMuted = false
        tracks[0].isSoloed = true
        rig.render(24_000)
        #expect(a.begun.count == 2 && b.begun.count == 2 && b.hanging == 0)
        tracks[0].isSoloed = false
        rig.render(24_000)
        #expect(a.begun.count == 3 && b.begun.count == 3)
    }

    @Test("An edit while it plays: a note that is in both goes on, one that is gone ends")
    func edits() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("[1,2] 3"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        rig.render(10_000)
        track.replace(with: Pattern("[1,5] 4"))
        rig.render(50_000)
        #expect(takes.begun == [[0, 1], [0, 2], [48_000, 4]])
        #expect(takes.ended == [[10_000, 2], [48_000, 1]])
    }

    @Test("In a transaction with other changes, at a time")
    func transactions() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1*16"), to: takes)
        let rig = try Rig(track)
        let (renderer, sequencer) = (rig.renderer, rig.sequencer)
        sequencer.start()
        try renderer.transaction(at: .sample(48_000)) {
            track.replace(with: Pattern("2*16"))
            renderer.tempo.beatsPerMinute = 60
        }
        rig.render(96_000)
        let (before, after) = (takes.begun.filter { $0[0] < 48_000 }, takes.begun.filter { $0[0] >= 48_000 })
        #expect(before.count == 8 && before.allSatisfy { $0[1] == 1 })
        #expect(after.map { $0[0] } == [48_000, 60_000, 72_000, 84_000] && after.allSatisfy { $0[1] == 2 })
        #expect(sequencer.lateCount == 0)
    }

    @Test("A tempo of its own, a rate, an offset, a loop of a track")
    func tracks() throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1 2 3 4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.tempo = 60
        (track.rate, track.offset, track.loop) = (2, 1, 3)
        rig.sequencer.start()
        rig.render(48_000 * 4)
        #expect(takes.begun.map { $0[0] } == [48_000, 72_000, 96_000, 120_000, 144_000, 168_000])
        #expect(takes.begun.map { $0[1] } == [1, 2, 3, 1, 2, 3])
    }

    @Test("A key that is played again ends first; an end that is refused is asked again")
    func keys() throws {
        let takes = Takes(hasKeys: true)
        var clip = Clip(length: 4)
        clip.add("60", at: 0, length: 3)
        clip.add("60", at: 1, length: 1)
        let rig = try Rig(Track("keys", clip, to: takes))
        rig.sequencer.start()
        rig.render(80_000)
        #expect(takes.entries.map(\.frame) == [0, 24_000, 24_000, 48_000])
        #expect(takes.entries.map(\.kind) == [.on, .off, .on, .off])
        takes.refusals = 3
        rig.render(24_000)
        rig.sequencer.stop()
        rig.render(2_000)
        #expect(takes.hanging == 0)
    }

    @Test("Reset repeats")
    func resets() throws {
        let takes = Takes()
        let rig = try Rig(Track("steps", Pattern("1 2 [3 4]*2 5"), to: takes))
        rig.sequencer.start()
        rig.render(50_000)
        let first = takes.begun
        try rig.renderer.messages.send { [sequencer = rig.sequencer] context in context.reset(sequencer) }
        rig.render(50_000)
        let again = takes.begun.dropFirst(first.count).map { [$0[0] - 50_000, $0[1]] }
        #expect(Array(again) == first)
    }

    @Test("Names, room, problems")
    func names() throws {
        let takes = Takes()
        let track = Track("a", Pattern("kick 1"), to: takes)
        let sequencer = Sequencer(tracks: [track], capacity: 1)
        #expect(track.problem?.contains("kick") == true)
        #expect(!sequencer.append(track))
        #expect(!sequencer.append(Track("b", Pattern("1"), to: takes)))
        #expect(sequencer["b"] == nil && sequencer.tracks.count == 1)
        #expect(sequencer.play("1", as: "a", on: takes) === track && sequencer.play("1", as: "a", on: Takes()) == nil)
        #expect(sequencer.play("1", as: "e", on: takes) == nil)
        #expect(!Track("c", Pattern("1"), to: takes).launch())
        #expect(Track("d", Pattern("[1"), to: takes).problem != nil)
    }
}
