import CKernels
import RenderStack
import Testing

/// Rooms on processors with short vectors and with long ones.
@Suite struct ProcessorFormsTests {
    @Test("A reverb has the same bits on every processor", arguments: [Reverb.Quality.light, .standard, .rich])
    func reverb(quality: Reverb.Quality) throws {
        try compare { Reverb(.cathedral, mix: 0.5, quality: quality) }
    }

    @Test("A convolution has the same bits on every processor")
    func convolution() throws {
        let room = AudioBlock([1, 2].map { decayingNoise(30_000, decay: 20_000, seed: $0) })
        let response = try ImpulseResponse(room, sampleRate: 48_000)
        try compare { try ConvolutionReverb(response, mix: 0.5) }
    }

    /// Plays through a module by each form that this processor has.
    private func compare(_ make: () throws -> some Module) throws {
        defer { _ = kernel_use_vectors(2) }
        let sound = [noise(20_000, seed: 5), noise(20_000, seed: 6)]
        var first: [[Float]] = []
        for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
            let block = try play(sound, through: try make(), frames: 40_000, cycle: 300)
            let heard = [block.array(0), block.array(1)]
            if first.isEmpty { first = heard }
            #expect(heard == first && heard[0].contains { $0 != 0 })
        }
    }
}
