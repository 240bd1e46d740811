import RenderStack
import TestSupport
import Testing

@Suite struct ClipRecorderTests {
    static let cycles = [37, 256, 4_096, 50_000]

    @Test("Each note is where it was played, to the frame, at any length of the cycles", arguments: cycles + [1])
    func exact(cycle: Int) throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(1))
        let notes = played(60, 0, 12_000) + played(64, 1_234, 5_678) + played(67, 24_001, 95_999, velocity: 64)
        rig.driver.render(to: 100_000, cycle: cycle, notes)
        let expected: [[Double]] = [[60, 0, 12_000], [64, 1_234, 5_678 - 1_234], [67, 24_001, 95_999 - 24_001]]
        let clip = rig.recorder.clip
        #expect(clip.frames == expected && clip.length == 4)
        #expect(clip.events[1].start == Fraction(1_234, 24_000))
        #expect(clip.events.map { $0.note?.velocity } == [1, 1, 64.0 / 127])
        #expect(!rig.recorder.isRecording && rig.recorder.start == 0 && rig.recorder.lostCount == 0)
        #expect(rig.sequencer.isPlaying && rig.recorder.problem == nil)
    }

    @Test(
        "What was recorded is played on its frames again, at odd rates and tempos",
        arguments: [(44_100.0, 117.3), (48_000, 61.7), (96_000, 333), (8_000, 999), (192_000, 97)])
    func again(rate: Double, tempo: Double) throws {
        let takes = Takes()
        let track = Track("again", Clip(length: 4), to: takes)
        let rig = try RecorderRig([track], rate: rate)
        rig.renderer.tempo.beatsPerMinute = tempo
        let bar = 4 * 60 * rate / tempo
        rig.recorder.begin(length: .bars(1))
        var random = SplitMix(state: 5)
        var (frame, notes): (Int, [(on: Int, off: Int)]) = (0, [])
        while true {
            let on = frame + Int.random(in: 1...max(2, Int(bar / 20)), using: &random)
            let off = on + Int.random(in: 1...max(2, Int(bar / 20)), using: &random)
            if Double(off) > bar - 2 { break }
            notes.append((on, off))
            frame = off
        }
        rig.driver.render(to: Int(bar) + 10, cycle: 500, notes.flatMap { played(60, $0.on, $0.off) })
        #expect(rig.recorder.clip.events.count == notes.count && notes.count > 10)
        track.replace(with: rig.recorder.clip)
        let round = (3 * bar).rounded()
        rig.driver.render(to: Int(round + bar), cycle: 333)
        // In the fourth bar each note is that much later, up to the rounding of the bar.
        let heard = takes.entries.filter { Double($0.frame) >= round - 0.5 }
        let ons = heard.filter { $0.kind == .on }.map { Double($0.frame) - 3 * bar }
        let offs = heard.filter { $0.kind == .off }.map { Double($0.frame) - 3 * bar }
        #expect(ons.count == notes.count && offs.count == notes.count)
        for (note, pair) in zip(notes, zip(ons, offs)) {
            #expect(abs(pair.0 - Double(note.on)) < 0.51 && abs(pair.1 - Double(note.off)) < 0.51)
        }
    }

    @Test(
        "A count-in: the click sounds in it alone, the song begins with the recording, and who is early is not lost",
        arguments: cycles)
    func countIn(cycle: Int) throws {
        let (clicks, others) = (Takes(), Takes())
        let click = Track("click", Pattern("1 0.5 0.5 0.5"), to: clicks)
        let rig = try RecorderRig([click, Track("other", Pattern("7*4"), to: others)], click: click)
        click.stop()
        rig.recorder.begin(at: .nextBar, countIn: 1, length: .bars(1))
        let notes =
            played(50, 30_000, 31_000) + played(51, 96_000 - 3_001, 97_000) + played(60, 96_000 - 2_000, 100_000)
            + played(62, 96_000 - 1_000, 96_000 - 500)
        rig.driver.render(to: 90_000, cycle: cycle, notes)
        #expect(rig.recorder.isWaiting && !rig.recorder.isRecording && rig.recorder.clip.events.isEmpty)
        rig.driver.render(to: 200_000, cycle: cycle, notes)
        #expect(clicks.begun == [[0, 1], [24_000, 0.5], [48_000, 0.5], [72_000, 0.5]] && clicks.hanging == 0)
        #expect(others.begun.first == [96_000, 7])
        #expect(rig.recorder.clip.frames == [[60, 0, 4_000], [62, 0, 500]] && rig.recorder.start == 0)
        #expect(!rig.recorder.isWaiting && !rig.recorder.isRecording)
    }

    @Test("A count-in into a song that plays does not disturb it, in bars of three beats too")
    func countInto() throws {
        let takes = Takes()
        let rig = try RecorderRig([Track("steps", Pattern("1 2 3 4"), to: takes)])
        rig.renderer.tempo.metre = Metre(3, 4)
        rig.sequencer.start()
        rig.driver.render(to: 30_000)
        rig.recorder.begin(countIn: 2, length: 3)
        rig.driver.render(to: 216_000, played(60, 215_000, 217_000))
        #expect(rig.recorder.isWaiting)
        rig.sequencer.stop(at: .nextBar.plus(bars: 1))
        rig.driver.render(to: 300_000, played(60, 215_000, 217_000) + played(61, 220_000, 221_000))
        // Bar 2 begins at frame 72,000, and bar 4 at 216,000.
        #expect(rig.recorder.start == 9 && rig.recorder.clip.frames == [[60, 0, 1_000], [61, 4_000, 1_000]])
        #expect(takes.begun.map { $0[0] } == (0..<12).map { Double($0) * 24_000 })
        #expect(takes.ended.last == [288_000, 4] && !rig.sequencer.isPlaying)
    }

    @Test("Live, a thread beside the audio gives the track what was played")
    func live() async throws {
        let takes = Takes()
        let track = Track("tune", Clip(length: 1), to: takes)
        let rig = try RecorderRig([track], into: track)
        rig.driver.isOffline = false
        rig.recorder.begin(length: 1, rounds: .add)
        rig.driver.render(to: 12_000, played(60, 1_000, 5_000))
        let isHeard = await becomesTrue {
            rig.driver.render(to: rig.driver.now + 24_000)
            return !takes.begun.isEmpty
        }
        #expect(
            isHeard && takes.begun.allSatisfy { $0[0].truncatingRemainder(dividingBy: 24_000) == 1_000 && $0[1] == 60 })
    }

    @Test("The clip ends what is held; what comes after is not in it")
    func end() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(1))
        rig.driver.render(to: 200_000, played(60, 90_000, 150_000) + played(62, 96_000, 97_000))
        #expect(rig.recorder.clip.frames == [[60, 90_000, 6_000]])
        // Without a length: up to the end of the bar.
        rig.recorder.begin(at: .now)
        rig.driver.render(to: 240_000, played(64, 210_000, 300_000))
        #expect(rig.recorder.isRecording && rig.recorder.clip.length == 4)
        #expect(rig.recorder.clip.frames == [[64, 10_000, 30_000]])
        rig.driver.render(to: 310_000)
        rig.recorder.end()
        rig.driver.render(to: 320_000)
        #expect(rig.recorder.clip.length == 8 && rig.recorder.clip.frames == [[64, 10_000, 100_000]])
        #expect(rig.recorder.start == Fraction(200_000, 24_000))
    }

    @Test("Rounds that add: each is heard from the next one on, on its frames", arguments: cycles)
    func add(cycle: Int) throws {
        let takes = Takes()
        let track = Track("tune", Clip(length: 4), to: takes)
        let rig = try RecorderRig([track], into: track)
        rig.recorder.begin(length: .bars(1), rounds: .add)
        // The last one is held where the clip goes round, and the one before is early for its beginning.
        let notes =
            played(60, 10_000, 20_000) + played(61, 96_000 + 30_000, 96_000 + 40_000)
            + played(62, 192_000 - 2_000, 192_000 + 5_000) + played(63, 192_000 - 20_000, 192_000 + 5_000)
        rig.driver.render(to: 2 * 192_000, cycle: cycle, notes)
        rig.recorder.end()
        rig.driver.render(to: 2 * 192_000 + 1_000, cycle: cycle)
        #expect(
            rig.recorder.clip.frames == [
                [62, 0, 5_000], [60, 10_000, 10_000], [61, 30_000, 10_000], [63, 76_000, 20_000],
            ])
        let expected: [[Double]] = [
            [96_000 + 10_000, 60], [192_000 + 10_000, 60], [192_000 + 30_000, 61], [192_000 + 76_000, 63],
            [288_000, 62],
            [288_000 + 10_000, 60], [288_000 + 30_000, 61], [288_000 + 76_000, 63], [384_000, 62],
        ]
        #expect(takes.begun == expected)
        #expect(takes.ended.contains([96_000 + 20_000, 60]) && takes.ended.contains([288_000, 63]))
        #expect(track.offset == 0)
    }

    @Test(
        "Rounds that replace: a round without notes leaves the one before, another one takes its place",
        arguments: cycles)
    func replace(cycle: Int) throws {
        let takes = Takes()
        let track = Track("tune", Clip(length: 2), to: takes)
        let rig = try RecorderRig([track], into: track)
        rig.recorder.begin(length: 2, rounds: .replace)
        let notes =
            played(60, 10_000, 20_000) + played(61, 40_000, 46_000) + played(70, 96_000 + 15_000, 96_000 + 25_000)
            + played(71, 192_000 + 30_000, 192_000 + 31_000)
        rig.driver.render(to: 96_000 + 26_000, cycle: cycle, notes)
        // The round that is under way counts as far as it has come.
        #expect(rig.recorder.clip.frames == [[70, 15_000, 10_000], [61, 40_000, 6_000]])
        rig.driver.render(to: 192_000 + 1_000, cycle: cycle, notes)
        #expect(rig.recorder.clip.frames == [[70, 15_000, 10_000]])
        rig.driver.render(to: 300_000, cycle: cycle, notes)
        #expect(rig.recorder.clip.frames == [[71, 30_000, 1_000]])
        let heard = takes.begun.map {
            [$0[0].truncatingRemainder(dividingBy: 48_000), $0[1], ($0[0] / 48_000).rounded(.down)]
        }
        // In each round what the round before left.
        #expect(
            heard == [
                [10_000, 60, 1], [40_000, 61, 1], [10_000, 60, 2], [40_000, 61, 2], [15_000, 70, 3], [15_000, 70, 4],
                [30_000, 71, 5],
            ])
    }

    @Test("A clip that is there is added to, in time with where it is played, from the next bar on")
    func overdub() throws {
        let takes = Takes()
        var riff = Clip(length: 8)
        riff.add("c4", at: 7, length: 1 / 2)
        let track = Track("riff", riff, to: takes)
        track.offset = 2
        let rig = try RecorderRig([track], into: track)
        rig.sequencer.start()
        rig.driver.render(to: 30_000)
        rig.recorder.overdub(riff)
        // The bar begins at beat 4, which is beat 2 of the clip.
        rig.driver.render(to: 12 * 24_000, played(61, 50_000, 60_000) + played(62, 96_000 + 6_000, 110_000))
        rig.recorder.end()
        rig.driver.render(to: 13 * 24_000)
        #expect(rig.recorder.start == 2 && rig.recorder.clip.length == 8)
        #expect(rig.recorder.clip.frames == [[62, 48_000 + 6_000, 8_000], [60, 168_000, 12_000]])
        #expect(takes.begun == [[216_000, 60], [294_000, 62]])
    }

    @Test("A track can be recorded, and a recorder without an input and a sequencer goes by the renderer's tempo")
    func target() throws {
        let recorder = ClipRecorder()
        let sequencer = Sequencer(tracks: [Track("steps", Pattern("60 62 64 65"), to: recorder)])
        let renderer = try Renderer(sampleRate: 48_000) { context in
            context.run(sequencer)
            context.run(recorder)
            context.push()
            context.output()
        }
        sequencer.start()
        recorder.begin(length: .bars(1))
        _ = renderer.renderOffline(frames: 100_000, cycle: 1_000)
        #expect(
            recorder.clip.frames == [
                [60, 0, 24_000], [62, 24_000, 24_000], [64, 48_000, 24_000], [65, 72_000, 24_000],
            ])
    }

    @Test(
        "Random playing over rounds that add is what a plain reckoning gives, in cycles of any length",
        arguments: [100, 777, 4_096])
    func model(cycle: Int) throws {
        var random = SplitMix(state: 11)
        let (length, rounds) = (48_000, 9)
        var (notes, expected): ([(frame: Int, message: MIDIMessage)], [[Int]]) = ([], [])
        for key in 40..<56 {
            var frame = 0
            while true {
                let on = frame + Int.random(in: 1...30_000, using: &random)
                let off = on + Int.random(in: 1...60_000, using: &random)
                if off >= length * rounds { break }
                notes += played(UInt8(key), on, off)
                frame = off
                // Worked out by frames: up to the seam behind its beginning, or from there if it comes 1/8 beat before.
                let seam = (on / length + 1) * length
                if off < seam {
                    expected.append([key, on % length, off - on])
                } else if seam - on <= 3_000 {
                    expected.append([key, 0, min(off, seam + length) - seam])
                } else {
                    expected.append([key, on % length, seam - on])
                }
            }
        }
        let rig = try RecorderRig()
        rig.recorder.begin(length: 2, rounds: .add)
        rig.driver.render(to: length * rounds, cycle: cycle, notes)
        let found = rig.recorder.clip.frames.map { $0.map { Int($0.rounded()) } }
        func sorted(_ all: [[Int]]) -> [[Int]] { all.sorted { $0.lexicographicallyPrecedes($1) } }
        #expect(sorted(found) == sorted(expected) && found.count > 100)
        #expect(rig.recorder.clip.frames.allSatisfy { $0.allSatisfy { abs($0 - $0.rounded()) < 1e-6 } })
    }
}
