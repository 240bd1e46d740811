import Foundation
import RenderStack
import TestSupport
import Testing

/// A parameter that is swept from end to end under a tone must not sound like more than the worst of its fixed settings.
@Suite("Sweeps of dynamics")
struct SweepTests {
    /// The energy above 10 kHz under a tone of 1 kHz while a parameter goes up and down, and that of the worst fixed setting.
    private func energies<M: Module>(_ index: Int, _ make: () -> M) throws -> (swept: Double, fixed: Double) {
        let tone = sine(24_000, frequency: 1_000, level: 0.5)
        var fixed = -300.0
        let ends = make().parameters[index].range
        for step in 0...4 {
            let module = make()
            let parameter = module.parameters[index]
            parameter.value = ends.lowerBound + (ends.upperBound - ends.lowerBound) * Float(step) / 4
            fixed = max(fixed, energyAbove10kHz(Array(try play([tone], through: module)[0][4_096...])))
        }
        let module = make()
        let parameter = module.parameters[index]
        parameter.value = ends.lowerBound
        let renderer = try renderer([tone], through: module)
        for (frame, value) in [(6_000, ends.upperBound), (11_000, ends.lowerBound), (16_000, ends.upperBound)] {
            try renderer.transaction(at: .sample(Int64(frame))) { parameter.value = value }
        }
        return (energyAbove10kHz(Array(render(renderer, frames: 24_000)[0][4_096...])), fixed)
    }

    /// 106 dB below the tone: what windows and rounding make of it alone is 105…113 dB below.
    private let floor = -55.0

    @Test("Each parameter of compressor, expander and gate, swept under a tone, makes at most 6 dB more above 10 kHz")
    func sweeps() throws {
        func judge<M: Module>(_ make: () -> M) throws {
            let first = make()
            // A gate that opens is heard, and no fixed setting opens it.
            for index in first.parameters.indices where first.name != "Gate" || index > 1 {
                let (swept, fixed) = try energies(index, make)
                #expect(
                    swept < max(fixed, floor) + 6, "\(first.name).\(first.parameters[index].name): \(swept), \(fixed)")
            }
        }
        try judge { Compressor() }
        try judge { Compressor(hold: 0.01, key: .filtered(highPass: 200, lowPass: 5_000), lookAhead: 0.005) }
        try judge { Compressor(detector: .rms(seconds: 0.01)) }
        try judge { Expander(threshold: -10) }
        try judge { Gate(threshold: -20) }
        try judge { MultibandCompressor(crossovers: [900]) }
    }
}
