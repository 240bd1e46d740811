import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// Samples that are played once.
struct Tape: ~Copyable, Sendable {
    var memory: RenderMemory<Float>

    init(_ samples: [Float]) {
        memory = RenderMemory(repeating: 0, count: samples.count)
        for (i, x) in samples.enumerated() { memory[i] = x }
    }
}

final class TapePlayer: Generator {
    private let tape: RenderState<Tape>

    init(_ samples: [Float]) { tape = RenderState(Tape(samples)) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let start = Int(context.sampleTime)
        tape.with(&context) { tape, context in
            var top = context.top
            var samples = top[0]
            for i in samples.indices {
                samples[i] = start &+ i < tape.memory.count ? tape.memory.value(at: start &+ i) : 0
            }
        }
    }
}

private func shifted(_ shift: PitchShift, _ samples: [Float]) throws -> [Float] {
    let player = TapePlayer(samples)
    let outer = try Renderer(sampleRate: 48_000, channels: 1) { context in
        context.run(player)
        context.run(shift)
        context.output()
    }
    let result = render(outer, frames: samples.count)[0]
    #expect(outer.faultCount == 0)
    return result
}

private func sine(_ frequency: Double, frames: Int) -> [Float] {
    (0..<frames).map { Float(0.5 * sin(2 * Double.pi * frequency / 48_000 * Double($0))) }
}

/// A sound whose neighbours are far apart, the same each time.
func jagged(_ count: Int) -> [Float] {
    (0..<count).map { (i: Int) -> Float in Float((i * 7_919) % 1_000) / 1_000 - 0.5 }
}

@Suite("PitchShift")
struct PitchShiftTests {
    @Test("A sine gets its pitch, within a cent, and stays pure", arguments: PitchShift.Mode.allCases)
    func sines(_ mode: PitchShift.Mode) throws {
        for frequency in [100.0, 220, 440, 1_000] {
            for cents in [-1_200.0, -700, -300, 300, 700, 1_200] {
                let result = try shifted(PitchShift(mode, cents: Float(cents)), sine(frequency, frames: 40_000))
                let new = frequency * exp2(cents / 1_200) / 48_000
                let fit = SineFit(result[16_000...], frequency: new, from: 0)
                #expect(fit.signalToNoise >= (mode == .fast ? 50 : 90))
                let first = SineFit(result[16_000..<28_000], frequency: new, from: 0)
                let second = SineFit(result[28_000..<40_000], frequency: new, from: 12_000)
                let turn = second.turns - first.turns
                let limit: Double = new * 12_000 * (exp2((mode == .fast ? 1.0 : 0.1) / 1_200) - 1)
                #expect(abs(turn - turn.rounded()) < limit)
            }
        }
    }

    @Test(
        "The fast mode keeps a voice of five harmonics pure and in tune, whatever the pitch",
        arguments: [-1_200, -950, 50, 500, 1_000, 1_200] as [Double])
    func voices(_ cents: Double) throws {
        for frequency in [100.0, 440, 900.6] {
            let harmonics = (1...5).map { Double($0) * frequency }
            let voice = (0..<32_000).map { frame -> Float in
                var sum = 0.0
                for (k, harmonic) in harmonics.enumerated() {
                    sum += 0.3 / Double(k + 1) * sin(2 * Double.pi * harmonic / 48_000 * Double(frame))
                }
                return Float(sum)
            }
            let result = Array(try shifted(PitchShift(.fast, cents: Float(cents)), voice)[8_000...])
            // Fitted over half a second: a pitch off by 0.02 cents would cost as much at the highest harmonic.
            #expect(purity(result, harmonics.map { $0 * exp2(cents / 1_200) }) >= 50, "\(frequency) Hz")
        }
    }

    @Test("At a pitch of 0 it is the delayed sound", arguments: PitchShift.Mode.allCases)
    func identity(_ mode: PitchShift.Mode) throws {
        let shift = PitchShift(mode)
        let late = shift.latency(at: 48_000)
        let sound = jagged(20_000)
        let result = try shifted(shift, sound)
        for n in 0..<(20_000 - late) { #expect(abs(result[late + n] - sound[n]) <= (mode == .fast ? 0 : 4e-7)) }
        #expect(result[..<late].allSatisfy { abs($0) <= (mode == .fast ? 0 : 4e-7) })
    }

    @Test("Live modes keep their latency at every rate")
    func latency() {
        for rate in [11_025.0, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000] {
            #expect(Double(PitchShift(.quality).latency(at: rate)) <= 0.15 * rate)
            #expect(Double(PitchShift(.fast).latency(at: rate)) <= 0.025 * rate)
        }
    }

    @Test("It keeps the contract of modules", arguments: PitchShift.Mode.allCases)
    func contract(_ mode: PitchShift.Mode) {
        var contract = ModuleContract { PitchShift(mode) }
        if mode == .quality {
            contract = contract.leavingOut(parameters: "keepsFormants", because: "it is not heard at a pitch of 0")
        }
        #expect(contract.violations() == [])
    }
}
