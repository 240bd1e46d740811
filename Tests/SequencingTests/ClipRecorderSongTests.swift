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

    @Test("A recording of one round ends where the song is sent behind its clip, and not where it is sent back")
    func behind() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: 2)
        rig.driver.render(to: 24_000, played(60, 20_000, 90_000))
        rig.sequencer.locate(0)
        rig.driver.render(to: 30_000, played(60, 20_000, 90_000) + played(61, 28_000, 29_000))
        #expect(rig.recorder.isRecording)
        rig.sequencer.locate(9)
        rig.driver.render(to: 90_000, played(62, 50_000, 60_000))
        #expect(!rig.recorder.isRecording && rig.recorder.clip.frames == [[61, 4_000, 1_000], [60, 20_000, 4_000]])
    }

    @Test(
        "A place of the song with another tempo, and a piece of its map that ends: each counts from its frame on",
        arguments: ClipRecorderTests.cycles)
    func map(cycle: Int) throws {
        let rig = try RecorderRig()
        rig.sequencer.tempoMap = TempoMap(
            [.init(at: 0, 60), .init(at: 8, 240), .init(at: 8.05, 60), .init(at: 8.1, 120)])
        rig.recorder.begin(at: .now, length: 16, rounds: .add)
        // Beat 1 is on frame 48000, where beat 8 takes its place; beat 8.05 on 48600, beat 8.1 on 51000.
        let notes =
            played(60, 24_000, 47_000) + played(61, 48_060, 48_156) + played(62, 48_672, 51_180)
            + played(63, 52_200, 53_000)
        try rig.renderer.transaction(at: .sample(40_000)) { rig.sequencer.locate(8, at: .nextBeat) }
        rig.driver.render(to: 90_000, cycle: cycle, notes)
        let beats = rig.recorder.clip.frames.map { [$0[0], ($0[1] / 24).rounded(), ($0[2] / 24).rounded()] }
        // A clip counts 960 parts of a beat.
        #expect(beats == [[60, 500, 479], [61, 8_005, 8], [62, 8_052, 56], [63, 8_150, 33]])
    }

    @Test("Anything at any time: the same clip and the same notes in cycles of any length")
    func anything() throws {
        for seed in 1...UInt64(12) {
            var first: (text: String, heard: [[Double]])?
            for cycle in [64, 777, 4_096] {
                let found = try performed(seed, cycle: cycle)
                if let first {
                    #expect(first.text == found.text && first.heard == found.heard, "seed \(seed), cycles of \(cycle)")
                }
                first = first ?? found
            }
            #expect(first?.text.contains("note") == true)
        }
    }

    /// A map of many short pieces: in a long cycle several of them pass.
    private func map(by seed: Double) -> TempoMap {
        TempoMap(
            (0..<200).map { number in
                .init(
                    at: 0.11 * Double(number), 100 + 80 * (seed * Double(number)).truncatingRemainder(dividingBy: 1.7),
                    TempoMap.Shape.allCases[number % 3])
            }, metres: [.init(at: 1.5, Metre(3)), .init(at: 7.5, Metre(2))])
    }

    /// A recording, and the notes that are heard, of a song that is sent about by chance, at the same frames for a seed.
    private func performed(_ seed: UInt64, cycle: Int) throws -> (text: String, heard: [[Double]]) {
        let takes = Takes()
        let track = Track("loop", Clip(length: 2), to: takes)
        let rig = try RecorderRig([track], into: track)
        let (sequencer, recorder) = (rig.sequencer, rig.recorder)
        var random = SplitMix(state: seed)
        func chance(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let rounds: [ClipRecorder.Rounds] = [.one, .add, .add, .replace]
        recorder.begin(length: Fraction(chance(4...20), 4), rounds: rounds[chance(1...3)])
        var frame = 1_000
        while frame < 400_000 {
            frame += chance(5_000...40_000)
            let (kind, beat, turn) = (chance(0...9), Fraction(chance(0...40), 4), chance(0...3))
            try rig.renderer.transaction(at: .sample(Int64(frame))) {
                switch kind {
                case 0: sequencer.locate(beat)
                case 1: sequencer.loop = beat..<(beat + Fraction(turn + 1, 2))
                case 2: sequencer.loop = nil
                case 3: rig.renderer.tempo.beatsPerMinute = 60 + 40 * Double(turn)
                case 4: sequencer.tempo = turn == 0 ? nil : 50 * Double(turn)
                case 5 where seed % 3 == 0: recorder.begin(at: .next(Fraction(1, 4)), length: 2, rounds: rounds[turn])
                case 6 where seed % 3 == 1: recorder.end(at: .nextBeat)
                case 7: rig.renderer.tempo.position = beat.value
                case 8: sequencer.tempoMap = turn == 0 ? nil : map(by: beat.value + Double(turn))
                default: sequencer.start(at: .nextBeat)
                }
            }
        }
        var notes: [(frame: Int, message: MIDIMessage)] = []
        for key in UInt8(50)...54 {
            var on = chance(0...20_000)
            while on < 400_000 {
                let off = on + chance(1...20_000)
                notes += played(key, on, off)
                on = off + chance(1...40_000)
            }
        }
        rig.driver.render(to: 420_000, cycle: cycle, notes)
        let clip = recorder.clip
        let wrong = clip.events.filter {
            $0.start < 0 || $0.start >= clip.length || $0.length < 0 || $0.end > clip.length
        }
        #expect(wrong.isEmpty, "seed \(seed): \(Clip(length: clip.length, events: wrong).text)")
        #expect(recorder.lostCount == 0)
        return (clip.text, takes.begun)
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
