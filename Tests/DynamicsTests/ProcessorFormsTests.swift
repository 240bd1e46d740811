import CKernels
import RenderStack
import TestSupport
import Testing

/// Dynamics on processors with short vectors and with long ones.
@Suite struct ProcessorFormsTests {
    private static let key = KeySignal.filtered(highPass: 300, lowPass: 4_000)
    static let cases: [Case] = [
        Case("peak") { Compressor() }, Case("slow attack") { Compressor(attack: 0.3, release: 0.01) },
        Case("mean square") { Compressor(mix: 0.7, detector: .rms(seconds: 0.01)) },
        Case("hold") { Compressor(hold: 0.02, makeUp: 3) }, Case("filter") { Compressor(key: key) },
        Case("filter, mean square") { Compressor(hold: 0.001, detector: .rms(seconds: 0.01), key: key) },
        Case("each channel") { Compressor(detector: .rms(seconds: 0.01), key: key, isLinked: false) },
        Case("expander") { Expander(threshold: -20) }, Case("gate") { Gate(threshold: -20) },
        Case("bands") { MultibandCompressor(crossovers: [300, 3_000]) }, Case("limiter") { Limiter(ceiling: -20) },
    ]

    @Test("Dynamics have the same bits on every processor, whatever the number of channels", arguments: cases)
    func forms(one: Case) throws {
        defer { _ = kernel_use_vectors(2) }
        for channels in 1...3 {
            let sound = (0..<channels).map { noise(6_000, seed: UInt64(5 + $0)) }
            var first: [[Float]] = []
            for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
                let heard = try one.play(sound, [300])
                if first.isEmpty { first = heard }
                #expect(heard == first && heard[0].contains { $0 != 0 })
            }
        }
    }

    @Test("The kernel, used while all parameters rest, and Swift, used while one moves, compute the same bits")
    func moving() throws {
        defer { _ = kernel_use_vectors(2) }
        let sound = [noise(12_000, seed: 8), noise(12_000, seed: 9)]
        for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
            for detector in [LevelDetector.peak, .rms(seconds: 0.005)] {
                try compare(sound) { Compressor(threshold: -30, attack: 0.001, release: 0.02, detector: detector) }
                try compare(sound) {
                    Compressor(knee: 0, attack: 0.1, release: 0.002, hold: 0.01, detector: detector)
                }
            }
            try compare(sound) { Expander(threshold: -6, release: 0.02) }
        }
    }

    /// Plays with a make-up that rests, and with one that glides by nothing that could be heard.
    private func compare(_ sound: [[Float]], _ make: () -> some Module) throws {
        let resting = try play(sound, through: make())
        let module = make()
        let renderer = try renderer(sound, through: module)
        let makeUp = try #require(module.parameters["makeUp"])
        try renderer.transaction(at: .sample(3_000)) { makeUp.value = 1e-30 }
        #expect(render(renderer, frames: sound[0].count, cycles: [512]) == resting)
    }
}

/// A module that is made anew for each form.
struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let play: @Sendable ([[Float]], [Int]) throws -> [[Float]]

    init<M: Module>(_ name: String, _ make: @escaping @Sendable () -> M) {
        testDescription = name
        play = { sound, cycles in try DynamicsTests.play(sound, through: make(), cycles: cycles) }
    }
}
