import RenderStack
import TestSupport
import Testing

/// What is at the ends of a journal, of its ranges and of its slices.
@Suite struct JournalBoundsTests {
    @Test("Clips that are played once, negative beats and tempos at the ends of their range are played again")
    func bounds() throws {
        let stage = try JournalTests.Stage(Sequencer())
        stage.sequencer.append(Track("low", Clip(Pattern("0 4 7 11"), length: 3), to: stage.low, repeats: false))
        stage.sequencer.append(Track("high", Clip(Pattern("60*3"), length: 1), to: stage.high))
        stage.sequencer.tempo = 100
        stage.renderer.tempo.position = -8
        stage.sequencer.keepJournal()
        stage.sequencer.start()
        var sound = stage.renderer.renderOffline(frames: 120_000, cycle: 99).array(0)
        stage.renderer.tempo.metre = Metre(3)
        sound += stage.renderer.renderOffline(frames: 1_000, cycle: 99).array(0)
        stage.sequencer.tempo = nil
        stage.renderer.tempo.ramp(to: 999, beats: 0.3, shape: .exponential)
        sound += stage.renderer.renderOffline(frames: 30_000, cycle: 99).array(0)
        stage.renderer.tempo.ramp(to: 1, beats: 2)
        sound += stage.renderer.renderOffline(frames: 30_000, cycle: 99).array(0)
        stage.renderer.tempo.map = TempoMap(
            [.init(at: -1, 10_000, .exponential), .init(at: 0.5, 1, .line), .init(at: 1, 10_000)])
        sound += stage.renderer.renderOffline(frames: 100_000, cycle: 99).array(0)
        stage.renderer.tempo.metre = Metre(5)
        stage.renderer.tempo.position = -2.5
        sound += stage.renderer.renderOffline(frames: 100_000, cycle: 99).array(0)
        let journal = try #require(stage.sequencer.endJournal())
        #expect(journal.remarks.isEmpty, "\(journal.remarks)")
        let read = try SequencerJournal(text: try journal.text)
        #expect(try read.text == journal.text)
        #expect(try JournalTests.again(read, cycle: 256) == sound.map(\.bitPattern))
    }

    @Test(
        "A journal that begins when the sequencer's own clock was under way says so, and one that begins with it does not"
    )
    func own() throws {
        for isMap in [true, false] {
            for isLate in [true, false] {
                let stage = try JournalTests.Stage(Sequencer())
                stage.sequencer.append(Track("low", Pattern("0*7"), to: stage.low))
                if isMap { stage.sequencer.tempoMap = TempoMap(90) } else { stage.sequencer.tempo = 90 }
                if isLate { _ = stage.renderer.renderOffline(frames: 20_000) }
                stage.sequencer.keepJournal()
                stage.sequencer.start(at: .nextBeat)
                let sound = stage.renderer.renderOffline(frames: 60_000, cycle: 77).array(0).map(\.bitPattern)
                let journal = try #require(stage.sequencer.endJournal())
                #expect(journal.remarks.isEmpty == !isLate)
                if !isLate { #expect(try JournalTests.again(journal, cycle: 512) == sound) }
            }
        }
    }

    @Test("Commands for a frame in the middle of a slice keep it, also where a piece of the song's map ends before it")
    func middle() throws {
        let stage = try JournalTests.Stage(Sequencer())
        stage.sequencer.append(Track("low", Pattern("0*16"), to: stage.low))
        stage.sequencer.tempoMap = TempoMap(
            (0..<300).map { TempoMap.Point(at: 0.013 * Double($0), $0 % 2 == 0 ? 60 : 300) })
        stage.sequencer.keepJournal()
        stage.sequencer.start()
        for time in stride(from: Int64(1_000), to: 90_000, by: 777) {
            stage.sequencer.locate(Fraction(Int(time) % 7, 3), at: .at(.sample(time)))
            stage.sequencer.locate(Fraction(Int(time) % 5, 4), at: .next(1 / 64).after(.sample(time + 100)))
        }
        let sound = stage.renderer.renderOffline(frames: 100_000, cycle: 50_000).array(0).map(\.bitPattern)
        let journal = try #require(stage.sequencer.endJournal())
        #expect(journal.remarks.isEmpty)
        for cycle in [64, 1_000, 50_000] { #expect(try JournalTests.again(journal, cycle: cycle) == sound, "\(cycle)") }
    }

    @Test(
        "A command for the next bar goes by the bars of the map, also where a cycle begins with them",
        arguments: [480, 500, 4_096])
    func bars(cycle: Int) throws {
        let map = TempoMap([.init(at: 0, 120)], metres: [.init(at: 2, Metre(3))])
        for isOwn in [true, false] {
            let takes = Takes()
            let rig = try Rig(Track("low", Pattern("<0 1 2 3 4 5 6 7>"), to: takes))
            if isOwn { rig.sequencer.tempoMap = map } else { rig.renderer.tempo.map = map }
            rig.sequencer.start()
            rig.render(24_000, cycle: 480)
            rig.sequencer.locate(12, at: .nextBar)
            rig.render(96_000, cycle: cycle)
            #expect(takes.begun == [[0, 0], [48_000, 3]])
        }
    }

    @Test("A command for the next bar waits for one, also where the sequencer comes to a map that began long before")
    func oldPiece() throws {
        let takes = Takes()
        let rig = try Rig(Track("low", Pattern("<0 1 2 3 4 5 6 7>"), to: takes))
        rig.renderer.tempo.map = TempoMap([.init(at: 0, 120)])
        rig.sequencer.tempo = 120
        rig.render(36_000)
        rig.sequencer.start(at: .nextBar)
        rig.render(12_000)
        rig.sequencer.tempo = nil
        rig.render(96_000)
        #expect(takes.begun.first == [96_000, 0])
    }

    @Test("Another life of a renderer is said, and the first one is kept")
    func lives() throws {
        let (low, heard) = (Takes(), Takes())
        let (rig, again) = (try Rig(Track("low", Pattern("0*16"), to: low)), try Rig())
        let driver = KeysDriver { _ in rig.renderer }
        rig.sequencer.keepJournal()
        rig.sequencer.start()
        driver.render(to: 50_000, cycle: 500)
        let first = low.entries
        driver.startsOver = true
        driver.render(to: 55_000, cycle: 500)
        let journal = try #require(rig.sequencer.endJournal())
        #expect(journal.remarks.contains { $0.contains("began anew") } && journal.frames == 0..<49_500)
        try journal.perform(on: again.sequencer, of: again.renderer, targets: ["low": heard]) { _ in }
        #expect(heard.begun == first.filter { $0.kind == .on && $0.frame < 49_500 }.map { [Double($0.frame), 0] })
    }
}
