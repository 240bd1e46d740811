import RenderStack
import TestSupport
import Testing

@Suite struct FaderTests {
    @Test("At 1 and in the middle nothing changes, bit for bit; silence stays silent") func identity() throws {
        let input = [noise(700), noise(700, seed: 2)]
        #expect(try play(input, through: Fader()) == input)
        #expect(try play([input[0]], through: Fader()) == [input[0]])
        let nothing = [[Float](repeating: 0, count: 700)]
        #expect(try play(nothing, through: Fader(volume: 3, balance: 0.5), channels: 2) == nothing + nothing)
    }

    @Test("Volume and balance together, on any number of channels") func known() throws {
        let input = [noise(700), noise(700, seed: 2)]
        let output = try play(input, through: Fader(volume: 0.5, balance: -0.5))
        #expect(output[0] == input[0].map { $0 * 0.5 })
        #expect(output[1] == input[1].map { $0 * 0.25 })
        let wide = try play(input + input, through: Fader(volume: 0.25))
        let quarters = (input + input).map { channel in channel.map { $0 * 0.25 } }
        #expect(wide == quarters)
    }

    @Test("Decibels and the travel of a fader") func levels() {
        let fader = Fader(decibels: -6.0206)
        #expect(abs(fader.volume.value - 0.5) < 1e-5)
        fader.decibels = -.infinity
        #expect(fader.volume.value == 0)
        fader.position = 0.8
        #expect(abs(fader.decibels) < 1e-5)
        fader.position = 0
        #expect(fader.volume.value == 0 && fader.position == 0)
        fader.decibels = 99
        #expect(fader.volume.value == 4)
    }

    @Test("Volume and mute glide in a straight line, in cycles of any length", arguments: cycleLengths)
    func glide(cycles: [Int]) throws {
        let fader = Fader()
        let renderer = try renderer([[Float](repeating: 1, count: 4_000)], through: fader)
        try renderer.transaction(at: .sample(100)) { fader.volume.value = 0.5 }
        try renderer.transaction(at: .sample(1_000)) { fader.isMuted = true }
        try renderer.transaction(at: .sample(2_000)) { fader.isMuted = false }
        let output = render(renderer, frames: 4_000, cycles: cycles)[0]
        for i in 0..<4_000 {
            let volume = 1 - 0.5 * Float(min(max(i - 100, 0), 480)) / 480
            let open = i < 2_000 ? 1 - Float(min(max(i - 1_000, 0), 240)) / 240 : Float(min(i - 2_000, 240)) / 240
            #expect(abs(output[i] - volume * open) < 1e-6)
        }
        #expect(output[1_240...2_000].allSatisfy { $0 == 0 })
        #expect(!fader.isMuted)
    }
}
