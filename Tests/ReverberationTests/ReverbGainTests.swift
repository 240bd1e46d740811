import Foundation
import RenderStack
import TestSupport
import Testing

/// The gain of the reverberation, and the seed of its early reflections.
@Suite struct ReverbGainTests {
    private func sound(_ reverb: Reverb, frames: Int = 24_000) throws -> [[Float]] {
        let block = try play([impulse, impulse], through: reverb, frames: frames)
        return [block.array(0), block.array(1)]
    }

    private var impulse: [Float] { [1] + [Float](repeating: 0, count: 23_999) }

    @Test("The gain makes the reverberation alone louder, by as many decibels as it says") func gain() throws {
        let (dry, wet) = (try sound(Reverb(mix: 0)), try sound(Reverb(mix: 1)))
        for decibels: Float in [-20, 6, 20] {
            let reverb = Reverb(mix: 0.4)
            reverb.gain.value = decibels
            let factor = 0.4 * pow(10, Double(decibels) / 20)
            for (channel, samples) in try sound(reverb).enumerated() {
                let expected = samples.indices.map {
                    Float(0.6 * Double(dry[channel][$0]) + factor * Double(wet[channel][$0]))
                }
                #expect(largestDifference(samples, expected) < 1e-6, "\(decibels) dB")
            }
        }
        let loud = Reverb()
        loud.gain.value = 99
        #expect(loud.gain.value == 20)
        loud.mix.value = 0
        #expect(try sound(loud) == dry)
    }

    @Test("Each seed has reflections of its own, which repeat; the reverberation behind them stays") func seeds() throws
    {
        func early(_ seed: Float) throws -> [[Float]] {
            let reverb = Reverb(.mediumHall, mix: 1)
            (reverb.early.value, reverb.diffusion.value, reverb.reflectionSeed.value) = (1, 0, seed)
            return try sound(reverb, frames: 6_000)
        }
        let sounds = try [0, 1, 2, 3, 999].map { try early($0) }
        #expect(Set(sounds).count == 5)
        #expect(try early(2) == sounds[2])
        // The energy of the reflections does not depend on the seed; the network answers later.
        let energies = sounds.map { $0[0].reduce(0.0) { $0 + Double($1 * $1) } }
        for energy in energies { #expect(abs(10 * log10(energy / energies[0])) < 1.5) }
        func late(_ seed: Float) throws -> [[Float]] {
            let reverb = Reverb(.mediumHall, mix: 1)
            (reverb.early.value, reverb.reflectionSeed.value) = (0, seed)
            return try sound(reverb)
        }
        #expect(try late(0) == late(7))
    }

    @Test("Another seed fades in, also at the same time as another size, in cycles of any length") func changes() throws
    {
        func performance(_ cycle: Int) throws -> [[Float]] {
            let reverb = Reverb(.smallRoom, mix: 1)
            reverb.early.value = 1
            let tone = (0..<24_000).map { Float(0.5 * sin(2 * Double.pi * 100 * Double($0) / 48_000)) }
            let source = Playback([tone, tone])
            let renderer = try Renderer(channels: 2, layout: StackLayout(slots: 8, channels: 2, frames: 4_096)) {
                context in
                context.run(source)
                context.run(reverb)
                context.output()
            }
            try renderer.transaction(at: .sample(10_001)) { reverb.reflectionSeed.value = 5 }
            try renderer.transaction(at: .sample(12_000)) { reverb.reflectionSeed.value = 6 }
            try renderer.transaction(at: .sample(18_003)) { (reverb.gain.value, reverb.size.value) = (-20, 8) }
            try renderer.transaction(at: .sample(21_000)) { reverb.gain.value = 20 }
            return render(renderer, frames: 24_000, cycles: [cycle])
        }
        let reference = try performance(512)
        for cycle in [1, 64, 100, 4_096] { #expect(try performance(cycle) == reference, "\(cycle)") }
        let heard = Array(reference[0][9_000..<18_000])
        var bend: Float = 0
        for i in 1..<heard.count - 1 { bend = max(bend, abs(heard[i - 1] - 2 * heard[i] + heard[i + 1])) }
        // The tone itself, some three times as loud, bends by 3e-4; a jump makes 0.1.
        #expect(bend < 2e-3, "\(bend)")
    }
}
