import RenderStack
import Testing

@testable import Reverberation

@Suite struct ImpulseResponseTests {
    let rate = 48_000.0

    /// A room that decays evenly, played into by a sweep: what a microphone hears.
    func recorded(_ room: [Float], _ sweep: ResponseSweep, tail: Double, noise level: Float = 0) throws -> AudioBlock {
        let reverb = try ConvolutionReverb(
            ImpulseResponse(AudioBlock([room]), sampleRate: rate), settings: plain, mix: 1)
        let frames = sweep.frameCount + Int(tail * rate)
        var heard = try play([sweep.samples.array(0)], through: reverb, frames: frames)
        let hiss = noise(frames, seed: 99)
        for frame in 0..<frames { heard[0, frame] += level * hiss[frame] }
        return heard
    }

    @Test(arguments: [0.5, 1.0, 2.0]) func anEvenDecayHasTheFiguresOfTheFormulas(_ time: Double) throws {
        // Of a decay of T, C is 10 log10(exp(13.8155 t / T) - 1), and all three times are T.
        let room = decayingNoise(Int(1.5 * time * rate), decay: time * rate, seed: 5)
        let decays = try ImpulseResponse(AudioBlock([room]), sampleRate: rate).decay()
        #expect(decays.count == 9)
        for decay in decays where decay.frequency ?? 1_000 >= 500 {
            let name = decay.frequency ?? 0
            let (t20, t30, edt) = (decay.t20 ?? 0, decay.t30 ?? 0, decay.edt ?? 0)
            #expect(abs(t30 / time - 1) < 0.05, "T30 at \(name): \(t30)")
            #expect(abs(t20 / time - 1) < 0.08, "T20 at \(name): \(t20)")
            #expect(abs(edt / time - 1) < 0.25, "EDT at \(name): \(edt)")
            // In lower octaves there is too little of it to be even.
            for (found, seconds) in [(decay.c50, 0.05), (decay.c80, 0.08)] where name == 0 || name >= 1_000 {
                let wanted = 4.342944819032518 * RenderMath.log(RenderMath.exp(13.81551 * seconds / time) - 1)
                #expect(abs((found ?? 99) - wanted) < 1.2, "C at \(name): \(found ?? 99), not \(wanted)")
            }
        }
    }

    @Test func noiseBehindTheDecayDoesNotLengthenIt() throws {
        var room = decayingNoise(96_000, decay: 48_000, seed: 5)
        let hiss = noise(96_000, seed: 6)
        for frame in room.indices { room[frame] += 0.001 * hiss[frame] }
        let decays = try ImpulseResponse(AudioBlock([room]), sampleRate: rate).decay(octaves: [1_000, 4_000])
        for decay in decays { #expect(abs((decay.t30 ?? 0) - 1) < 0.06, "\(decay.t30 ?? 0)") }
        // If noise hides too much, there is no figure.
        for frame in room.indices { room[frame] += 0.05 * hiss[frame] }
        let hidden = try ImpulseResponse(AudioBlock([room]), sampleRate: rate).decay(octaves: [1_000])
        #expect(hidden[0].t30 == nil)
    }

    @Test func aSweepFindsTheRoom() throws {
        // The sound takes 5 ms: what lies before the first frame would be lost.
        var room = [Float](repeating: 0, count: 240) + decayingNoise(24_000, decay: 20_000, seed: 5)
        room[240] = 4
        let sweep = try ResponseSweep(duration: 3, range: 20...22_000, sampleRate: rate)
        let found = try sweep.response(of: recorded(room, sweep, tail: 1))
        // The known room in the range of the sweep, compared where the sweep's weight is 1.
        let known = try ImpulseResponse(AudioBlock([room]), sampleRate: rate)
        var fft = RealFFT(size: 65_536)
        let (a, b) = (ComplexSpectrum(found.samples, 0, &fft), ComplexSpectrum(known.samples, 0, &fft))
        var (error, all) = (0.0, 0.0)
        for bin in 0..<fft.bins {
            let frequency = Double(bin) * rate / 65_536
            if frequency < 40 || frequency > 18_000 { continue }
            let (x, y) = (Double(a.real[bin] - b.real[bin]), Double(a.imaginary[bin] - b.imaginary[bin]))
            error += x * x + y * y
            all += b.power(bin)
        }
        let level = 4.342944819032518 * RenderMath.log(error / all)
        #expect(level < -55, "\(level) dB")
        #expect(abs(found.arrival - 240) <= 5)
        #expect(found.trimmed().frameCount < 42_000)
    }

    @Test func theWayOfTheSoundIsItsDelay() throws {
        var room = [Float](repeating: 0, count: 5_000)
        room[1_234] = 0.5
        let sweep = try ResponseSweep(duration: 1, sampleRate: rate)
        let found = try sweep.response(of: recorded(room, sweep, tail: 1, noise: 0.001))
        #expect(abs(found.arrival - 1_234) <= 5, "\(found.arrival)")
        let trimmed = found.trimmed()
        #expect(abs(trimmed.arrival - 48) <= 5 && trimmed.frameCount < 10_000)
    }

    @Test func eachMissingMeasurementGivesASentence() throws {
        #expect(throws: ImpulseResponseError.self) { try ResponseSweep(sampleRate: .nan) }
        #expect(throws: ImpulseResponseError.self) { try ResponseSweep(duration: .infinity, sampleRate: rate) }
        #expect(throws: ImpulseResponseError.self) { try ResponseSweep(range: 0...10, sampleRate: rate) }
        #expect(throws: ImpulseResponseError.self) { try ResponseSweep(sampleRate: rate, level: 2) }
        let sweep = try ResponseSweep(duration: 1, sampleRate: rate)
        #expect(throws: ImpulseResponseError.self) { try sweep.response(of: AudioBlock(channels: 1, frames: 100)) }
        #expect(throws: ImpulseResponseError.self) { try sweep.response(of: AudioBlock(channels: 1, frames: 90_000)) }
        #expect(throws: ImpulseResponseError.self) {
            try sweep.response(of: AudioBlock(channels: 1, frames: 2_000_000))
        }
        // A response of one frame has no decay, and does not trap.
        let click = try ImpulseResponse(AudioBlock([[1]]), sampleRate: rate)
        for decay in click.decay() { #expect(decay.t30 == nil && decay.c50 == nil) }
        #expect(click.trimmed().frameCount == 1)
    }
}
