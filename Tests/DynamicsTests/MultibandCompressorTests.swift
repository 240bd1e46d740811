import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@Suite("Multiband compressor")
struct MultibandCompressorTests {
    private static let layouts: [[Float]] = [[1_000], [150, 2_500], [80, 500, 5_000], [60, 300, 1_500, 8_000]]

    private static func setting(_ ratio: Float = 1, _ threshold: Float = -30) -> MultibandCompressor.Setting {
        MultibandCompressor.Setting(threshold: threshold, ratio: ratio, knee: 10, hold: 0.002)
    }

    @Test("A multiband compressor keeps the contract of all modules")
    func contract() {
        let plain = ModuleContract {
            MultibandCompressor(crossovers: [200], bands: [Self.setting(4, -14), Self.setting(3)])
        }
        .leavingOut(parameters: "band 2.knee", because: "the noise is in it for moments, softly")
        #expect(plain.violations() == [])
        let late = ModuleContract {
            MultibandCompressor(
                crossovers: [300, 3_000], detector: .rms(seconds: 0.005), isLinked: false, lookAhead: 0.002)
        }
        .leavingOut(.parameters, because: "the other compressor has them all")
        .leavingOut(.latency, because: "an all-pass spreads a sample")
        #expect(late.violations() == [])
    }

    @Test("At rest the sum is flat within 0.001 dB, with any number of bands")
    func flatness() throws {
        for crossovers in Self.layouts {
            let settings = [MultibandCompressor.Setting](repeating: Self.setting(), count: crossovers.count + 1)
            let multiband = MultibandCompressor(crossovers: crossovers, bands: settings)
            let answer = try play([impulse(16_384)], through: multiband)[0]
            for step in 0...40 {
                let frequency = 20 * pow(1_000, Double(step) / 40)
                let gain = 20 * log10(magnitude(answer, frequency))
                #expect(abs(gain) < 0.001, "\(crossovers), \(frequency) Hz: \(gain) dB")
            }
        }
    }

    /// The gain at a frequency, of an impulse's answer.
    private func magnitude(_ answer: [Float], _ frequency: Double) -> Double {
        var (re, im) = (0.0, 0.0)
        for (i, sample) in answer.enumerated() {
            let angle = 2 * Double.pi * frequency * Double(i) / 48_000
            re += Double(sample) * cos(angle)
            im += Double(sample) * sin(angle)
        }
        return (re * re + im * im).squareRoot()
    }

    private func impulse(_ count: Int) -> [Float] { [1] + [Float](repeating: 0, count: count - 1) }

    @Test("Each band is a Linkwitz–Riley filter of fourth order, within 0.01 dB above -80 dB")
    func bands() throws {
        // One band is 24 dB louder than the others by its make-up: the difference is the band.
        let crossovers: [Float] = [200, 2_000]
        let rest = try play(
            [impulse(32_768)],
            through: MultibandCompressor(
                crossovers: crossovers, bands: [.init(ratio: 1), .init(ratio: 1), .init(ratio: 1)]))[0]
        for band in 0..<3 {
            let settings = (0..<3).map { MultibandCompressor.Setting(ratio: 1, makeUp: $0 == band ? 6 : 0) }
            let louder = try play(
                [impulse(32_768)], through: MultibandCompressor(crossovers: crossovers, bands: settings))[0]
            let answer = zip(louder, rest).map { ($0 - $1) / Float(factor(6) - 1) }
            for step in 0...30 {
                let frequency = 25 * pow(720, Double(step) / 30)
                func squared(_ cutoff: Float, _ shape: FilterShape) -> Double {
                    let filter = FilterCoefficients(shape, frequency: Double(cutoff), sampleRate: 48_000)
                    let gain = filter.magnitude(at: frequency, sampleRate: 48_000)
                    return gain * gain
                }
                let expected =
                    (band == 0 ? squared(200, .lowPass) : squared(200, .highPass))
                    * (band == 0 ? 1 : band == 1 ? squared(2_000, .lowPass) : squared(2_000, .highPass))
                let found = magnitude(answer, frequency)
                if expected > 1e-4 {
                    let error = 20 * abs(log10(found / expected))
                    #expect(error < 0.01, "band \(band), \(frequency) Hz: \(error) dB")
                } else {
                    #expect(found < 2e-4)
                }
            }
        }
    }

    @Test("A loud band is compressed by the formula, and the others are left alone")
    func apart() throws {
        let multiband = MultibandCompressor(
            crossovers: [200, 2_000],
            bands: [MultibandCompressor.Setting](
                repeating: .init(threshold: -30, ratio: 4, knee: 0, attack: 0.005, hold: 0.02), count: 3))
        let low = sine(48_000, frequency: 40, level: 0.5)
        let high = sine(48_000, frequency: 9_000, level: 0.001)
        let output = try play([zip(low, high).map { $0 + $1 }], through: multiband)[0]
        let lowLevel = level(Array(output[24_000...]), frequency: 40),
            highLevel = level(Array(output[24_000...]), frequency: 9_000)
        let inLevel = 20 * log10(0.5)
        // The sound that leaks into the next band, 56 dB softer, is not compressed, and adds up to 0.13 dB.
        #expect(abs(lowLevel - (inLevel - 0.75 * (inLevel + 30))) < 0.15)
        #expect(abs(highLevel + 60) < 0.02)
        #expect(abs(Double(multiband.gainReduction(ofBand: 0)) - 0.75 * (inLevel + 30)) < 0.1)
        #expect(multiband.gainReduction(ofBand: 2) == 0 && multiband.gainReduction(ofBand: 9) == 0)
    }

    @Test("A crossover that moves through the sound under a tone makes no noise")
    func movingCrossover() throws {
        let multiband = MultibandCompressor(
            crossovers: [100, 5_000], bands: [.init(ratio: 1), .init(ratio: 1), .init(ratio: 1)])
        let tone = sine(48_000, frequency: 1_000)
        let renderer = try renderer([tone], through: multiband)
        for (frame, frequency) in [(9_600, 4_000), (19_200, 60), (28_800, 4_900)] {
            try renderer.transaction(at: .sample(Int64(frame))) {
                multiband.crossovers[0].value = Float(frequency)
            }
        }
        let output = render(renderer, frames: 48_000)[0]
        let most: Double = -80 + 20 * log10(512)
        #expect(energyAbove10kHz(output) < most)
        #expect(output.allSatisfy { abs($0) < 0.8 })
    }

    @Test("Cycles of any length give the same bits while crossovers and bands move")
    func cycles() throws {
        func run(_ cycles: [Int]) throws -> [[Float]] {
            let multiband = MultibandCompressor(crossovers: [200, 2_000], lookAhead: 0.001)
            let renderer = try renderer([noise(6_000), noise(6_000, seed: 3)], through: multiband)
            try renderer.transaction(at: .sample(1_234)) {
                multiband.crossovers[1].value = 4_000
                multiband.bands[1].threshold.value = -40
                multiband.bands[2].hold.value = 0.01
            }
            return render(renderer, frames: 6_000, cycles: cycles)
        }
        let reference = try run([512])
        for cycles in [[1], [7], [100], [4_096], [3, 500, 1, 64, 2_000, 17]] { #expect(try run(cycles) == reference) }
    }
}
