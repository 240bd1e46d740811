import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite struct ReverbTests {
    @Test("It keeps the contract", arguments: Reverb.Quality.allCases) func contract(quality: Reverb.Quality) {
        let contract = ModuleContract(tail: .seconds(2)) { () -> Reverb in
            let reverb = Reverb(.smallRoom, mix: 0.5, quality: quality)
            reverb.decay.value = 0.3
            return reverb
        }
        .transparent { $0.mix.value = 0 }
        .leavingOut(parameters: "modulationRate", because: "a slower turn is hardly another sound at first")
        #expect(contract.violations() == [])
    }

    @Test("Echoes are dense within 40 ms", arguments: Reverb.Quality.allCases) func density(quality: Reverb.Quality)
        throws
    {
        for early: Float in [0, 0.35] {
            for isMono in [false, true] {
                let reverb = Reverb(mix: 1, quality: quality)
                (reverb.preDelay.value, reverb.early.value) = (0, early)
                let heard = try answer(reverb, seconds: 0.3, isMono: isMono)
                for channel in 0..<2 {
                    let time = mixingTime(heard[channel])
                    #expect(time <= 0.04)
                }
            }
        }
    }

    @Test("All frequencies decay alike when they should", arguments: [0.3, 1, 3, 8, 20])
    func equalDecays(decay: Double) throws {
        for quality in Reverb.Quality.allCases {
            let seconds = decay < 2 ? 1.2 * decay + 0.3 : 0.7 * decay + 1
            let heard = try answers(
                of: { Reverb(evenRoom(decay: Float(decay)), mix: 1, quality: quality) },
                seconds: seconds, count: decay < 0.5 ? 16 : decay < 2 ? 6 : 2)
            for octave in 0..<7 {
                let frequency = 125 * pow(2, Double(octave))
                let found = decayTime(heard.map { band($0, frequency, q: 1.41, times: 2) }, to: decay < 2 ? -55 : -30)
                #expect(abs(found / decay - 1) < 0.05, "\(quality), \(frequency) Hz: \(found) s")
            }
        }
    }

    @Test("Frequencies decay as the curve says", arguments: Reverb.Preset.all) func decayCurve(preset: Reverb.Preset)
        throws
    {
        var preset = preset
        (preset.preDelay, preset.early) = (0, 0)
        let heard = try answers(
            of: { Reverb(preset, mix: 1) }, seconds: 1.1 * Double(preset.decay) + 0.3,
            count: preset.decay < 1 ? 16 : preset.decay < 2.5 ? 8 : 3)
        for octave in 0..<7 {
            let frequency = 125 * pow(2, Double(octave))
            let wanted = Reverb(preset).decayTime(at: frequency)
            let found = decayTime(heard.map { band($0, frequency, q: 4, times: 4) })
            #expect(abs(found / wanted - 1) < 0.05, "\(frequency) Hz: \(found) s in place of \(wanted) s")
        }
    }

    @Test("Left and right have hardly anything in common", arguments: Reverb.Quality.allCases)
    func correlation(quality: Reverb.Quality) throws {
        for isMono in [false, true] {
            let heard = try answer(Reverb(mix: 1, quality: quality), seconds: 2, isMono: isMono)
            let (left, right) = (heard[0], heard[1])
            var product = 0.0
            for i in left.indices { product += Double(left[i]) * Double(right[i]) }
            let found: Double = product / (energy(left[...]) * energy(right[...])).squareRoot()
            #expect(abs(found) < 0.2)
            let narrow = Reverb(mix: 1, quality: quality)
            narrow.width.value = 0
            let mono = try answer(narrow, seconds: 0.3, isMono: isMono)
            #expect(mono[0] == mono[1])
        }
    }

    @Test("The late part is even in third octaves") func evenness() throws {
        let heard = try answer(Reverb(evenRoom(decay: 8), mix: 1), seconds: 3)
        let late = heard.map { Array($0[9_600...]) }
        let levels = (-9...9).map { third -> Double in
            let frequency = 1_000 * pow(2, Double(third) / 3)
            var sum = 0.0
            for channel in late { for value in band(channel, frequency, q: 8, times: 2) { sum += value * value } }
            return 10 * log10(sum / frequency)
        }
        let mean = 10 * log10(levels.reduce(0) { $0 + pow(10, $1 / 10) } / Double(levels.count))
        for level in levels { #expect(abs(level - mean) < 3) }
    }

    @Test("Frozen, it stays as it is", arguments: Reverb.Quality.allCases) func frozen(quality: Reverb.Quality) throws {
        let reverb = Reverb(mix: 1, quality: quality)
        let renderer = try roomRenderer([chance(48_000), chance(48_000, seed: 2)], reverb)
        _ = render(renderer, frames: 48_000, cycles: [4_096])
        reverb.freeze.isOn = true
        _ = render(renderer, frames: 48_000, cycles: [4_096])
        var levels: [Double] = []
        // scripts/soak lets it stay for an hour.
        let isSoak = ProcessInfo.processInfo.environment["RENDERSTACK_SOAK"] != nil
        for _ in 0..<(isSoak ? 900 : 10) {
            let heard = render(renderer, frames: 4 * 48_000, cycles: [4_096])
            levels.append(10 * log10(energy(heard[0][...]) + energy(heard[1][...])))
        }
        for level in levels { #expect(abs(level - levels[0]) < 0.1) }
        // It lets go again, and ends in zeros.
        reverb.freeze.isOn = false
        let rest = render(renderer, frames: 12 * 48_000, cycles: [4_096])
        #expect(rest[0].suffix(48_000).allSatisfy { $0 == 0 })
        #expect(rest[1].suffix(48_000).allSatisfy { $0 == 0 })
    }

    @Test("Its energy never grows once nothing comes in", arguments: Reverb.Preset.all + [evenRoom(decay: 20)])
    func neverGrows(preset: Reverb.Preset) throws {
        // Strokes of a drum.
        var strokes = chance(24_000, seed: 5)
        for i in strokes.indices { strokes[i] *= exp(-Float(i % 8_000) / 800) }
        let impulse: [Float] = [1]
        for input in [strokes, impulse] {
            let reverb = Reverb(preset, mix: 1)
            let seconds = 0.5 + min(Double(preset.decay), 6)
            let heard = try room([input, input], reverb, seconds: seconds)
            let silent = input.count + Int((preset.preDelay + 2.3 * preset.size / 343 + 0.05) * 48_000)
            var before = Double.infinity
            for start in stride(from: silent, to: heard[0].count - 9_600, by: 2_400) {
                let window = start..<start + 9_600
                let found: Double = energy(heard[0][window]) + energy(heard[1][window])
                #expect(found <= before, "\(preset.name) at frame \(start)")
                before = found
            }
        }
    }

    @Test("The size moves without a click") func sizeSweep() throws {
        let input = (0..<240_000).map { Float(0.3 * sin(2 * Double.pi * 220 * Double($0) / 48_000)) }
        let reverb = Reverb(evenRoom(decay: 1.5, modulation: 0), mix: 1)
        let renderer = try roomRenderer([input, input], reverb)
        _ = render(renderer, frames: 96_000, cycles: [480])
        var heard: [Float] = []
        for step in 0..<200 {
            reverb.size.value = 11.3 + 10 * sin(Float(step) / 20)
            reverb.preDelay.value = 0.05 + 0.04 * cos(Float(step) / 15)
            heard += render(renderer, frames: 480, cycles: [480])[0]
        }
        let above = band(heard, 8_000, q: 1, times: 3).dropFirst(480)
        let ratio: Double = 10 * log10(above.reduce(0) { $0 + $1 * $1 } / energy(heard[...]))
        let peak: Double = 20 * log10(above.reduce(0) { max($0, abs($1)) } / Double(heard.map(abs).max()!))
        #expect(ratio < -70 && peak < -60)
    }

    @Test(
        "Cycles of any length give the same bits, also where the sound has all but died away",
        arguments: Reverb.Quality.allCases)
    func cycles(quality: Reverb.Quality) throws {
        // Filters whose states are tiny in a room of which only the bass is left.
        var input = [chance(48_000), chance(48_000, seed: 2)]
        for channel in 0..<2 { for i in 4_000..<48_000 { input[channel][i] *= 1e-9 } }
        func heard(_ cycles: [Int]) throws -> [[Float]] {
            let reverb = Reverb(.mediumHall, mix: 0.5, quality: quality)
            return try room(input, reverb, seconds: 1, cycles: cycles)
        }
        let expected = try heard([512])
        for cycles in [[1], [100], [1_000], [3, 500, 1, 64, 2_000, 17]] { #expect(try heard(cycles) == expected) }
    }

    @Test(
        "A room that grows has no click, however far its walls go",
        arguments: [(11.3, 20), (2, 45), (20, 8)] as [(Float, Float)])
    func growth(from: Float, to: Float) throws {
        let input = (0..<96_000).map { Float(0.5 * sin(2 * Double.pi * 150 * Double($0) / 48_000)) }
        let reverb = Reverb(evenRoom(decay: 1, size: from, modulation: 0), mix: 1)
        let renderer = try roomRenderer([input, input], reverb)
        try renderer.transaction(at: .sample(60_000)) { reverb.size.value = to }
        let heard = render(renderer, frames: 96_000, cycles: [512])[0]
        let moving = Sweep.highEnergy(heard, from: 57_000)
        #expect(moving < -75, "\(moving) dB")
    }

    @Test("Every number of channels has its reverberation, up to eight") func channels() throws {
        for count in [1, 2, 3, 5, 8, 10] {
            let reverb = Reverb(mix: 1)
            let heard = try room((0..<count).map { chance(4_800, seed: UInt64($0 + 1)) }, reverb, seconds: 1)
            let channels = max(2, count)
            #expect(heard.count == channels)
            let reference = energy(heard[0][...])
            for channel in 0..<min(channels, 8) {
                let found: Double = energy(heard[channel][...])
                #expect(found > reference / 3 && found < reference * 3, "channel \(channel) of \(count)")
            }
            for channel in 8..<max(8, count) {
                #expect(
                    heard[channel] == chance(4_800, seed: UInt64(channel + 1)) + [Float](repeating: 0, count: 43_200))
            }
        }
        // A stack of one channel stays mono.
        let mono = try room([chance(4_800)], Reverb(mix: 1), seconds: 0.5, channels: 1)
        #expect(mono.count == 1 && energy(mono[0][...]) > 1)
    }

    @Test("All decays are as loud") func loudness() throws {
        for decay: Float in [0.4, 1, 4, 20] {
            let reverb = Reverb(evenRoom(decay: decay), mix: 1)
            let noise = [chance(480_000), chance(480_000, seed: 2)]
            let heard = try room(noise, reverb, seconds: Double(decay) < 4 ? 4 : 10)
            let part = heard[0].count / 2
            let found: Double = 10 * log10(energy(heard[0].suffix(part)) / energy(noise[0].prefix(part)))
            #expect(abs(found) < 3)
        }
    }

    @Test("Hostile settings and sounds stay bounded, and the same in cycles of any length") func hostile() throws {
        for rate in [1.0, 100, 8_000, 44_100, 192_000, 1e6] {
            var first: [[Float]] = []
            for cycles in [[512], [1, 7, 64, 65, 4_000]] {
                let reverb = Reverb(.cathedral, mix: 1, quality: .standard)
                let frames = 20_000
                var input = chance(8_000, level: 1_000)
                input[5] = 0x1p-130
                input[6] = 3e38
                let renderer = try roomRenderer([input], reverb, sampleRate: rate)
                var heard = [[Float]](repeating: [], count: 2)
                for step in 0..<5 {
                    reverb.size.value = step.isMultiple(of: 2) ? 2 : 45
                    reverb.decay.value = step.isMultiple(of: 2) ? 0.1 : 60
                    reverb.lowRatio.value = step < 2 ? 4 : 0.1
                    reverb.highRatio.value = step < 3 ? 0.05 : 2
                    reverb.lowCrossover.value = 1_000
                    reverb.highCrossover.value = 1_000
                    reverb.modulationRate.value = 3
                    reverb.modulation.value = 1
                    reverb.diffusion.value = 1
                    reverb.preDelay.value = step.isMultiple(of: 2) ? 0 : 0.5
                    reverb.freeze.isOn = step == 3
                    let part = render(renderer, frames: frames / 5, cycles: cycles)
                    for channel in 0..<2 { heard[channel] += part[channel] }
                }
                #expect(heard.allSatisfy { $0.allSatisfy { $0.isFinite && abs($0) < 1e5 } }, "at \(rate) Hz")
                if first.isEmpty { first = heard } else { #expect(first == heard, "at \(rate) Hz") }
            }
        }
    }
}
