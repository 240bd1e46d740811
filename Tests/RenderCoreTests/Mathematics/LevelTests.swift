import Glibc
import RenderCore
import Testing

/// Decibels, the fader, notes and cents.
@Suite struct LevelTests {
    /// Of a fader's position after a way there and back.
    static let positionTolerance: Float = 2e-7
    /// In ulp.
    static let pitchBound = 0.502

    @Test("Known levels")
    func knownLevels() {
        #expect(RenderMath.amplitude(decibels: 0 as Float) == 1)
        #expect(RenderMath.amplitude(decibels: 20 as Float) == 10)
        #expect(RenderMath.amplitude(decibels: -40 as Float) == 0.01)
        #expect(RenderMath.amplitude(decibels: -Float.infinity) == 0)
        #expect(RenderMath.decibels(amplitude: 1 as Float) == 0)
        #expect(RenderMath.decibels(amplitude: 0.1 as Float) == -20)
        #expect(RenderMath.decibels(amplitude: 0 as Float) == -.infinity)
        #expect(RenderMath.decibels(amplitude: -0.5 as Float).isNaN)
    }

    @Test("The clipped forms end at the floor")
    func floor() {
        #expect(RenderMath.decibels(amplitude: 0, floor: -96) == -96)
        #expect(RenderMath.decibels(amplitude: 1e-6, floor: -96) == -96)
        #expect(RenderMath.decibels(amplitude: 0.1, floor: -96) == -20)
        #expect(RenderMath.decibels(amplitude: .nan, floor: -96).isNaN)
        #expect(RenderMath.amplitude(decibels: -96, floor: -96) == 0)
        #expect(RenderMath.amplitude(decibels: -200, floor: -96) == 0)
        #expect(RenderMath.amplitude(decibels: -95.9, floor: -96) == RenderMath.amplitude(decibels: -95.9 as Float))
        #expect(RenderMath.amplitude(decibels: .nan, floor: -96).isNaN)
    }

    @Test("The fader's corners")
    func faderCorners() {
        let level = { (position: Float) in
            RenderMath.decibels(faderPosition: position, minimum: -80, middle: -30, maximum: 12)
        }
        #expect(level(0) == -.infinity && level(-1) == -.infinity)
        #expect(level(0.2) == -30)
        #expect(level(0.8) == 0)
        #expect(level(1) == 12 && level(2) == 12)
        #expect(abs(level(0.1) - -55) < 1e-4)
        #expect(abs(level(0.5) - -15) < 1e-5)
        #expect(abs(level(0.9) - 6) < 1e-5)
        #expect(abs(level(1e-6) - -80) < 1e-3)
        #expect(level(.nan).isNaN)
        let position = { (decibels: Float) in
            RenderMath.faderPosition(decibels: decibels, minimum: -80, middle: -30, maximum: 12)
        }
        #expect(position(-.infinity) == 0 && position(-80) == 0 && position(-90) == 0)
        #expect(position(-30) == 0.2 && position(0) == 0.8 && position(12) == 1 && position(40) == 1)
        #expect(position(.nan).isNaN)
    }

    @Test("There and back, and always rising")
    func faderInverse() {
        var before = -Float.infinity
        for step in 1...1000 {
            let position = Float(step) / 1000
            let level = RenderMath.decibels(faderPosition: position)
            #expect(level > before)
            before = level
            #expect(abs(RenderMath.faderPosition(decibels: level) - position) <= Self.positionTolerance)
        }
    }

    @Test("Notes and frequencies")
    func notes() {
        #expect(RenderMath.frequency(midiNote: 69) == 440)
        #expect(RenderMath.frequency(midiNote: 81) == 880)
        #expect(RenderMath.frequency(midiNote: 57) == 220)
        #expect(RenderMath.midiNote(frequency: 440) == 69)
        #expect(RenderMath.midiNote(frequency: 55) == 33)
        #expect(RenderMath.midiNote(frequency: 0) == -.infinity)
        #expect(RenderMath.midiNote(frequency: -1).isNaN && RenderMath.midiNote(frequency: .nan).isNaN)
        #expect(RenderMath.midiNote(frequency: .infinity) == .infinity)
        #expect(RenderMath.frequency(midiNote: .infinity) == .infinity)
        #expect(RenderMath.frequency(midiNote: -.infinity) == 0)
        #expect(RenderMath.frequency(midiNote: .nan).isNaN)
        for step in 1...20_000 {
            let note = Float(step) * 0.00731 - 8
            let frequency = RenderMath.frequency(midiNote: note)
            #expect(ulps(frequency, 440 * Glibc.exp2((Double(note) - 69) / 12)) <= Self.pitchBound)
            let exact = 69 + 12 * Glibc.log2(Double(frequency) / 440)
            if abs(exact) > 0.01 {
                #expect(ulps(RenderMath.midiNote(frequency: frequency), exact) <= Self.pitchBound)
            }
        }
    }

    @Test("Cents and ratios")
    func cents() {
        #expect(RenderMath.ratio(cents: 0) == 1)
        #expect(RenderMath.ratio(cents: 1200) == 2)
        #expect(RenderMath.ratio(cents: -2400) == 0.25)
        #expect(RenderMath.cents(ratio: 2) == 1200)
        #expect(RenderMath.cents(ratio: 1) == 0)
        #expect(RenderMath.cents(ratio: 0) == -.infinity && RenderMath.cents(ratio: -1).isNaN)
        for step in -20_000...20_000 {
            let cents = Float(step) * 0.731
            let ratio = RenderMath.ratio(cents: cents)
            #expect(ulps(ratio, Glibc.exp2(Double(cents) / 1200)) <= Self.pitchBound)
            #expect(ulps(RenderMath.cents(ratio: ratio), 1200 * Glibc.log2(Double(ratio))) <= Self.pitchBound)
        }
    }
}
