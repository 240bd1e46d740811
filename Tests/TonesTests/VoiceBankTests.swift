import Dispatch
import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct VoiceBankTests {
    private static let voices: [VoiceBank.Voice] = (0..<19).map(voice)

    private static func voice(_ index: Int) -> VoiceBank.Voice {
        let number = Float(index + 1)
        var voice = VoiceBank.Voice(frequency: 61 * number)
        voice.level = 0.02 * Float(1 + index % 4)
        voice.pan = 0.5 * Float(index % 5) - 1
        voice.center = index % 3 == 0 ? nil : 150 * number
        voice.octaves = 0.3 + 0.2 * Float(index % 6)
        return voice
    }

    private func renderer(_ bank: VoiceBank, rate: Double = 48_000) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: 2) { context in
            context.run(bank)
            context.output()
        }
    }

    @Test("W2: a bank sounds as an oscillator, a band-pass and a pan for each voice, within 1e-6 of full scale")
    func modules() throws {
        let tones = Self.voices.map { Oscillator(frequency: $0.frequency) }
        let filters = Self.voices.map { Bandpass(center: $0.center ?? $0.frequency, octaves: $0.octaves) }
        let pans = Self.voices.map { Pan($0.pan) }
        let gains = Self.voices.map { Gain($0.level) }
        let modules = try Renderer(channels: 2) { context in
            context.push(channels: 2)
            for index in tones.indices {
                context.run(tones[index])
                context.run(filters[index])
                context.run(gains[index])
                context.run(pans[index])
                context.mix(2)
            }
            context.output()
        }
        let expected = render(modules, frames: 9_600)
        let bank = VoiceBank(Self.voices)
        let samples = render(try renderer(bank), frames: 9_600)
        // The frequency is kept in 32 bits: a turn of 3e-6 in this time.
        for channel in 0..<2 { #expect(largestDifference(samples[channel], expected[channel]) < 1e-5) }
        #expect(expected[0].contains { abs($0) > 0.1 })
    }

    @Test("W2: the narrowest and lowest bands are as exact as those of a module", arguments: [48_000.0, 192_000])
    func low(rate: Double) throws {
        // A frequency that 32 bits have exactly.
        let frequency = Float(rate / (rate > 100_000 ? 8_192 : 2_048))
        for octaves: Float in [1 / 12, 1] {
            let (tone, filter) = (Oscillator(frequency: frequency), Bandpass(center: 24, octaves: octaves))
            let modules = try Renderer(sampleRate: rate, channels: 1) { context in
                context.run(tone)
                context.run(filter)
                context.output()
            }
            let voice = VoiceBank.Voice(frequency: frequency, level: 1, pan: -1, center: 24, octaves: octaves)
            let expected = render(modules, frames: Int(rate))[0]
            let samples = render(try renderer(VoiceBank([voice]), rate: rate), frames: Int(rate))[0]
            // -128 dB.
            #expect(largestDifference(samples, expected) < 4e-7)
            #expect(expected.contains { abs($0) > 0.1 })
        }
    }

    @Test(
        "A voice alone has the level of its filter's response at its frequency", arguments: [44_100.0, 48_000, 96_000])
    func known(rate: Double) throws {
        for (frequency, center) in [(440.0, 440.0), (440, 880), (3_000, 1_500), (60, 240)] {
            let bank = VoiceBank([
                VoiceBank.Voice(
                    frequency: Float(frequency), level: 0.5, pan: -1, center: Float(center), octaves: 1)
            ])
            let renderer = try renderer(bank, rate: rate)
            _ = render(renderer, frames: Int(rate / 2))
            let samples = render(renderer, frames: Int(rate))
            // |H| of a band-pass with 0 dB at its centre, by the bilinear transform: 1 / √(1 + Q² (x - 1/x)²).
            let x = RenderMath.tan(.pi * frequency / rate) / RenderMath.tan(.pi * center / rate)
            let q = FilterCoefficients.q(octaves: 1, frequency: center, sampleRate: rate)
            let gain = 0.5 / (1 + q * q * (x - 1 / x) * (x - 1 / x)).squareRoot()
            let expected = 20 * RenderMath.log2(gain) / RenderMath.log2(10)
            #expect(abs(level(samples[0], frequency: frequency, sampleRate: rate) - expected) < 0.001)
            #expect(samples[1].allSatisfy { abs($0) < 1e-7 })
        }
    }

    /// A voice as it is in double precision, with other numbers from a frame on.
    private func exact(_ voices: [VoiceBank.Voice], change: Int, frames: Int, rate: Double) -> [Double] {
        var (phase, u, w): (UInt32, Double, Double) = (0, 0, 0)
        return (0..<frames).map { frame in
            let voice = voices[frame < change ? 0 : 1]
            let center = Double(voice.center ?? voice.frequency)
            let g = RenderMath.tan(.pi * center / rate)
            let q = FilterCoefficients.q(octaves: Double(voice.octaves), frequency: center, sampleRate: rate)
            let x = RenderMath.sin(2 * Double.pi * Double(phase) * 0x1p-32)
            let y = (u + g * (x - w)) / (1 + g * (g + 1 / q))
            (u, w) = (2 * y - u, w + 2 * g * y)
            phase &+= UInt32(Double(voice.frequency) / rate * 0x1p32 + 0.5)
            return Double(voice.level) * y / q
        }
    }

    @Test(
        "The widest and the narrowest band differ from double precision by -138 dB at most, also where a voice changes at once",
        arguments: [48_000.0, 192_000], [0, 1, 4, 7])
    func noise(rate: Double, place: Int) throws {
        for center in [20, 440, 8_000, 16_000, 23_000] as [Float] {
            for octaves in [1 / 12, 1, 10] as [Float] {
                let tone = min(1.03 * center, Float(0.49 * rate))
                let before = VoiceBank.Voice(frequency: tone, level: 1, pan: -1, center: center, octaves: octaves)
                let after = VoiceBank.Voice(frequency: 0.7 * tone, level: 0.9, pan: -1, center: 300, octaves: octaves)
                let bank = VoiceBank([before], glide: .zero)
                let renderer = try renderer(bank, rate: rate)
                let change = Int(rate / 8) & ~7 + place
                var samples = render(renderer, frames: change)[0]
                bank[0] = after
                samples += render(renderer, frames: change)[0]
                let expected = exact([before, after], change: change, frames: samples.count, rate: rate)
                let errors = zip(samples, expected).map { Double($0) - $1 }
                let power = errors.reduce(0) { $0 + $1 * $1 } / Double(errors.count)
                #expect(10 * RenderMath.log2(2 * power + 1e-30) / RenderMath.log2(10) < -138)
                #expect(errors.allSatisfy { abs($0) < 6e-7 })
                #expect(expected.contains { abs($0) > 0.1 })
            }
        }
    }

    @Test("However the cycles are cut the samples are the same, bit for bit, at rest and on the way")
    func cycles() throws {
        var first: [[Float]] = []
        for cycles in cycleLengths {
            let bank = VoiceBank(Self.voices)
            let renderer = try renderer(bank)
            let begun = render(renderer, frames: 1_000, cycles: cycles)
            bank.update { voices in
                for index in voices.indices where index % 2 == 0 {
                    voices[index].frequency *= 1.5
                    voices[index].pan *= -1
                    voices[index].octaves *= 1.2
                }
            }
            let moving = render(renderer, frames: 500, cycles: cycles)
            bank[3].level = 0
            bank[4].center = 5_000
            let second = render(renderer, frames: 1_203, cycles: cycles)
            bank[5].frequency = 700
            let ended = render(renderer, frames: 2_000, cycles: cycles)
            let samples = (0..<2).map { (i: Int) -> [Float] in begun[i] + moving[i] + second[i] + ended[i] }
            if first.isEmpty { first = samples }
            #expect(first == samples)
        }
    }

    @Test("No click: a change is no louder at any other frequency than the tone's own glide")
    func zipper() throws {
        let bank = VoiceBank([VoiceBank.Voice(frequency: 200, level: 0.5, octaves: 2)])
        let renderer = try renderer(bank)
        var samples = render(renderer, frames: 4_800)[0]
        let (step, bend) = Self.steepest(Array(samples.suffix(3_000)))
        bank[0].level = 0.1
        samples += render(renderer, frames: 400)[0]
        bank[0].pan = 1
        samples += render(renderer, frames: 2_000)[0]
        // A step in the level would be a step in the samples; the bend of the way is a thousandth of that.
        let (steps, bends) = Self.steepest(Array(samples.dropFirst(2_000)))
        #expect(steps < 1.1 * step)
        #expect(bends < 2 * bend + 1e-3)
    }

    /// The largest difference between neighbours, and between neighbouring differences.
    private static func steepest(_ samples: [Float]) -> (step: Float, bend: Float) {
        var (step, bend): (Float, Float) = (0, 0)
        for i in 2..<samples.count {
            let (before, after) = (samples[i - 1] - samples[i - 2], samples[i] - samples[i - 1])
            step = max(step, abs(after))
            bend = max(bend, abs(after - before))
        }
        return (step, bend)
    }

    @Test("Changes of one transaction are heard from the same frame on; one that is thrown out of leaves the voices")
    func transactions() throws {
        struct Mistake: Error {}
        let bank = VoiceBank(count: 2, glide: .zero)
        let renderer = try renderer(bank)
        _ = render(renderer, frames: 64)
        try? renderer.transaction {
            bank[0].level = 1
            throw Mistake()
        }
        #expect(bank[0].level == 0)
        #expect(render(renderer, frames: 64)[0].allSatisfy { $0 == 0 })
        renderer.transaction {
            bank[0] = VoiceBank.Voice(frequency: 1_000, level: 1)
            bank[1] = VoiceBank.Voice(frequency: 3_000, level: 1)
        }
        let samples = render(renderer, frames: 640)[0]
        #expect(samples.contains { $0 != 0 })
    }

    @Test("A glide after a reset is that of a new bank, also if the bank was changed late before")
    func glideAfterReset() throws {
        func changed(_ bank: VoiceBank, _ renderer: Renderer) -> [Float] {
            let begun = render(renderer, frames: 100)[0]
            bank[0].frequency = 500
            return begun + render(renderer, frames: 3_000)[0]
        }
        let bank = VoiceBank([VoiceBank.Voice(frequency: 1_000, level: 0.5)])
        let renderer = try renderer(bank)
        _ = render(renderer, frames: 4_800)
        bank[0].frequency = 2_000
        _ = render(renderer, frames: 48_000)
        try renderer.messages.send { context in context.reset(bank) }
        let new = VoiceBank([VoiceBank.Voice(frequency: 2_000, level: 0.5)])
        #expect(changed(bank, renderer) == changed(new, try self.renderer(new)))
    }

    @Test("A level that cannot be heard is silence, not slow arithmetic on denormal numbers")
    func tinyLevels() throws {
        let bank = VoiceBank([VoiceBank.Voice(frequency: 440, level: 1e-37)])
        #expect(render(try renderer(bank), frames: 1_000)[0].allSatisfy { $0 == 0 })
        let faint = VoiceBank([VoiceBank.Voice(frequency: 440, level: 1e-10)])
        #expect(render(try renderer(faint), frames: 1_000)[0].contains { abs($0) > 1e-11 })
    }

    @Test("The closure of a change runs again after another thread's change, also if it has changed the bank itself")
    func nested() {
        let bank = VoiceBank(count: 3)
        var runs = 0
        bank.update { voices in
            runs += 1
            if runs == 1 {
                let isDone = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    bank[1].level = 0.7
                    isDone.signal()
                }
                isDone.wait()
                bank[2].level = 0.9
            }
            voices[0].level = 0.5
        }
        #expect(runs == 2 && bank[0].level == 0.5 && bank[1].level == 0.7)
    }

    @Test("Reset begins anew; silent voices are silent; what is out of range or no number is held")
    func edges() throws {
        let bank = VoiceBank(Self.voices)
        let renderer = try renderer(bank)
        let first = render(renderer, frames: 1_000)
        try renderer.messages.send { context in context.reset(bank) }
        let second = render(renderer, frames: 1_000)
        #expect(first == second)
        let silent = VoiceBank(count: 9)
        #expect(render(try self.renderer(silent), frames: 1_000).allSatisfy { $0.allSatisfy { $0 == 0 } })
        let odd = VoiceBank([
            VoiceBank.Voice(frequency: .nan, level: .infinity, pan: .nan, center: -.infinity, octaves: .nan),
            VoiceBank.Voice(frequency: 1e9, level: 1, pan: 7, center: 1e9, octaves: 1e9),
        ])
        let samples = render(try self.renderer(odd), frames: 4_800)
        #expect(samples.allSatisfy { $0.allSatisfy { $0.isFinite && abs($0) < 10 } })
    }

    @Test("A glide that goes on for minutes is exact: the clock of glides turns back")
    func longGlides() throws {
        let bank = VoiceBank([VoiceBank.Voice(frequency: 100, level: 0.5)], glide: .seconds(20))
        let renderer = try renderer(bank)
        for second in 0..<100 {
            bank[0].level = second % 2 == 0 ? 0.25 : 0.5
            let samples = render(renderer, frames: 48_000, cycles: [4_096])[0]
            #expect(samples.allSatisfy { abs($0) < 0.4 })
        }
        #expect(bank[0].level == 0.5)
    }
}
