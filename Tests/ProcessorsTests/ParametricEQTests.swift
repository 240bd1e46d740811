import Foundation
import RenderStack
import TestSupport
import Testing

/// Bands that change their shape or leave the row while they play, and the gain of all.
@Suite struct ParametricEQTests {
    private static let changes: [(FilterShape, FilterShape)] = [
        (.lowPass, .highPass), (.notch, .lowPass), (.bandpass, .allPass), (.highPass, .bandpass),
    ]

    private func equaliser(_ shape: FilterShape) -> ParametricEQ {
        var setting = ParametricEQ.Setting.bell(900, q: 2, decibels: 9)
        setting.shape = shape
        return ParametricEQ([setting])
    }

    /// The smooth step, with no slope and no bend at its ends.
    private func step(_ t: Double) -> Double { t >= 1 ? 1 : pow(t, 3) * (10 - 15 * t + 6 * t * t) }

    @Test("Filters with the same poles are cross-faded for 960 frames at 48 kHz", arguments: changes)
    func crossFade(old: FilterShape, new: FilterShape) throws {
        let input = [noise(6_000), noise(6_000, seed: 4)]
        let (before, after) = (try play(input, through: equaliser(old)), try play(input, through: equaliser(new)))
        let eq = equaliser(old)
        let renderer = try renderer(input, through: eq)
        try renderer.transaction(at: .sample(2_001)) { eq.bands[0].shape = new }
        let output = render(renderer, frames: 6_000)
        for channel in 0..<2 {
            let expected = input[channel].indices.map { frame in
                let part = step(Double(frame - 2_001) / 960)
                let (a, b) = (Double(before[channel][frame]), Double(after[channel][frame]))
                return frame < 2_001 ? before[channel][frame] : Float(a + part * (b - a))
            }
            #expect(largestDifference(output[channel], expected) < 1e-6)
        }
        #expect(eq.bands[0].shape == new)
    }

    /// The greatest bend of a curve: what makes a click audible.
    private func bend(_ samples: [Float]) -> Float {
        (1..<samples.count - 1).map { abs(samples[$0 - 1] - 2 * samples[$0] + samples[$0 + 1]) }.max() ?? 0
    }

    @Test("From each shape to each other one there is no click") func noClick() throws {
        for old in FilterShape.allCases {
            for new in FilterShape.allCases {
                let eq = equaliser(old)
                let renderer = try renderer([sine(9_600, frequency: 100)], through: eq)
                try renderer.transaction(at: .sample(4_000)) { eq.bands[0].shape = new }
                let output = render(renderer, frames: 9_600)[0]
                // The tone itself bends by 8.6e-5 a frame, 9 dB louder by 2.4e-4. A jump to the new shape makes 0.01…0.9.
                #expect(bend(Array(output[3_500...])) < 4e-4, "\(old) to \(new)")
                let settled = try play([sine(9_600, frequency: 100)], through: equaliser(new))[0]
                #expect(largestDifference(Array(output[8_000...]), Array(settled[8_000...])) < 1e-6, "\(old) to \(new)")
            }
        }
    }

    /// Shapes, bypasses and gains that change at odd times, one shape before the last one has come.
    private func performance(cycles: [Int]) throws -> [[Float]] {
        let eq = ParametricEQ([.bell(700, decibels: 6), .lowPass(9_000), .highShelf(3_000, decibels: -4)])
        let renderer = try renderer([noise(24_000), noise(24_000, seed: 2)], through: eq)
        let moves: [(Int64, @Sendable () -> Void)] = [
            (1_001, { eq.bands[0].shape = .lowShelf }), (1_500, { eq.bands[0].shape = .notch }),
            (1_700, { eq.bands[0].shape = .highPass }), (3_333, { eq.bands[1].bypass.isOn = true }),
            (5_000, { eq.bands[1].shape = .allPass }), (5_700, { eq.bands[1].bypass.isOn = false }),
            (7_001, { eq.gain.value = 12 }), (7_400, { eq.mix.value = 0.3 }),
            (9_000, { eq.bands[2].shape = .bandpass }), (9_100, { eq.bands[2].center.value = 500 }),
            (12_000, { eq.bands[2].bypass.isOn = true }),
            (12_300, { eq.bands[2].bypass.isOn = false }), (14_000, { eq.gain.value = -96 }),
        ]
        for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
        return render(renderer, frames: 24_000, cycles: cycles)
    }

    @Test("The length of the cycles changes nothing, bit for bit, while shapes and bypasses change")
    func cycles() throws {
        let reference = try performance(cycles: [512])
        for cycles in cycleLengths { #expect(try performance(cycles: cycles) == reference, "\(cycles)") }
    }

    @Test("A bypassed band leaves the sound and the bands beside it as they are, bit for bit") func bypass() throws {
        let input = [noise(9_600), noise(9_600, seed: 3)]
        let alone = try play(input, through: ParametricEQ([.lowShelf(200, decibels: 9)]))
        // A bell of 0 dB is in the row, and leaves it while the other band sounds.
        let eq = ParametricEQ([.bell(1_000), .lowShelf(200, decibels: 9)])
        let renderer = try renderer(input, through: eq)
        try renderer.transaction(at: .sample(1_000)) { eq.bands[0].bypass.isOn = true }
        try renderer.transaction(at: .sample(5_000)) { eq.bands[0].bypass.isOn = false }
        #expect(render(renderer, frames: 9_600) == alone)
        // All bands leave it.
        let other = ParametricEQ([.lowPass(300), .notch(2_000)])
        let second = try ProcessorsTests.renderer(input, through: other)
        try second.transaction(at: .sample(1_000)) { for i in 0..<2 { other.bands[i].bypass.isOn = true } }
        let output = render(second, frames: 9_600)
        #expect(output[0][..<1_900] != input[0][..<1_900])
        #expect(output.map { Array($0[1_960...]) } == input.map { Array($0[1_960...]) })
    }

    @Test("A band that was bypassed comes back from silence, with the shape that it has then") func comesBack() throws {
        let input = noise(2_000) + [Float](repeating: 0, count: 4_000) + noise(4_000)
        let eq = ParametricEQ([.bandpass(100, q: 9)])
        let renderer = try renderer([input], through: eq)
        try renderer.transaction(at: .sample(1_990)) { eq.bands[0].bypass.isOn = true }
        try renderer.transaction(at: .sample(4_000)) {
            eq.bands[0].shape = .highPass
            eq.bands[0].bypass.isOn = false
        }
        let output = render(renderer, frames: 10_000)[0]
        #expect(output[2_950..<6_000].allSatisfy { $0 == 0 })
        let expected = try play([Array(input[6_000...])], through: ParametricEQ([.highPass(100, q: 9)]))[0]
        #expect(Array(output[6_000...]) == expected)
    }

    @Test("The gain of all: 0 dB is transparent, -96…24 dB are what they say, and a mix of 0 has none") func gain()
        throws
    {
        let input = [noise(4_800)]
        let eq = ParametricEQ([.bell(1_000)], gain: 99)
        #expect(eq.gain.value == 24)
        eq.gain.value = 0
        #expect(try play(input, through: eq) == input)
        for decibels: Float in [-96, -6, 24] {
            let factor = pow(10, decibels / 20)
            let output = try play(input, through: ParametricEQ([.bell(1_000)], gain: decibels))[0]
            #expect(largestDifference(output, input[0].map { $0 * factor }) < 1e-6 * factor)
        }
        #expect(try play(input, through: ParametricEQ([.bell(1_000)], gain: 12, mix: 0)) == input)
        let half = try play(input, through: ParametricEQ([.bell(1_000)], gain: 20, mix: 0.5))[0]
        #expect(largestDifference(half, input[0].map { 5.5 * $0 }) < 1e-5)
    }

    @Test("The gain of all moves for 20 ms, from its lowest value to its highest, without a click") func gainGlides()
        throws
    {
        let eq = ParametricEQ([.bell(1_000)], gain: -96)
        let renderer = try renderer([sine(9_600, frequency: 100)], through: eq)
        try renderer.transaction(at: .sample(2_000)) { eq.gain.value = 0 }
        let output = render(renderer, frames: 9_600)[0]
        #expect(Array(output[2_960...]) == Array(sine(9_600, frequency: 100)[2_960...]))
        // The tone bends by 8.6e-5; a jump makes 0.1.
        #expect(bend(output) < 4e-4)
    }
}
