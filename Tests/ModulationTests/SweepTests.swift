import RenderStack
import TestSupport
import Testing

/// Parameters on their way make no sound of their own.
@Suite("Modulation: sweeps") struct SweepTests {
    struct Subject: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable () -> any Effect
        let energy: @Sendable (_ name: String, _ values: [(frame: Int, value: Float)]) throws -> Double

        init<E: Effect>(_ make: @escaping @Sendable () -> E) {
            testDescription = "\(E.self)"
            self.make = make
            energy = { name, values in
                let tone = sine(48_000, frequency: 1_000)
                let effect = make()
                guard let parameter = effect.parameters.first(where: { $0.name == name }) else { return .infinity }
                parameter.value = values[0].value
                let renderer = try renderer([tone], through: effect)
                for (frame, value) in values.dropFirst() {
                    try renderer.transaction(at: .sample(Int64(frame))) { parameter.value = value }
                }
                return energyAbove10kHz(render(renderer, frames: 48_000)[0])
            }
        }
    }

    static let subjects: [Subject] = [
        Subject { Chorus() }, Subject { Flanger() }, Subject { Phaser() }, Subject { Tremolo() }, Subject { Vibrato() },
        Subject { RingModulator() }, Subject { AutoPan() },
    ]

    /// The tone's energy is 37.3 dB. What is 100 dB below that counts as nothing, for the corners at the ends of a glide,
    /// which the resting wave of a tremolo has not.
    static let nothing = -62.7

    @Test(
        "A sweep from end to end, at once or slowly, is at most 6 dB louder above 10 kHz than the worst fixed setting",
        arguments: subjects)
    func sweep(_ subject: Subject) throws {
        let parameters = subject.make().parameters
        var worst = Self.nothing
        for parameter in parameters {
            let (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
            for value in [low, high] {
                worst = max(worst, try subject.energy(parameter.name, [(0, value)]))
            }
        }
        for parameter in parameters {
            let (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
            let slowly = (0...70).map { (frame: 9_600 + 512 * $0, value: low + (high - low) * Float($0) / 70) }
            for values in [[(0, low), (20_000, high)], [(0, high), (20_000, low)], [(0, low)] + slowly] {
                let energy = try subject.energy(parameter.name, values)
                #expect(energy <= worst + 6, "\(parameter.name): \(energy) against \(worst)")
            }
        }
    }
}
