import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@testable import Reverberation

@Suite struct ConvolutionReverbTests {
    func response(_ channels: [[Float]], _ sampleRate: Double = 48_000) throws -> ImpulseResponse {
        try ImpulseResponse(AudioBlock(channels), sampleRate: sampleRate)
    }

    /// The error in dB, against a convolution in double precision, over some hundred frames.
    func errorLevel(_ heard: [Float], _ paths: [(sound: [Float], response: [Float])]) -> Double {
        var (error, all) = (0.0, 0.0)
        var frame = 0
        while frame < heard.count {
            let wanted = paths.reduce(0.0) { $0 + convolved($1.sound, $1.response, at: frame) }
            let difference = Double(heard[frame]) - wanted
            error += difference * difference
            all += wanted * wanted
            // Every place in blocks and parts comes up.
            frame += 331
        }
        return 4.342944819032518 * RenderMath.log(error / all)
    }

    @Test func twoSecondsOfStereoAreConvolvedWithin130dB() throws {
        let (left, right) = (
            decayingNoise(96_000, decay: 96_000, seed: 1), decayingNoise(96_000, decay: 90_000, seed: 2)
        )
        let sound = [noise(60_000, seed: 3), noise(60_000, seed: 4)]
        let reverb = try ConvolutionReverb(response([left, right]), settings: plain, mix: 1)
        let heard = try play(sound, through: reverb, frames: 150_000)
        #expect(errorLevel(heard.array(0), [(sound[0], left)]) < -130)
        #expect(errorLevel(heard.array(1), [(sound[1], right)]) < -130)
        #expect(reverb.lateCount == 0)
    }

    @Test(arguments: [1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1_025, 4_096, 4_097, 32_768, 32_769])
    func responsesOfAnyLengthAreWhole(_ frames: Int) throws {
        let response = noise(frames, seed: UInt64(frames))
        let sound = noise(20_000, seed: 9)
        let reverb = try ConvolutionReverb(self.response([response]), settings: plain, mix: 1)
        let heard = try play([sound], through: reverb, frames: 90_000, cycle: 333)
        #expect(errorLevel(heard.array(0), [(sound, response)]) < -130)
        // Behind the response there are zeros, but for what rounding leaves in the last block.
        let end = 20_000 + frames
        let rest = (end - 1..<90_000).map { abs(heard[0, $0]) }.max() ?? 0
        #expect(rest < 1e-4)
        let block = frames < 513 ? 64 : frames < 4_097 ? 256 : frames < 32_769 ? 2_048 : 16_384
        #expect((end + 2 * block..<90_000).allSatisfy { heard[0, $0] == 0 })
    }

    @Test func trueStereoLeadsFromEachSideToBoth() throws {
        let parts = (0..<4).map { decayingNoise(20_000, decay: 15_000, seed: 20 + UInt64($0)) }
        let sound = [noise(20_000, seed: 3), noise(20_000, seed: 4)]
        let reverb = try ConvolutionReverb(response(parts), settings: plain, mix: 1)
        let heard = try play(sound, through: reverb, frames: 40_000)
        #expect(errorLevel(heard.array(0), [(sound[0], parts[0]), (sound[1], parts[2])]) < -130)
        #expect(errorLevel(heard.array(1), [(sound[0], parts[1]), (sound[1], parts[3])]) < -130)
    }

    @Test func monoBecomesStereo() throws {
        let parts = (0..<2).map { decayingNoise(5_000, decay: 4_000, seed: 20 + UInt64($0)) }
        let sound = noise(5_000, seed: 3)
        let reverb = try ConvolutionReverb(response(parts), settings: plain, mix: 1)
        let heard = try play([sound], through: reverb, frames: 10_000, channels: 2)
        #expect(errorLevel(heard.array(0), [(sound, parts[0])]) < -130)
        #expect(errorLevel(heard.array(1), [(sound, parts[1])]) < -130)
    }

    @Test func theSpreadWorkGivesTheSameBits() throws {
        let parts = (0..<2).map { decayingNoise(96_000, decay: 60_000, seed: 20 + UInt64($0)) }
        let sound = [noise(80_000, seed: 3), noise(80_000, seed: 4)]
        let jobs = try ConvolutionReverb(response(parts), settings: plain, mix: 0.4)
        let spread = try ConvolutionReverb(response(parts), settings: plain, mix: 0.4, fade: 0, isSpread: true)
        let a = try play(sound, through: jobs, frames: 120_000, cycle: 64)
        let b = try play(sound, through: spread, frames: 120_000, cycle: 777)
        #expect(a.array(0) == b.array(0))
        #expect(a.array(1) == b.array(1))
    }

    @Test(.notSanitized(ContractPart.allocation.isPossible)) func theContractIsKept() throws {
        let parts = (0..<2).map { decayingNoise(20_000, decay: 8_000, seed: 20 + UInt64($0)) }
        let response = try response(parts)
        let contract = ModuleContract(tail: .seconds(1)) { try ConvolutionReverb(response, mix: 0.5) }
            .transparent { $0.mix.value = 0 }
        #expect(contract.violations() == [])
        let spread = ModuleContract(tail: .seconds(1)) {
            try ConvolutionReverb(response, settings: .init(), mix: 0.5, fade: 0.01, isSpread: true)
        }
        #expect(spread.violations() == [])
    }
}
