import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

private let rate = 48_000.0
private let tempi = [0.03125, 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32]

/// The tempo from 1/32 to 32: of files, of sounds in memory, and of inner renderers.
@Suite("The whole range of tempi")
struct TempoRangeTests {
    /// Returns frames of a sound at a tempo, from where a block is full, and the one a quarter before it.
    private func stretched(
        _ sound: (Double) -> Double, _ tempo: Double, frames: Int, cents: Double = 0, keepsFormants: Bool = false
    ) -> [Float] {
        let first = 4_000 + Int(4_800 / tempo)
        let needed = Int(Double(first + frames) * tempo) + 12_000 + Int(4_800 * tempo)
        var engine = TimeStretch(sampleRate: rate, channels: 1, block: TimeStretch.block(cents: cents))
        let settings = TimeStretch.Settings(rate: tempo, cents: cents, keepsFormants: keepsFormants)
        let block = AudioBlock([(0..<needed).map { Float(sound(Double($0))) }])
        return Array(engine.stretched(block, settings, frames: first + frames).array(0)[first...])
    }

    @Test(
        "A sine of 440 Hz stays one: its pitch to 0.1 cents, its level to 0.05 dB, and no frame drops out",
        arguments: tempi)
    func sines(_ tempo: Double) {
        let out = stretched({ 0.5 * sin(2 * Double.pi * 440 / rate * $0) }, tempo, frames: 40_000)
        let fit = SineFit(out[...], frequency: 440 / rate, from: 0)
        #expect(
            fit.signalToNoise >= 100 && abs(fit.gain(over: 0.5)) < 0.05,
            "\(fit.signalToNoise) dB, \(fit.gain(over: 0.5)) dB")
        let one = SineFit(out[..<20_000], frequency: 440 / rate, from: 0)
        let two = SineFit(out[20_000...], frequency: 440 / rate, from: 20_000)
        let turn = two.turns - one.turns
        #expect(abs(turn - turn.rounded()) < 440 / rate * 20_000 * (exp2(0.1 / 1_200) - 1))
        // In eleven periods, 25 ms, there is the same power everywhere.
        let levels = stride(from: 0, through: out.count - 1_200, by: 1_200).map { start in
            out[start..<start + 1_200].reduce(0) { $0 + Double($1) * Double($1) }
        }
        #expect(10 * log10((levels.max() ?? 1) / (levels.min() ?? 1e-9)) < 0.01)
        // The highest line of the spectrum, by a parabola through three lines in dB.
        let powers = spectrum(out)
        let peak = powers.indices.max { powers[$0] < powers[$1] } ?? 0
        let (a, b, c) = (log(powers[peak - 1]), log(powers[peak]), log(powers[peak + 1]))
        let found = (Double(peak) + 0.5 * (a - c) / (a - 2 * b + c)) * rate / 32_768
        #expect(abs(1_200 * log2(found / 440)) < 0.5, "\(found) Hz")
    }

    /// The powers of 32,768 frames under Hann's window.
    private func spectrum(_ samples: [Float]) -> [Double] {
        let size = 32_768
        var fft = RealFFT(size: size)
        let frames = (0..<size).map { frame -> Float in
            let turn: Double = 2 * Double.pi * Double(frame) / Double(size)
            return samples[frame] * Float(0.5 - 0.5 * cos(turn))
        }
        var real = [Float](repeating: 0, count: size / 2 + 1)
        var imaginary = real
        var realSpan = real.mutableSpan
        var imaginarySpan = imaginary.mutableSpan
        fft.forward(Samples(frames.span), real: &realSpan, imaginary: &imaginarySpan)
        return zip(real, imaginary).map { pow(Double($0), 2) + pow(Double($1), 2) }
    }

    @Test("A sound in memory has its length to the frame", arguments: tempi) func lengths(_ tempo: Double) {
        for frames in [1, 31, 2_047] {
            let sound = AudioBlock([[Float](repeating: 0.5, count: frames)])
            let out = sound.stretched(rate: tempo, sampleRate: 8_000)
            #expect(out.frameCount == Int((Double(frames) / tempo).rounded()))
        }
    }

    @Test(
        "TimePitch: the pitch stays and the inner renderer goes as fast as it should",
        arguments: [0.03125, 0.125, 8, 32])
    func modules(_ tempo: Double) throws {
        let machine = TimePitch(try monoRenderer(ClockSine(440)))
        let outer = try monoRenderer(machine)
        _ = render(outer, frames: 20_000)
        machine.rate.value = Float(tempo)
        // A block and more.
        _ = render(outer, frames: 14_000)
        let before = machine.renderer.sampleTime
        let result = render(outer, frames: 19_200)[0]
        #expect(abs(Double(machine.renderer.sampleTime - before) - 19_200 * tempo) <= 64 * max(1, tempo) + 1)
        let fit = SineFit(result[...], frequency: 440 / rate, from: 0)
        #expect(fit.signalToNoise >= 100 && abs(fit.gain(over: 0.5)) < 0.05, "\(fit.signalToNoise) dB")
        #expect(outer.faultCount == 0 && machine.renderer.faultCount == 0)
    }

    @Test(
        "From one end of the range to the other and back there is no click, and cycles of any length give the same bits"
    )
    func ends() throws {
        func run(_ lengths: [Int]) throws -> [Float] {
            let machine = TimePitch(try monoRenderer(ClockSine(300)))
            let outer = try monoRenderer(machine)
            for (at, value) in [(16_000, 32), (24_000, 0.03125), (34_000, 32), (38_000, 1)] as [(Int64, Float)] {
                try outer.transaction(at: .sample(at)) { machine.rate.value = value }
            }
            return render(outer, frames: 48_000, cycles: lengths)[0]
        }
        let result = try run([512])
        let limit = Float(pow(2 * Double.pi * 300 / rate, 2) * 0.5 * 4 / 3)
        let bends = (9_000..<result.count - 1).map { n -> Float in abs(result[n - 1] - 2 * result[n] + result[n + 1]) }
        #expect((bends.max() ?? 1) < limit)
        for lengths in [[1, 64, 4_096], [63]] { #expect(try run(lengths) == result) }
    }

    @Test(
        "The ends of rate and pitch together, at low sample rates too, fill every frame", arguments: [1_000.0, 8_000])
    func corners(_ sampleRate: Double) {
        for (tempo, cents) in [(0.03125, -2_400.0), (0.03125, 2_400), (32, -2_400), (32, 0), (32, 2_400)] {
            var random = SplitMix(state: 4)
            let size = Int(0.05 * sampleRate)
            var engine = TimeStretch(sampleRate: sampleRate, channels: 1)
            // A block as long as the sound is full of it half a block behind the beginning.
            let first = engine.blockFrames + Int(Double(engine.blockFrames) / (2 * min(1, tempo)))
            let count = Int(Double(first + 20 * size) * tempo) + engine.lookAhead(rate: tempo, cents: cents)
            let sound = AudioBlock([(0..<count).map { _ in Float.random(in: -0.5...0.5, using: &random) }])
            let settings = TimeStretch.Settings(rate: tempo, cents: cents)
            let out = engine.stretched(sound, settings, frames: first + 20 * size).array(0)
            for start in stride(from: first, to: out.count, by: size) {
                let power = out[start..<start + size].reduce(0) { $0 + $1 * $1 }
                #expect(power > 0.000_1 * Float(size) && power < Float(size), "\(tempo), \(cents), \(start): \(power)")
            }
        }
    }

    @Test(
        "A slow sound that is entered in its middle is itself from its first frame on",
        arguments: [1_000.0, 8_000, 48_000])
    func history(_ sampleRate: Double) {
        for (tempo, cents) in [(0.03125, -2_400.0), (0.03125, 0), (0.03125, 2_400), (0.5, -2_400), (0.9, 700)] {
            let block = TimeStretch.block(cents: cents)
            var engine = TimeStretch(sampleRate: sampleRate, channels: 1, block: block)
            let settings = TimeStretch.Settings(rate: tempo, cents: cents)
            let step = 0.05 * exp2(-cents / 1_200)
            let history = engine.history(rate: tempo, cents: cents)
            engine.reset(history: history)
            let frames = 2_000
            let count = history + Int(Double(frames) * tempo) + engine.lookAhead(rate: tempo, cents: cents)
            let sound = AudioBlock([(0..<count).map { Float(0.5 * sin(2 * Double.pi * step * Double($0))) }])
            if step >= 0.5 { continue }
            let out = engine.stretched(sound, settings, frames: frames).array(0)
            let fit = SineFit(out[...], frequency: 0.05, from: 0)
            #expect(
                fit.signalToNoise > (cents > 1_000 ? 15 : 40),
                "\(tempo), \(cents): \(fit.signalToNoise) dB, \(fit.amplitude), \(fit.rest), \(out.prefix(3))")
        }
    }

    @Test("Kept formants are kept at other tempi too", arguments: [0.125, 8])
    func formants(_ tempo: Double) {
        let sung = Vowel.a.sung(110, frames: 1_000 + Int(120_000 * max(1, tempo)))
        func vowel(_ frame: Double) -> Double { Double(sung[Int(frame)]) }
        let out = stretched(vowel, tempo, frames: 12_000, cents: 400, keepsFormants: true)
        let usual = stretched(vowel, 1, frames: 12_000, cents: 400, keepsFormants: true)
        for k in 1...20 {
            let frequency = 110 * exp2(400.0 / 1_200) * Double(k) / rate
            let level = SineFit(out[...], frequency: frequency, from: 0).amplitude
            let before = SineFit(usual[...], frequency: frequency, from: 0).amplitude
            #expect(abs(20 * log10(level / before)) < 2.5, "\(tempo), harmonic \(k)")
        }
    }

    @Test("TimePitch keeps the contract of modules at the fastest tempo")
    func contract() throws {
        let contract = ModuleContract(channels: 1) {
            let machine = TimePitch(try monoRenderer(Noise(.white, seed: 3)))
            machine.rate.value = 32
            return machine
        }
        .leavingOut(parameters: "rate", "pitch", "keepsFormants", because: "they are judged at the usual tempo")
        #expect(contract.violations() == [])
    }
}
