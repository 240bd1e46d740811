import Foundation
import RenderStack
import TestSupport
import Testing

/// How true the formants stay, in each way in which they can be kept.
@Suite struct KeptFormantsTests {
    /// A vowel whose pitch changes, and how far Rubber Band is from its envelope: `rubberband-r3 -F` 3.1.2 of Debian, measured as
    /// here.
    struct Row: Sendable, CustomStringConvertible {
        let name: String
        let vowel: Vowel
        let pitch: Double
        let cents: Double
        let rubberBand: Double
        var description: String { "\(name) at \(pitch) Hz, \(cents) cents" }
        var newPitch: Double { pitch * exp2(cents / 1_200) }
    }

    static let rows: [Row] = [
        Row(name: "a", vowel: .a, pitch: 110, cents: 400, rubberBand: 11.5),
        Row(name: "a", vowel: .a, pitch: 110, cents: -400, rubberBand: 3.6),
        Row(name: "a", vowel: .a, pitch: 220, cents: 400, rubberBand: 2.4),
        Row(name: "a", vowel: .a, pitch: 220, cents: -400, rubberBand: 4.3),
        Row(name: "i", vowel: .i, pitch: 110, cents: 400, rubberBand: 23.9),
        Row(name: "i", vowel: .i, pitch: 110, cents: -400, rubberBand: 14),
        Row(name: "i", vowel: .i, pitch: 220, cents: 400, rubberBand: 2.3),
        Row(name: "i", vowel: .i, pitch: 220, cents: -400, rubberBand: 5),
        Row(name: "u", vowel: .u, pitch: 110, cents: 400, rubberBand: 11.9),
        Row(name: "u", vowel: .u, pitch: 110, cents: -400, rubberBand: 6.1),
        Row(name: "u", vowel: .u, pitch: 220, cents: 400, rubberBand: 7.9),
        Row(name: "u", vowel: .u, pitch: 220, cents: -400, rubberBand: 6.2),
    ]

    @Test("A vowel keeps its envelope better than with Rubber Band, in memory and live", arguments: rows)
    func vowels(_ row: Row) throws {
        let sound = row.vowel.sung(row.pitch, frames: 43_200)
        let timePitch = TimePitch(try monoRenderer(TapePlayer(sound)))
        timePitch.pitch.value = Float(row.cents)
        timePitch.keepsFormants.isOn = true
        let player = TapePlayer(sound), shift = PitchShift(cents: Float(row.cents), keepsFormants: true)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(player)
            context.run(shift)
            context.output()
        }
        let heard = [
            AudioBlock([sound]).stretched(cents: row.cents, keepsFormants: true, sampleRate: 48_000).array(0),
            render(try monoRenderer(timePitch), frames: 43_200)[0],
            render(renderer, frames: 43_200)[0],
        ]
        for sound in heard {
            let off = row.vowel.deviation(of: sound[24_000...], pitch: row.newPitch)
            #expect(off < row.rubberBand - 0.5 && off < 2.6)
        }
    }

    @Test("Notes of a chord keep their levels, because their envelope is an average", arguments: [-400.0, 400])
    func chord(_ cents: Double) {
        let notes = [261.63, 329.63, 392, 493.88, 587.33]
        let sound = (0..<40_000).map { frame -> Float in
            Float(notes.reduce(0) { $0 + 0.15 * sin(2 * Double.pi * $1 * (Double(frame) / 48_000 + 1)) })
        }
        let heard = AudioBlock([sound]).stretched(cents: cents, keepsFormants: true, sampleRate: 48_000).array(0)
        for level in levels(of: heard[16_000..<35_200], notes.map { $0 * exp2(cents / 1_200) }) {
            // The highest note lies at the edge of the average.
            #expect(abs(level - 20 * log10(0.15)) < 5)
        }
    }

    @Test("A voice whose third and fourth harmonics stand alone does not get louder by a pole between them")
    func hum() {
        // As in an "n": most other harmonics are 40 dB softer and more.
        var loudness = [Double](repeating: 3e-4, count: 40)
        loudness.replaceSubrange(0..<5, with: [0.08, 0.12, 0.3, 0.38, 0.02])
        loudness.replaceSubrange(16..<18, with: [0.07, 0.1])
        var sound = [Float](repeating: 0, count: 40_000)
        for (k, level) in zip(1..., loudness) {
            let turn = 2 * Double.pi * 110 * Double(k) / 48_000
            for frame in sound.indices { sound[frame] += Float(level * sin(turn * Double(frame) + Double(k * k))) }
        }
        let heard = AudioBlock([sound]).stretched(cents: 300, keepsFormants: true, sampleRate: 48_000).array(0)
        func power(_ sound: [Float]) -> Double { sound[16_000..<36_000].reduce(0) { $0 + Double($1) * Double($1) } }
        #expect(power(heard) < 4 * power(sound))
    }

    @Test("Cycles of any length give the same bits of a vowel", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        let sound = Vowel.u.sung(220, frames: 20_000)
        func run(_ lengths: [Int]) throws -> [Float] {
            let (player, shift) = (TapePlayer(sound), PitchShift(cents: -400, keepsFormants: true))
            let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
                context.run(player)
                context.run(shift)
                context.output()
            }
            return render(renderer, frames: 20_000, cycles: lengths)[0]
        }
        let heard = try run([333])
        #expect(try run(lengths) == heard && heard.contains { abs($0) > 0.1 })
    }

    @Test("Samples that are not numbers in a vowel are over after some blocks, and a reset forgets them")
    func notNumbers() throws {
        var stretch = TimeStretch(sampleRate: 48_000, channels: 1)
        let settings = TimeStretch.Settings(cents: 400, keepsFormants: true)
        func heard(_ sound: [Float]) -> [Float] {
            stretch.reset()
            return stretch.stretched(AudioBlock([sound]), settings, frames: 40_000).array(0)
        }
        let sound = Vowel.i.sung(220, frames: 40_000)
        let clean = heard(sound)
        var spoilt = sound
        spoilt.replaceSubrange(5_000..<5_005, with: [.nan, .infinity, -.infinity, 1e30, .leastNonzeroMagnitude])
        let after = heard(spoilt)[20_800...]
        #expect(Vowel.i.deviation(of: after, pitch: 220 * exp2(400.0 / 1_200)) < 2.6)
        #expect(heard(sound) == clean)
    }
}
