import CKernels
import RenderStack
import Testing

/// Rooms on processors with short vectors and with long ones.
@Suite struct ProcessorFormsTests {
    // A piece of 16, 32 or 48 frames takes the way of a whole block, another one does not.
    @Test(
        "A reverb has the same bits on every processor", arguments: [Reverb.Quality.light, .standard, .rich], [1, 2, 3])
    func reverb(quality: Reverb.Quality, channels: Int) throws {
        for cycle in [300, 48] {
            try compare(channels: channels, cycle: cycle) { Reverb(.cathedral, mix: 0.5, quality: quality) }
        }
    }

    @Test("A convolution has the same bits on every processor")
    func convolution() throws {
        let room = AudioBlock([1, 2].map { decayingNoise(30_000, decay: 20_000, seed: $0) })
        let response = try ImpulseResponse(room, sampleRate: 48_000)
        try compare { try ConvolutionReverb(response, mix: 0.5) }
    }

    /// Plays through a module by each form that this processor has.
    private func compare(channels: Int = 2, cycle: Int = 300, _ make: () throws -> some Module) throws {
        defer { _ = kernel_use_vectors(2) }
        let sound = (0..<channels).map { noise(20_000, seed: 5 + UInt64($0)) }
        var first: [[Float]] = []
        for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted {
            let block = try play(sound, through: try make(), frames: 40_000, cycle: cycle)
            let heard = (0..<channels).map { block.array($0) }
            if first.isEmpty { first = heard }
            #expect(heard == first && heard[0].contains { $0 != 0 })
        }
    }
}
