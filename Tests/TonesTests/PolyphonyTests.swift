import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite struct PolyphonyTests {
    private func renderer<Voice: LaneVoice>(
        _ synth: Polyphony<Voice>, channels: Int = 1, rate: Double = 48_000
    ) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: channels) { context in
            context.run(synth)
            context.output()
        }
    }

    /// The samples of single notes: each with its frame and its number of frames.
    private func play<Voice: LaneVoice>(
        _ voice: Voice.Type, frames: Int, cycles: [Int] = [512], _ notes: (Polyphony<Voice>) -> Void
    ) throws -> [Float] {
        let synth = Polyphony<Voice>(voices: 16)
        let renderer = try renderer(synth)
        notes(synth)
        return render(renderer, frames: frames, cycles: cycles)[0]
    }

    @Test("A note begins on its frame with its pitch: the samples of an oscillator")
    func known() throws {
        let frequency = RenderMath.frequency(midiNote: 62.5)
        let tone = Oscillator(frequency: frequency, level: 0.75)
        let reference = try Renderer(channels: 1) { context in
            context.run(tone)
            context.output()
        }
        let expected = render(reference, frames: 9_600)[0]
        let samples = try play(SineVoice.self, frames: 10_101) { $0.play(62.5, velocity: 0.75, at: .sample(501)) }
        #expect(samples.prefix(501).allSatisfy { $0 == 0 })
        #expect(largestDifference(Array(samples.dropFirst(501)), expected) < 1e-4)
        #expect(abs(level(Array(samples.dropFirst(501)), frequency: Double(frequency)) - decibels(0.75)) < 0.001)
    }

    @Test("However the cycles are cut the samples are the same, bit for bit")
    func cycles() throws {
        var first: [[Float]] = []
        for cycles in [[512], [1], [7], [4_096], [3, 500, 1, 64, 2_000, 17]] {
            let synth = Polyphony<WholeVoice>(voices: 4)
            let renderer = try renderer(synth, channels: 2)
            for number in 0..<9 {
                let start = Int64(77 * number * number)
                let voice = synth.play(
                    40 + 5 * Float(number), with: number % 3 == 0 ? [.pan: 0.7] : [:], at: .sample(start))
                synth.bend(voice, by: 1.5, at: .sample(start + 333))
                synth.set(.cutoff, to: 700, of: voice, at: .sample(start + 501))
                if number % 2 == 0 { synth.release(voice, at: .sample(start + 777)) }
            }
            try renderer.transaction(at: .sample(2_000)) {
                synth[.pan].value = -0.5
                synth[.cutoff].value = 9_000
            }
            let samples = render(renderer, frames: 4_000, cycles: cycles)
            if first.isEmpty { first = samples }
            #expect(first == samples)
            #expect(synth.stolenCount > 0)
        }
        #expect(first[0].contains { abs($0) > 0.05 } && first[0] != first[1])
    }

    @Test("A voice sounds the same in every lane, and beside other voices")
    func lanes() throws {
        let single = try play(SineVoice.self, frames: 3_000) { $0.play(50, at: .sample(100)) }
        let last = try play(SineVoice.self, frames: 3_000) { synth in
            for number in 0..<11 { synth.play(Float(60 + number), velocity: 0, at: .sample(50)) }
            synth.play(50, at: .sample(100))
        }
        #expect(single == last)
    }

    @Test("A voice that is stolen fades out, and its step is never larger than the tone's own")
    func stealing() throws {
        let synth = Polyphony<SineVoice>(voices: 1)
        let renderer = try renderer(synth)
        synth.play(45, velocity: 1)
        for place in 0..<8 { synth.play(46, velocity: 0.0001, at: .sample(Int64(4_000 + 2_000 * place + 31 * place))) }
        let samples = render(renderer, frames: 24_000)[0]
        let steps = zip(samples, samples.dropFirst()).map { abs($0 - $1) }
        let most: Float = 1.001 * 2 * RenderMath.sin(.pi * 110 / 48_000)
        #expect((steps.max() ?? 1) < most)
        #expect(samples.dropFirst(4_241).allSatisfy { abs($0) < 0.001 })
        #expect(synth.stolenCount == 8 && synth.soundingCount == 1 && synth.mostVoices == 1)
    }

    @Test("More notes than voices, more commands than fit, and voices that ended")
    func crowd() throws {
        let synth = Polyphony<WholeVoice>(voices: 8)
        let renderer = try renderer(synth)
        var voices: [VoiceID?] = []
        for number in 0..<70 { voices.append(synth.play(Float(30 + number % 60))) }
        #expect(voices.filter { $0 == nil }.count == 6)
        _ = render(renderer, frames: 512)
        #expect(synth.soundingCount == 8 && synth.stolenCount == 56)
        synth.releaseAll()
        _ = render(renderer, frames: 4_800)
        #expect(synth.soundingCount == 0)
        #expect(render(renderer, frames: 512)[0].allSatisfy { $0 == 0 })
        synth.release(voices[0])
        synth.bend(voices[1], by: .nan)
        synth.bend(nil, by: 1)
        synth.set(.cutoff, to: .nan, of: voices[2])
        synth.play(.nan, velocity: .nan, with: [.cutoff: .infinity, .pan: .nan])
        synth.play(.infinity, velocity: 7)
        synth.play(-.infinity)
        let samples = render(renderer, frames: 4_800)[0]
        #expect(samples.allSatisfy { $0.isFinite && abs($0) < 4 } && synth.soundingCount == 3)
        #expect(synth.brokenCount == 0)
    }

    @Test("A voice that makes no number ends, and the others go on as if it had never been")
    func broken() throws {
        let good = try play(BrokenVoice.self, frames: 9_600) { $0.play(60, velocity: 0.9) }
        let synth = Polyphony<BrokenVoice>(voices: 16)
        let renderer = try renderer(synth)
        synth.play(60, velocity: 0.9)
        synth.play(64, velocity: 0.2, at: .sample(300))
        let samples = render(renderer, frames: 9_600)[0]
        #expect(samples.allSatisfy { $0.isFinite })
        #expect(synth.brokenCount == 1 && synth.soundingCount == 1)
        #expect(largestDifference(Array(samples.dropFirst(2_048)), Array(good.dropFirst(2_048))) == 0)
    }

    @Test("Reset begins anew; a voice may have any number of channels; delay lines know the rate")
    func resetting() throws {
        let synth = Polyphony<WholeVoice>(voices: 8)
        let renderer = try renderer(synth, channels: 2)
        var sounds: [[[Float]]] = []
        for _ in 0..<2 {
            for number in 0..<4 { synth.play(Float(40 + 7 * number), with: [.pan: 0.5]) }
            sounds.append(render(renderer, frames: 2_000))
            try renderer.messages.send { context in context.reset(synth) }
        }
        #expect(sounds[0] == sounds[1])
        let ring = Polyphony<RingVoice>()
        let five = try self.renderer(ring, channels: 5, rate: 96_000)
        ring.play(69)
        let samples = render(five, frames: 4_800)
        #expect(samples[1] == samples[0].map { 0.5 * $0 } && samples[3] == samples[0].map { -$0 })
        #expect(abs(level(samples[0], frequency: 440, sampleRate: 96_000)) < 0.01)
        #expect(samples[4].allSatisfy { $0 == 0 })
    }

    @Test("MIDI: pedal, wheel, pressure, controllers and channels of their own")
    func messages() throws {
        let synth = Polyphony<WholeVoice>(
            voices: 8, controllers: [VoiceController(74, .cutoff, 100...10_000, isExponential: true)])
        let renderer = try renderer(synth)
        synth.send(.controller(channel: 0, number: 64, value: 127))
        synth.send(.noteOn(channel: 0, note: 60, velocity: 100))
        synth.send(.noteOn(channel: 1, note: 60, velocity: 100))
        synth.send(.noteOff(channel: 0, note: 60, velocity: 0), at: .sample(100))
        synth.send(.noteOff(channel: 1, note: 60, velocity: 0), at: .sample(100))
        _ = render(renderer, frames: 4_800)
        #expect(synth.soundingCount == 1)
        synth.send(.controller(channel: 0, number: 74, value: 0))
        synth.send(.controller(channel: 0, number: 64, value: 0), at: .sample(7_000))
        _ = render(renderer, frames: 6_000)
        #expect(synth.soundingCount == 0)
        let tone = Polyphony<SineVoice>(bendRange: 12)
        let pure = try self.renderer(tone)
        tone.send(.bend(channel: 3, value: 8_191))
        tone.send(.noteOn(channel: 3, note: 57, velocity: 127))
        #expect(abs(level(render(pure, frames: 4_800)[0], frequency: 440)) < 0.01)
        tone.send(.bend(channel: 3, value: -8_192))
        _ = render(pure, frames: 9_600)
        #expect(abs(level(render(pure, frames: 48_000)[0], frequency: 110)) < 0.01)
        // A note-on without velocity lets the key go, and numbers beyond seven bits count as their seven.
        tone.send(.noteOn(channel: 3, note: 185, velocity: 0))
        _ = render(pure, frames: 4_800)
        #expect(tone.soundingCount == 0)
        tone.send(.bend(channel: 4, value: .max))
        tone.send(.noteOn(channel: 4, note: 57, velocity: 255))
        #expect(abs(level(render(pure, frames: 4_800)[0], frequency: 440)) < 0.01)
        for number in 0..<128 {
            tone.send(.controller(channel: 15, number: UInt8(number), value: 255))
            _ = render(pure, frames: 1)
        }
        tone.send(.reset)
        _ = render(pure, frames: 4_800)
        #expect(tone.soundingCount == 0)
    }

    @Test("A voice comes back from any bend")
    func bends() throws {
        let tone = Polyphony<SineVoice>()
        let renderer = try renderer(tone)
        let voice = tone.play(57, velocity: 1)
        for semitones in [Float.infinity, -.infinity, .greatestFiniteMagnitude, .nan, 0] {
            tone.bend(voice, by: semitones)
            _ = render(renderer, frames: 9_600)
        }
        #expect(abs(level(render(renderer, frames: 48_000)[0], frequency: 220)) < 0.01)
    }

    @Test("It keeps the contract of a module")
    func contract() {
        let contract = ModuleContract {
            let synth = Polyphony<FilteredVoice>(voices: 1)
            synth.play(50)
            return synth
        }
        .leavingOut(.reset, because: "it ends the notes")
        #expect(contract.violations() == [])
    }
}
