import RenderStack
import Synchronization
import TestSupport
import Testing

/// Voices whose writers make every mistake that still compiles, and programs that use them without care.
@Suite struct HostileVoiceTests {
    private func renderer<Voice: LaneVoice>(_ synth: Polyphony<Voice>) throws -> Renderer {
        try Renderer(channels: 2) { context in
            context.run(synth)
            context.output()
        }
    }

    /// Nothing in it, and nothing out of it.
    struct EmptyVoice: LaneVoice {
        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing VoiceNotes<Self>) -> Lanes { .one }
    }

    /// It never ends, blows up, and asks for lines and tables that it does not have.
    struct WildVoice: LaneVoiceWithMemory {
        private var (line, table) = (DelayLanes(), WavetableLanes())
        private var (wave, lead, filter, envelope) = (
            WaveLanes(), SyncedSawLanes(), StateVariableLanes(), EnvelopeLanes()
        )
        private var level = Lanes.one
        private var more = InlineArray<3, Lanes>(repeating: .zero)

        @inline(__always) @_noLocks @_noAllocation
        mutating func control(_ notes: borrowing VoiceNotes<Self>) {
            filter.tune(turns: notes.pitch * Lanes(repeating: -1e30), q: .zero)
            more[2] += 1
        }

        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing VoiceNotes<Self>, _ memory: inout VoiceMemory) -> StereoLanes {
            let heard = line.read(Lanes(repeating: .nan), memory) + line.read(level, memory)
            let wild = wave.saw(level) + wave.pulse(-level, width: level) + wave.triangle(.zero)
            let more = lead.next(level, ratio: -level) + table.next(notes.step, table: level, memory)
            let times = EnvelopeLanes.Times(attack: .infinity, decay: -1, sustain: 1e30, release: .nan)
            level *= 1.01
            line.write(wild, &memory)
            line.write(wild, &memory)
            let sound = filter.next(heard + more).low * envelope.next(notes.gate, times, notes.sampleRate)
            return StereoLanes(pan: level) * sound
        }

        func isSounding(_ notes: borrowing VoiceNotes<Self>) -> LaneMask { level .>= level }

        static func lineFrames(at sampleRate: Double) -> Int { .max }
    }

    @Test("An empty voice sounds, and a wild one breaks alone")
    func wild() throws {
        let empty = Polyphony<EmptyVoice>(voices: 1)
        let first = try renderer(empty)
        for _ in 0..<9 { empty.play(60) }
        let ones = render(first, frames: 1_000)
        #expect(ones[0].suffix(500).allSatisfy { $0 == 1 } && empty.stolenCount == 8)
        let wild = Polyphony<WildVoice>(voices: 4)
        let second = try renderer(wild)
        for round in 0..<6 {
            for note in 0..<9 { wild.play(Float(note * 30 - 50)) }
            let samples = render(second, frames: 3_000, cycles: [5 + 97 * round])
            #expect(samples.allSatisfy { $0.allSatisfy { $0.isFinite } })
        }
        #expect(second.faultCount == 0)
    }

    /// Something that no lane can hold.
    struct CountingVoice: LaneVoice {
        private var tone = SineLanes()
        private var count = 0

        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing VoiceNotes<Self>) -> Lanes { tone.next(notes.step) }
    }

    @Test("A voice with a field that is not of lanes is refused with a sentence")
    func fields() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Polyphony<CountingVoice>()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("CountingVoice.count is Int: every field of a LaneVoice has eight lanes of 32 bits"))
    }

    @Test("The parameter that stands for none may be named, and means nothing")
    func noParameter() throws {
        let synth = Polyphony<EmptyVoice>(voices: 2, controllers: [VoiceController(1, .none)])
        let renderer = try renderer(synth)
        synth[.none].value = 0.5
        let voice = synth.play(60, with: [.none: 1])
        #expect(synth.set(.none, to: 0, of: voice) && synth.send(.controller(channel: 0, number: 1, value: 9)))
        #expect(render(renderer, frames: 500)[0].last == 1 && synth.parameters.map(\.name) == ["level"])
    }

    /// It hides a field from reflection.
    struct HidingVoice: LaneVoice, CustomReflectable {
        private var tone = SineLanes()
        private var count: UInt64 = 0
        var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }

        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing VoiceNotes<Self>) -> Lanes { tone.next(notes.step) }
    }

    @Test("A voice whose mirror hides a field is refused by its size")
    func hidden() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Polyphony<HidingVoice>()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("bytes, which are no fields of eight lanes of 32 bits"), "\(text)")
    }

    /// It returns other tables in each call.
    struct ChangingVoice: LaneVoiceWithMemory {
        private var table = WavetableLanes()
        private static let calls = Atomic<Int>(0)

        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing VoiceNotes<Self>, _ memory: inout VoiceMemory) -> Lanes {
            table.next(notes.step, table: .one, memory)
        }

        static func makeTables() -> [[Float]] {
            switch calls.wrappingAdd(1, ordering: .relaxed).newValue {
            case 2: [[0, 1], [Float](repeating: 1, count: 1 << 20)]
            case 4: [[], []]
            default: [[0, 1], [0, 1]]
            }
        }
    }

    @Test("Tables that change from call to call are cut to the room that there is")
    func tables() throws {
        for _ in 0..<2 {
            let synth = Polyphony<ChangingVoice>(voices: 1)
            let renderer = try renderer(synth)
            synth.play(60)
            #expect(render(renderer, frames: 500)[0].allSatisfy { $0.isFinite })
        }
    }

    @Test("Many threads play, bend and release, while the loop is replaced and the module is reset")
    func threads() async throws {
        let synth = Polyphony<EmptyVoice>(voices: 16, keys: MIDIInput(name: "keys"))
        let renderer = try renderer(synth)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<3 {
                group.addTask {
                    for number in 0..<200 {
                        let voice = synth.play(Float(number), at: .sample(Int64(number * 50)))
                        synth.bend(voice, by: Float(worker))
                        synth.release(voice, at: .sample(Int64(number * 60)))
                        synth.send(.controller(channel: 3, number: UInt8(number % 128), value: UInt8(number % 128)))
                    }
                }
            }
            for number in 0..<100 {
                _ = render(renderer, frames: 128)
                if number % 10 == 0 {
                    try? renderer.messages.send { context in context.reset(synth) }
                    try? renderer.replaceLoop { context in
                        context.run(synth)
                        context.output()
                    }
                }
            }
        }
        synth.releaseAll()
        _ = render(renderer, frames: 12_000)
        #expect(synth.soundingCount == 0 && renderer.faultCount == 0)
    }

    @Test("A voice in two renderers is silent in the second; another rate ends the notes")
    func renderers() throws {
        let synth = Polyphony<EmptyVoice>(voices: 8)
        let first = try renderer(synth)
        synth.play(60)
        #expect(render(first, frames: 100)[0].contains { $0 != 0 })
        let second = try Renderer(sampleRate: 96_000, channels: 2) { context in
            context.run(synth)
            context.output()
        }
        #expect(render(second, frames: 100)[0].allSatisfy { $0 == 0 })
        #expect(render(first, frames: 100)[0].allSatisfy { $0.isFinite })
    }
}
