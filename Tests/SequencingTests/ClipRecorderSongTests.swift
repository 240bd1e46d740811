import RenderStack
import TestSupport
import Testing

/// A recording while the song stops, goes elsewhere, goes round, and changes its tempo.
@Suite struct ClipRecorderSongTests {
    @Test("A stop of the song ends the recording, and what is held")
    func stop() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(4), rounds: .add)
        let notes = played(60, 10_000, 80_000)
        rig.driver.render(to: 24_000, notes)
        rig.sequencer.stop(at: .nextBeat)
        rig.driver.render(to: 50_000, notes)
        #expect(!rig.recorder.isRecording && rig.recorder.clip.frames == [[60, 10_000, 14_000]])
        rig.sequencer.start()
        rig.driver.render(to: 100_000, notes + played(61, 60_000, 70_000))
        #expect(rig.recorder.clip.frames == [[60, 10_000, 14_000]] && rig.recorder.clip.length == 16)
    }

    @Test(
        "Another place of the song is another place in the clip; what is held ends before",
        arguments: ClipRecorderTests.cycles)
    func locate(cycle: Int) throws {
        let rig = try RecorderRig()
        rig.sequencer.start(from: 8)
        rig.recorder.begin(at: .now, length: .bars(2), rounds: .add)
        let notes =
            played(60, 1_000, 40_000) + played(61, 36_000, 37_000) + played(62, 60_500, 61_000)
            + played(63, 78_000, 79_000)
        rig.driver.render(to: 30_000, cycle: cycle, notes)
        try rig.renderer.transaction(at: .sample(36_000)) { rig.sequencer.locate(11) }
        // Before the clip's beginning, and in its second round.
        try rig.renderer.transaction(at: .sample(60_000)) { rig.sequencer.locate(3) }
        try rig.renderer.transaction(at: .sample(72_000)) { rig.sequencer.locate(17) }
        rig.driver.render(to: 100_000, cycle: cycle, notes)
        #expect(rig.recorder.start == 8 && rig.recorder.isRecording)
        #expect(rig.recorder.clip.frames == [[60, 1_000, 35_000], [63, 24_000 + 6_000, 1_000], [61, 72_000, 1_000]])
    }

    @Test(
        "The song's loop: the clip goes round with it, and a recording of one round ends there",
        arguments: ClipRecorderTests.cycles)
    func loop(cycle: Int) throws {
        for rounds in [ClipRecorder.Rounds.add, .one] {
            let rig = try RecorderRig()
            rig.sequencer.loop = 4..<6
            rig.sequencer.start(from: 4)
            rig.recorder.begin(at: .now, length: 2, rounds: rounds)
            let notes =
                played(60, 40_000, 50_000) + played(61, 48_000 + 7_000, 48_000 + 9_000) + played(62, 95_000, 98_000)
            rig.driver.render(to: 120_000, cycle: cycle, notes)
            #expect(rig.recorder.isRecording == (rounds == .add))
            let first: [[Double]] = [[60, 40_000, 8_000]]
            #expect(
                rig.recorder.clip.frames == (rounds == .one ? first : [[62, 0, 2_000], [61, 7_000, 2_000]] + first))
        }
    }

    @Test("A recording without a length in a song that goes round records over the passage")
    func passage() throws {
        let rig = try RecorderRig()
        rig.sequencer.loop = 0..<8
        rig.recorder.begin(at: .now)
        rig.driver.render(to: 200_000, played(60, 100_000, 110_000) + played(61, 192_000 + 1_000, 192_000 + 2_000))
        rig.recorder.end()
        rig.driver.render(to: 201_000)
        #expect(
            rig.recorder.clip.length == 8 && rig.recorder.clip.frames == [[61, 1_000, 1_000], [60, 100_000, 10_000]])
    }

    @Test("Changes of the tempo: beats are those of the frames", arguments: ClipRecorderTests.cycles)
    func tempo(cycle: Int) throws {
        for isOwn in [false, true] {
            let rig = try RecorderRig()
            if isOwn { rig.sequencer.tempo = 120 }
            rig.recorder.begin(length: .bars(1))
            let notes = played(60, 12_000, 36_000) + played(61, 42_000, 48_000) + played(62, 60_000, 90_000)
            rig.driver.render(to: 10_000, cycle: cycle, notes)
            try rig.renderer.transaction(at: .sample(24_000)) {
                if isOwn { rig.sequencer.tempo = 240 } else { rig.renderer.tempo.beatsPerMinute = 240 }
            }
            rig.driver.render(to: 48_000, cycle: cycle, notes)
            try rig.renderer.transaction(at: .sample(48_000)) {
                if isOwn { rig.sequencer.tempo = 60 } else { rig.renderer.tempo.beatsPerMinute = 60 }
            }
            rig.driver.render(to: 150_000, cycle: cycle, notes)
            // Beat 1 at frame 24,000, beat 3 at 48,000, beat 4 at 96,000.
            let found = rig.recorder.clip.events.map { [$0.start, $0.length] }
            let expected: [[Fraction]] = [
                [Fraction(1, 2), Fraction(3, 2)], [Fraction(5, 2), Fraction(1, 2)], [Fraction(13, 4), Fraction(5, 8)],
            ]
            #expect(found == expected)
        }
    }

    @Test("Another position of the renderer's tempo: with a sequencer the song stays, without one the clip goes there")
    func position() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(4), rounds: .add)
        rig.driver.render(to: 24_000, played(60, 12_000, 36_000))
        rig.renderer.tempo.position = 100
        rig.driver.render(to: 60_000, played(60, 12_000, 36_000))
        #expect(rig.recorder.clip.frames == [[60, 12_000, 24_000]])

        var made: ClipRecorder?
        var loop: Renderer?
        let driver = try KeysDriver { keys in
            let recorder = ClipRecorder(keys)
            let renderer = try Renderer(sampleRate: 48_000) { context in
                context.run(recorder)
                context.push()
                context.output()
            }
            (made, loop) = (recorder, renderer)
            return renderer
        }
        let (recorder, renderer) = try (#require(made), #require(loop))
        recorder.begin(length: .bars(4), rounds: .add)
        driver.render(to: 24_000, played(60, 12_000, 36_000))
        renderer.tempo.position = 34
        driver.render(to: 60_000, played(60, 12_000, 36_000) + played(61, 36_000, 48_000))
        #expect(recorder.clip.frames == [[60, 12_000, 12_000], [61, 60_000, 12_000]])
        // A take that waits for a bar waits for the next one from there.
        recorder.begin(length: .bars(1))
        driver.render(to: 70_000)
        renderer.tempo.position = 3.5
        driver.render(to: 100_000, played(62, 82_000, 83_000))
        #expect(recorder.clip.frames == [[62, 0, 1_000]] && recorder.start == 4)
    }

    @Test(
        "With a session's transport: the recording begins when it rolls, and ends when it stops",
        arguments: [64, 1_000])
    func transport(cycle: Int) throws {
        let rig = try RecorderRig()
        rig.sequencer.followsTransport = true
        rig.driver.transport = { frame in
            (50_000..<150_000).contains(frame)
                ? Transport(isRolling: true, frame: Int64(frame - 50_000)) : Transport(isRolling: false, frame: 0)
        }
        rig.recorder.begin(length: .bars(4))
        rig.driver.render(to: 50_000, cycle: cycle, played(60, 10_000, 20_000))
        #expect(rig.recorder.isWaiting)
        rig.driver.render(to: 100_000, cycle: cycle, played(61, 62_000, 250_000))
        #expect(rig.recorder.isRecording)
        rig.driver.render(to: 150_000, cycle: cycle)
        rig.driver.render(to: 250_000, cycle: cycle)
        #expect(!rig.recorder.isRecording && rig.recorder.start == 0)
        #expect(rig.recorder.clip.frames == [[61, 12_000, 88_000]])
    }
}
