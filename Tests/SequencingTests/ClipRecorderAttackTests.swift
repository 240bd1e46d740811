import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// A recorder in the hands of a hasty player, a broken keyboard and careless code.
@Suite struct ClipRecorderAttackTests {
    struct CalledOff: Error {}

    @Test("It keeps the contract of a module, which finds nothing but that it is silent")
    func contract() {
        let contract = ModuleContract { ClipRecorder(MIDIInput(), of: Sequencer()) }
        let judged =
            ContractPart.allocation.isPossible
            ? contract : contract.leavingOut(.allocation, because: "a sanitizer keeps the counter out")
        let found = judged.violations()
        #expect(found.count == 1 && found[0].contains("is silent"), "\(found)")
    }

    @Test("Broken keyboards: ends that are missing or too many, velocity 0, a key that goes down twice")
    func keyboards() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(1))
        let messages: [(frame: Int, message: MIDIMessage)] = [
            (1_000, .noteOff(channel: 0, note: 60, velocity: 0)),
            (2_000, .noteOn(channel: 0, note: 60, velocity: 100)),
            (3_000, .noteOn(channel: 0, note: 60, velocity: 100)),
            (4_000, .noteOn(channel: 0, note: 60, velocity: 0)), (5_000, .noteOff(channel: 0, note: 60, velocity: 0)),
            (6_000, .noteOn(channel: 0, note: 61, velocity: 1)), (6_000, .noteOff(channel: 0, note: 61, velocity: 1)),
            (7_000, .noteOn(channel: 3, note: 62, velocity: 1)), (8_000, .noteOff(channel: 4, note: 62, velocity: 1)),
            (9_000, .noteOn(channel: 0, note: 0, velocity: 127)),
            (9_500, .noteOn(channel: 0, note: 127, velocity: 255)),
        ]
        rig.driver.render(to: 100_000, messages)
        let expected: [[Double]] = [
            [60, 2_000, 1_000], [60, 3_000, 1_000], [61, 6_000, 0], [62, 7_000, 89_000], [0, 9_000, 87_000],
            [127, 9_500, 86_500],
        ]
        #expect(rig.recorder.clip.frames == expected)
        #expect(rig.recorder.clip.events.allSatisfy { ($0.note?.velocity ?? 0) <= 1 })
    }

    @Test("Several channels: all, one, and each by itself afterwards")
    func channels() throws {
        let notes =
            played(60, 1_000, 2_000, channel: 0) + played(60, 1_500, 2_500, channel: 9)
            + played(60, 3_000, 4_000, channel: 15)
        for channel in [nil, 9, -5, 99] as [Int?] {
            let rig = try RecorderRig(channel: channel)
            rig.recorder.begin(length: .bars(1))
            rig.driver.render(to: 100_000, notes)
            let all: [[Double]] = [[60, 1_000, 1_000], [60, 1_500, 1_000], [60, 3_000, 1_000]]
            let expected = channel == nil ? all : channel == 9 ? [all[1]] : channel == -5 ? [all[0]] : [all[2]]
            #expect(rig.recorder.clip.frames == expected)
            if channel == nil {
                #expect(
                    rig.recorder.clip(ofChannel: 9).frames == [all[1]] && rig.recorder.clip(ofChannel: 3).events.isEmpty
                )
            }
        }
    }

    @Test(
        "Controllers, bends, pressure, programs and exclusive messages are kept; a session's clock is not; a pedal is let go"
    )
    func messages() throws {
        let chunk = MIDIChunk(
            bytes: [0xF0, 1, 0xF7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], count: 3, isFirst: true, isLast: true)
        let kept: [MIDIMessage] = [
            .controller(channel: 1, number: 7, value: 90), .bend(channel: 1, value: -77),
            .pressure(channel: 1, pressure: 5),
            .keyPressure(channel: 1, note: 60, pressure: 6), .program(channel: 1, number: 3), .systemExclusive(chunk),
            .controller(channel: 2, number: 64, value: 127),
        ]
        let dropped: [MIDIMessage] = [
            .clock, .start, .continue, .stop, .activeSensing, .songPosition(4), .timeCode(1), .reset,
        ]
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(1))
        let all = (kept + dropped).enumerated().map { (frame: 1_000 + 10 * $0.offset, message: $0.element) }
        rig.driver.render(to: 100_000, all)
        let found = rig.recorder.clip.messages
        #expect(found.map(\.message) == kept + [.controller(channel: 2, number: 64, value: 0)])
        #expect(
            found.dropLast().enumerated().allSatisfy { abs($0.element.frame - Double(1_000 + 10 * $0.offset)) < 1e-6 })
        let last = try #require(found.last)
        #expect(last.frame < 96_000 && last.frame > 95_999.9)
    }

    @Test("Run twice in a slice, it records once; without its sequencer it says so, and records nothing")
    func twice() throws {
        let rig = try RecorderRig(times: 2)
        rig.recorder.begin(length: .bars(1))
        rig.driver.render(to: 100_000, played(60, 10_000, 20_000))
        #expect(rig.recorder.clip.frames == [[60, 10_000, 10_000]])

        let sequencer = Sequencer()
        var made: ClipRecorder?
        let driver = try KeysDriver { keys in
            let recorder = ClipRecorder(keys, of: sequencer)
            made = recorder
            return try Renderer(sampleRate: 48_000) { context in
                context.run(recorder)
                context.run(sequencer)
                context.push()
                context.output()
            }
        }
        let recorder = try #require(made)
        recorder.begin(length: .bars(1))
        driver.render(to: 50_000, played(60, 10_000, 20_000))
        #expect(recorder.problem?.contains("has not run before") == true && recorder.clip.events.isEmpty)
    }

    @Test("Another recording ends the one that is under way; an end before the beginning calls it off; a reset ends it")
    func hasty() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(4))
        rig.driver.render(to: 30_000, played(60, 10_000, 80_000))
        rig.recorder.begin(length: .bars(1))
        rig.driver.render(to: 60_000)
        #expect(rig.recorder.isWaiting && rig.recorder.clip.events.isEmpty)
        rig.recorder.end()
        rig.driver.render(to: 200_000, played(61, 95_000, 120_000))
        #expect(!rig.recorder.isWaiting && !rig.recorder.isRecording && rig.recorder.clip.events.isEmpty)
        rig.recorder.end()
        rig.recorder.begin(length: .bars(1))
        rig.driver.render(to: 300_000, played(62, 201_000, 202_000) + played(63, 298_000, 400_000))
        let recorder = rig.recorder
        try rig.renderer.messages.send { context in context.reset(recorder) }
        rig.driver.render(to: 320_000)
        #expect(!rig.recorder.isRecording && rig.recorder.clip.frames == [[63, 10_000, 2_000]])
    }

    @Test("A recorder and the sequencer whose track it records go when nobody has them any more")
    func lifetime() async {
        weak var recorder: ClipRecorder?
        weak var sequencer: Sequencer?
        func make() {
            let made = Sequencer()
            let target = ClipRecorder(of: made)
            made.append(Track("steps", Pattern("1"), to: target))
            target.begin()
            (recorder, sequencer) = (target, made)
        }
        make()
        // The thread beside the audio may have one of them in its hands.
        #expect(await becomesTrue { recorder == nil && sequencer == nil })
    }

    @Test("A recording in a transaction that is called off does not begin")
    func calledOff() throws {
        let rig = try RecorderRig()
        #expect(throws: CalledOff.self) {
            try rig.renderer.transaction {
                rig.recorder.begin(length: .bars(1))
                throw CalledOff()
            }
        }
        rig.driver.render(to: 30_000, played(60, 10_000, 20_000))
        #expect(!rig.recorder.isRecording && rig.recorder.clip.events.isEmpty && !rig.sequencer.isPlaying)
        try rig.renderer.transaction(at: .sample(48_000)) { rig.recorder.begin(at: .now, length: .bars(1)) }
        rig.driver.render(to: 150_000, played(60, 50_000, 60_000))
        #expect(rig.recorder.clip.frames == [[60, 2_000, 10_000]])
    }

    @Test("Any numbers: lengths, count-ins, starts and moments")
    func numbers() throws {
        for length in [0, -1, Fraction(1, 1_000), Fraction(.max), Fraction(.min), Fraction(1, 3)] {
            for countIn in [0, -1, .min, .max] {
                let rig = try RecorderRig()
                rig.recorder.begin(at: .now, countIn: countIn, length: length, rounds: .add)
                rig.driver.render(to: 9_000, cycle: 700, played(60, 100, 8_000))
                let clip = rig.recorder.clip
                #expect(clip.length >= Fraction(1, 16) && clip.length <= 65_536)
                #expect(
                    clip.events.allSatisfy {
                        $0.start >= 0 && $0.start < clip.length && $0.length >= 0 && $0.end <= clip.length
                    })
                rig.recorder.overdub(clip, from: length, at: .next(length), countIn: countIn)
                rig.driver.render(to: 60_000, cycle: 700, played(60, 30_000, 50_000))
                #expect(rig.recorder.clip.events.allSatisfy { $0.start >= 0 && $0.start < clip.length })
            }
        }
        let rig = try RecorderRig()
        let sent = (0..<40).filter { _ in rig.recorder.begin() }.count
        #expect(sent == 16)
        rig.driver.render(to: 1_000)
        #expect(rig.recorder.isRecording)
    }

    @Test("More messages in a cycle than there is room for: those that are lost are counted")
    func flood() throws {
        let rig = try RecorderRig()
        rig.recorder.begin(length: .bars(4))
        rig.driver.render(to: 1_000)
        // In one slice, which is one go for the render thread.
        let message = MIDIMessage.controller(channel: 0, number: 1, value: 5)
        rig.driver.render(to: 2_000, Array(repeating: (frame: 1_500, message: message), count: 20_000))
        #expect(rig.recorder.lostCount <= 20_000 - 4_096)
        #expect(rig.recorder.clip.events.count + rig.recorder.lostCount == 20_000)
    }

    @Test("From several threads, live: nothing hangs, and each clip is a sound one")
    func threads() async throws {
        let takes = Takes()
        let track = Track("tune", Clip(length: 4), to: takes)
        let rig = try RecorderRig([track], into: track)
        let (recorder, sequencer) = (rig.recorder, rig.sequencer)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3 {
                group.addTask {
                    var random = SplitMix(state: UInt64(number))
                    for _ in 0..<300 {
                        switch Int.random(in: 0..<8, using: &random) {
                        case 0: recorder.begin(at: .nextBeat, length: 1, rounds: .add)
                        case 1: recorder.begin(at: .now, rounds: .replace)
                        case 2: recorder.end()
                        case 3: recorder.overdub(recorder.clip, at: .now, rounds: .replace)
                        case 4: sequencer.locate(Fraction(Int.random(in: 0...9, using: &random)))
                        case 5: sequencer.stop()
                        default: _ = recorder.clip.text
                        }
                        await Task.yield()
                    }
                }
            }
            var random = SplitMix(state: 77)
            for _ in 0..<200 {
                let now = rig.driver.now
                let notes = (0..<4).flatMap { _ -> [(frame: Int, message: MIDIMessage)] in
                    let on = now + Int.random(in: 0..<500, using: &random)
                    return played(
                        UInt8.random(in: 50...60, using: &random), on, on + Int.random(in: 0..<900, using: &random))
                }
                rig.driver.render(to: now + 600, cycle: 128, notes)
            }
        }
        recorder.end()
        sequencer.stop()
        rig.driver.render(to: rig.driver.now + 2_000)
        let clip = recorder.clip
        #expect(!recorder.isRecording && clip.events.allSatisfy { $0.start >= 0 && $0.length >= 0 })
        #expect(takes.hanging == 0)
    }
}
