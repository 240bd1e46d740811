import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// The modules of this target keep the contract, and what holds for all of them.
@Suite("Modulation: what holds for all") struct ContractTests {
    struct Candidate: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let violations: @Sendable () -> [String]

        init<M: Module>(_ contract: ModuleContract<M>) {
            testDescription = "\(M.self)"
            violations = {
                ContractPart.allocation.isPossible
                    ? contract.violations()
                    : contract.leavingOut(.allocation, because: "a sanitizer keeps the counter out").violations()
            }
        }
    }

    static let candidates: [Candidate] = [
        Candidate(ModuleContract { Chorus() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Flanger() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Phaser() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Tremolo() }.transparent { $0.depth.value = 0 }),
        Candidate(ModuleContract { Vibrato() }.transparent { $0.depth.value = 0 }),
        Candidate(ModuleContract { RingModulator() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { AutoPan() }.transparent { $0.depth.value = 0 }),
    ]

    @Test("Each keeps the contract", arguments: candidates)
    func contract(_ candidate: Candidate) { #expect(candidate.violations() == []) }
}

extension ContractTests {
    /// An effect in an unusual state, and what happens to it on its way.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let output: @Sendable ([[Float]], [Int]) throws -> [[Float]]

        init<E: Effect>(_ name: String, _ make: @escaping @Sendable () -> E) {
            testDescription = "\(E.self), \(name)"
            output = { input, cycles in
                let effect = make()
                let renderer = try renderer(input, through: effect)
                // All parameters go to an end and back, and the tempo and the position change.
                let parameters = effect.parameters
                for (number, parameter) in parameters.enumerated() where parameter.name != "beats" {
                    let (start, end) = (parameter.value, parameter.range.upperBound)
                    let middle = parameter.name == "frequency" || parameter.name == "center" ? 5_000 : end
                    try renderer.transaction(at: .sample(Int64(1_001 + 97 * number))) { parameter.value = middle }
                    try renderer.transaction(at: .sample(Int64(3_003 + 211 * number))) {
                        parameter.value = parameter.name == "mix" || parameter.name == "depth" ? 0 : start
                    }
                }
                try renderer.transaction(at: .sample(2_345)) { renderer.tempo.beatsPerMinute = 180 }
                try renderer.transaction(at: .sample(3_456)) { renderer.tempo.position = 77.7 }
                try renderer.transaction(at: .sample(6_200)) {
                    for parameter in parameters where parameter.name == "mix" || parameter.name == "depth" {
                        parameter.value = 1
                    }
                }
                return render(renderer, frames: 12_000, cycles: cycles)
            }
        }
    }

    static let cases: [Case] = [
        Case("as it comes") { Chorus() },
        Case("random, by beats") { Chorus(voices: 4, shape: .randomCurve, beats: 0.1) },
        Case("as it comes") { Flanger() },
        Case("triangle, by beats") { Flanger(.triangle, beats: 0.2, feedback: -0.9) },
        Case("as it comes") { Phaser() },
        Case("random, by beats") { Phaser(stages: 5, shape: .randomSteps, beats: 0.1, feedback: 0) },
        Case("as it comes") { Tremolo() }, Case("square, by beats") { Tremolo(.square, beats: 0.1, stereoPhase: 0.3) },
        Case("as it comes") { Vibrato() }, Case("triangle, by beats") { Vibrato(.triangle, beats: 0.2) },
        Case("as it comes") { RingModulator() }, Case("square") { RingModulator(.square, frequency: 3_210) },
        Case("as it comes") { AutoPan() }, Case("saw, by beats") { AutoPan(.saw, beats: 0.1, position: -0.2) },
    ]

    @Test("Cycles of any length give the same bits while parameters and the tempo move", arguments: cases)
    func cycles(_ subject: Case) throws {
        let input = [noise(12_000), noise(12_000, seed: 3)]
        let reference = try subject.output(input, [512])
        #expect(reference[0].contains { $0 != 0 } && reference.joined().allSatisfy { $0.isFinite })
        for cycles in cycleLengths { #expect(try subject.output(input, cycles) == reference, "\(cycles)") }
    }

    @Test("Silence in gives true zeros out after the tail, with much feedback too")
    func silence() throws {
        func rest(_ effect: some Effect, seconds: Int) throws -> Float {
            let input = noise(24_000, level: 1)
            let frames = 48_000 * (1 + seconds)
            let output = try play([input, input], through: effect, frames: frames)
            #expect(output[0][20_000..<24_000].contains { $0 != 0 })
            return output.joined().isEmpty ? 1 : output.flatMap { $0.suffix(24_000) }.map(abs).max() ?? 1
        }
        #expect(try rest(Chorus(delay: 0.05, mix: 1), seconds: 1) == 0)
        #expect(try rest(Flanger(feedback: 0.5), seconds: 1) == 0)
        #expect(try rest(Phaser(stages: 12, center: 400, feedback: 0.7), seconds: 3) == 0)
        #expect(try rest(Phaser(stages: 2, center: 100, range: 0, feedback: -0.9), seconds: 4) == 0)
        #expect(try rest(Tremolo(), seconds: 1) == 0)
        #expect(try rest(Vibrato(), seconds: 1) == 0)
        #expect(try rest(RingModulator(.saw), seconds: 1) == 0)
        #expect(try rest(AutoPan(), seconds: 1) == 0)
    }
}
