import RenderStack
import TestSupport
import Testing

/// The notes of patterns are there before they are played, wherever a track is sent.
@Suite struct TableTests {
    @Test("A pattern on a track that was launched long ago takes another one's place in time")
    func launched() throws {
        let takes = Takes()
        let track = Track("low", Pattern("0*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        rig.sequencer.locate(3_000)
        track.launch(at: .now)
        rig.render(60 * 24_000, cycle: 500)
        track.replace(with: Pattern("7*4"))
        rig.render(20 * 24_000, cycle: 500)
        #expect(rig.sequencer.lateCount == 0)
        #expect(takes.begun.count == 80 && takes.begun.filter { $0[1] == 7 }.count == 20)
    }

    @Test("Settings that wait for a time take no notes away before it, and have theirs on its frame")
    func settings() throws {
        let takes = Takes()
        let track = Track("low", Pattern("0*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start(from: 4_000)
        rig.render(24_000, cycle: 480)
        for (number, time) in [100_800, 200_160, 300_480].enumerated() {
            try rig.renderer.transaction(at: .sample(Int64(time))) {
                if number == 0 { track.offset = 700 }
                if number == 1 { track.rate = 3 }
                if number == 2 { track.loop = 2 }
            }
        }
        rig.render(390_000, cycle: 480)
        #expect(rig.sequencer.lateCount == 0)
        // One note on each beat; from frame 200160 on three.
        let expected = (0...8).map { 24_000 * $0 } + (0..<27).map { 208_000 + 8_000 * $0 }
        #expect(takes.begun.map { Int($0[0]) } == expected.filter { $0 < 414_000 })
    }

    @Test("Settings that wait for many times, and others that come before them: no note is late")
    func many() throws {
        let takes = Takes()
        let track = Track("low", Pattern("0*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start(from: 4_000)
        rig.render(24_000, cycle: 480)
        for number in 1...40 {
            try rig.renderer.transaction(at: .sample(Int64(24_000 + 4_800 * number))) {
                track.offset = Fraction(number * 90)
            }
        }
        track.rate = 3
        rig.render(40 * 4_800 + 96_000, cycle: 480)
        #expect(rig.sequencer.lateCount == 0 && takes.begun.count > 30)
    }

    @Test("A change of settings in a transaction that is called off leaves everything as it was")
    func calledOff() throws {
        struct No: Error {}
        let takes = Takes()
        let track = Track("low", Pattern("0*4"), to: takes)
        let rig = try Rig(track)
        rig.sequencer.start()
        for beat in 1...40 {
            try? rig.renderer.transaction { () throws(No) in
                track.offset = Fraction(beat * 1_000)
                throw No()
            }
            rig.render(24_000, cycle: 480)
        }
        #expect(rig.sequencer.lateCount == 0 && takes.begun.count == 40 && track.offset == 0)
    }

    @Test("A track that takes the place of another one is launched with what came before the cycle")
    func place() throws {
        let takes = Takes()
        let first = Track("first", Pattern("0*4"), to: takes)
        let rig = try Rig(first)
        rig.sequencer.start()
        first.launch(at: .nextBar)
        rig.render(1_000)
        let second = Track("second", Pattern("7*4"), to: takes)
        rig.sequencer.remove(first)
        rig.sequencer.append(second)
        second.launch(at: .nextBeat)
        second.isMuted = false
        rig.sequencer.stop(at: .nextBar)
        rig.render(200_000)
        // On beats 1, 2 and 3; with beat 4 comes the stop.
        #expect(takes.begun == [[0, 0], [24_000, 7], [48_000, 7], [72_000, 7]])
    }

    @Test("Of commands for one beat each comes in its turn, whichever grid they wait for", arguments: [64, 1_000])
    func order(cycle: Int) throws {
        for isBarFirst in [true, false] {
            let takes = Takes()
            let rig = try Rig(Track("low", Pattern("<0 1 2 3 4 5 6 7>"), to: takes))
            rig.renderer.tempo.beatsPerMinute = 177.7
            rig.sequencer.start()
            rig.render(1_000, cycle: cycle)
            let moments: [Moment] = isBarFirst ? [.nextBar, .next(1 / 3)] : [.next(4), .nextBar]
            // The third parts of a beat come before the bar, again and again; the last of them on the bar.
            try rig.renderer.transaction(at: rig.renderer.tempo.time(ofBeat: 3.9)) {
                rig.sequencer.locate(8, at: moments[0])
                rig.sequencer.locate(20, at: moments[1])
            }
            rig.render(80_000, cycle: cycle)
            let bar = Double((4 * 48_000 * 60 / 177.7).rounded())
            #expect(takes.begun.filter { $0[0] == bar } == [[bar, 5]], "\(takes.begun)")
        }
    }
}
