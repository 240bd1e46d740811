import Foundation
import RenderStack
import TestSupport
import Testing

/// Filters whose settings move quickly.
@Suite struct FilterModulationTests {
    /// Numbers from 0 to 1, always the same.
    private struct Dice {
        var state: UInt64
        mutating func next() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(state &>> 11) / 0x1p53
        }
    }

    @Test("Other coefficients in every frame: what rings never grows", arguments: [FilterShape.lowPass, .bandpass])
    func everyFrame(shape: FilterShape) {
        for seed in 1...40 {
            var dice = Dice(state: UInt64(seed))
            var memory = FilterMemory()
            var largest: Float = 0
            for i in 0..<2_000 {
                let coefficients = FilterCoefficients(
                    shape, frequency: 10 * pow(2_352, dice.next()),
                    q: shape == .bandpass ? 0.5 : pow(10, 3 * dice.next() - 1),
                    sampleRate: 48_000)
                largest = max(largest, abs(memory.next(i == 0 ? 1 : 0, coefficients)))
            }
            // An impulse leaves u ≤ 1 and w ≤ 2 behind; from then on the length of (u, w) can only fall.
            #expect(largest <= 2.24)
        }
    }

    @Test("Any setting at any time: bounded, and quiet afterwards", arguments: Subject.Kind.allCases)
    func jumps(kind: Subject.Kind) throws {
        var dice = Dice(state: 5)
        let subject = Subject(kind)
        let renderer = try renderer([noise(24_000)], through: subject.effect)
        var output: [Float] = []
        while output.count < 24_000 {
            subject.frequency(Float(10 * pow(2_352, dice.next())))
            if dice.next() < 0.2 { subject.width(Float(60 * dice.next() - 20)) }
            output += render(renderer, frames: 1 + Int(30 * dice.next()))[0]
        }
        subject.frequency(1_000)
        subject.width(1)
        #expect(output.allSatisfy { abs($0) < 100 })
        let rest = render(renderer, frames: 96_000)[0]
        #expect(rest[90_000...].allSatisfy { $0 == 0 })
    }

    @Test("Each channel sounds as it would alone, whenever a setting moves", arguments: [1, 2, 3, 4, 5, 8])
    func channels(count: Int) throws {
        // A frame at which a block of eight is complete, and one in its middle.
        for frame in [2_048, 2_051] {
            func heard(_ channels: Int) throws -> [[Float]] {
                let filter = AllPass(q: 0.1)
                let renderer = try renderer(Array(repeating: noise(8_192), count: channels), through: filter)
                for (number, q) in ([5, 0.3, 2] as [Float]).enumerated() {
                    try renderer.transaction(at: .sample(Int64(frame + 2_048 * number))) { filter.q.value = q }
                }
                return render(renderer, frames: 8_192)
            }
            let alone = try heard(1)[0]
            for (channel, sound) in try heard(count).enumerated() {
                #expect(largestDifference(sound, alone) < 1e-6, "channel \(channel), a change at frame \(frame)")
            }
        }
    }

    /// The greatest bend of a curve: what makes a click audible.
    private func bend(_ samples: some RandomAccessCollection<Float>) -> Float {
        let samples = Array(samples)
        return (1..<samples.count - 1).map { abs(samples[$0 - 1] - 2 * samples[$0] + samples[$0 + 1]) }.max() ?? 0
    }

    @Test("The whole range in 20 ms, up and down: no click", arguments: Subject.Kind.allCases)
    func sweep(kind: Subject.Kind) throws {
        let subject = Subject(kind)
        subject.frequency(20)
        let tone = sine(24_000, frequency: 100, level: 0.5)
        let renderer = try renderer([tone], through: subject.effect)
        for i in 0..<8 {
            try renderer.transaction(at: .sample(Int64(4_000 + 1_501 * i))) {
                subject.frequency(i % 2 == 0 ? 20_000 : 20)
            }
        }
        let output = render(renderer, frames: 24_000)[0]
        // The tone itself bends by 8.6e-5 a frame. Without glides this is 0.13…0.6.
        #expect(bend(output[3_000...]) < 1.5e-3)
    }

    @Test("Gain, width and mix from end to end: no click", arguments: Subject.Kind.allCases)
    func settings(kind: Subject.Kind) throws {
        let subject = Subject(kind)
        subject.frequency(200)
        let renderer = try renderer([sine(24_000, frequency: 100, level: 0.5)], through: subject.effect)
        for i in 0..<6 {
            try renderer.transaction(at: .sample(Int64(4_000 + 1_501 * i))) { subject.width(i % 2 == 0 ? 12 : 0.1) }
            try renderer.transaction(at: .sample(Int64(14_000 + 1_501 * i))) { subject.mix(i % 2 == 0 ? 0 : 1) }
        }
        let output = render(renderer, frames: 24_000)[0]
        // Without glides this is 0.28…11.
        #expect(bend(output[3_000...]) < 6e-3)
    }

    @Test("Steered by control code in every cycle: no tone of the cycles", arguments: Subject.Kind.allCases)
    func zipper(kind: Subject.Kind) throws {
        let subject = Subject(kind)
        let renderer = try renderer([sine(96_000, frequency: 100)], through: subject.effect)
        var output: [Float] = []
        for cycle in 0..<1_500 {
            let swing = sin(2 * .pi * Double(cycle) / 1_000)
            subject.frequency(Float(200 * pow(4, swing)))
            subject.width(Float(3 + 2 * swing))
            output += render(renderer, frames: 64)[0]
        }
        let end = Array(output[24_000...])
        // 750 cycles a second: their tone, beside and on the harmonics.
        // Without glides it is -89…-75 dB.
        let worst = [650.0, 750, 850, 1_400, 1_500, 2_250, 3_000].map { level(end, frequency: $0) }.max() ?? 0
        #expect(worst < -120)
    }
}
