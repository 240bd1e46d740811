import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Tracks that leave: their notes end, what waits for them does nothing, and their place is free.
@Suite struct RemovalTests {
    struct CalledOff: Error {}

    @Test("A track that is removed: its note ends, the others go on, and it may come again, here or elsewhere")
    func removes() throws {
        let (takes, others) = (Takes(), Takes())
        let track = Track("steps", Pattern("1 2 3 4"), to: takes)
        let rig = try Rig(track, Track("more", Pattern("5 6 7 8"), to: others), capacity: 2)
        rig.sequencer.start()
        rig.render(30_000)
        #expect(rig.sequencer.remove(track) && !rig.sequencer.remove(track))
        #expect(rig.sequencer["steps"] == nil && rig.sequencer.tracks.count == 1)
        rig.render(30_000, cycle: 100)
        #expect(takes.hanging == 0 && takes.ended.last == [30_000, 2] && takes.begun.count == 2)
        #expect(others.begun.count == 3)
        #expect(!track.launch())
        #expect(rig.sequencer.append(track) && !rig.sequencer.append(Track("no", Pattern("1"), to: takes)))
        rig.render(30_000)
        #expect(takes.begun.last == [72_000, 4])
        rig.sequencer.remove(track)
        let other = try Rig(track)
        other.sequencer.start()
        other.render(1_000)
        #expect(takes.begun.last == [0, 1])
        rig.render(100)
        #expect(takes.hanging == 1)
    }

    @Test("Commands that wait for a track do not hit the one that takes its place")
    func waiting() throws {
        let takes = Takes()
        let track = Track("old", Pattern("1"), to: takes)
        let rig = try Rig(track, capacity: 1)
        rig.render(100)
        track.launch(at: .nextBar)
        track.launch(at: .at(.sample(2_000)))
        rig.render(100)
        rig.sequencer.remove(track)
        let new = Track("new", Pattern("2"), to: takes)
        #expect(rig.sequencer.append(new))
        rig.render(200_000)
        #expect(takes.count == 0 && rig.sequencer.lostCount == 0)
        new.launch(at: .nextBeat)
        rig.render(30_000)
        #expect(takes.begun.map { $0[1] } == [2])
    }

    @Test("In a transaction it leaves on the frame of that; called off, it stays", arguments: [64, 1_000])
    func transactions(cycle: Int) async throws {
        let takes = Takes()
        let track = Track("steps", Pattern("1*16"), to: takes)
        let rig = try Rig(track, capacity: 1)
        rig.sequencer.start()
        #expect(throws: CalledOff.self) {
            try rig.renderer.transaction {
                #expect(rig.sequencer.remove(track) && !rig.sequencer.remove(track))
                throw CalledOff()
            }
        }
        rig.render(10_000, cycle: cycle)
        #expect(takes.begun.count == 2)
        try rig.renderer.transaction(at: .sample(15_001)) {
            rig.sequencer.remove(track)
            #expect(!rig.sequencer.append(track))
        }
        #expect(rig.sequencer.tracks.count == 1)
        rig.render(20_000, cycle: cycle)
        #expect(takes.ended.last == [15_001, 1] && takes.hanging == 0 && takes.begun.count == 3)
        // Its place is free when the thread that frees has seen that.
        let isOut = await becomesTrue { rig.sequencer.tracks.isEmpty }
        #expect(isOut)
        #expect(rig.sequencer.append(track))
        rig.render(7_000, cycle: cycle)
        #expect(takes.begun.last == [36_000, 1])
    }

    @Test("An edit in a transaction that was begun before the track came is heard on its frame")
    func editsBefore() throws {
        let takes = Takes()
        let rig = try Rig()
        rig.sequencer.start()
        let track = Track("late", Pattern("1*16"), to: takes)
        try rig.renderer.transaction(at: .sample(18_000)) {
            track.isMuted = true
            track.replace(with: Pattern("2*16"))
            rig.sequencer.append(track)
        }
        try rig.renderer.transaction(at: .sample(30_000)) { track.isMuted = false }
        rig.render(40_000)
        #expect(takes.begun == [[0, 1], [6_000, 1], [12_000, 1], [30_000, 2], [36_000, 2]])
    }

    @Test("An end that is refused when the track leaves is asked for again, although nobody else keeps the track")
    func refusals() throws {
        let takes = Takes()
        let rig = try Rig(capacity: 1)
        func play() { rig.sequencer.append(Track("short", Pattern("1"), to: takes)) }
        play()
        rig.sequencer.start()
        rig.render(1_000)
        takes.refusals = 20
        if let track = rig.sequencer["short"] { rig.sequencer.remove(track) }
        rig.render(1_000)
        #expect(takes.hanging == 1)
        play()
        rig.render(10_000)
        #expect(takes.hanging == 0 && takes.begun.count == 1)
    }

    @Test("Tracks that come and go leak nothing, with cycles between and without", arguments: [false, true])
    func leaks(plays: Bool) async throws {
        let count = Int(ProcessInfo.processInfo.environment["RENDERSTACK_TRACKS"] ?? "") ?? 3_000
        let takes = Takes()
        let rig = try Rig(Track("stays", Pattern("1 2"), to: takes), capacity: 4)
        if plays { rig.sequencer.start() }
        let alive = Counter()
        for number in 0..<count {
            let track = Track("guest", Pattern("1*32"), to: Guest(alive))
            #expect(rig.sequencer.append(track))
            if plays { rig.render(64, cycle: 64) }
            if number % 3 == 0 && plays {
                rig.renderer.transaction { #expect(rig.sequencer.remove(track)) }
                rig.render(64, cycle: 64)
                let isOut = await becomesTrue { rig.sequencer.tracks.count == 1 }
                #expect(isOut)
            } else {
                #expect(rig.sequencer.remove(track))
            }
        }
        if plays { rig.render(64) }
        let areGone = await becomesTrue { alive.value == 0 }
        #expect(areGone, "\(alive.value) of \(count) are left")
    }

    /// A target that is counted while it exists.
    final class Guest: NoteTarget {
        private let counter: Counter
        init(_ counter: Counter) {
            self.counter = counter
            counter.add(1)
        }
        deinit { counter.add(-1) }
        func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool { true }
    }

    final class Counter: Sendable {
        private let number = Atomic(0)
        var value: Int { number.load(ordering: .relaxed) }
        func add(_ difference: Int) { number.wrappingAdd(difference, ordering: .relaxed) }
    }
}
