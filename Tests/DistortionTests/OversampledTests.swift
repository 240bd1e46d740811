import RenderStack
import RenderStackTesting
import Synchronization
import TestSupport
import Testing

/// Leaves the sound, a few frames later, and notes what it finds.
private final class Probe: Effect {
    let frames: Int
    let rate = Atomic<UInt64>(0)
    let total = Atomic<Int>(0)
    let sampleTime = Atomic<Int64>(-1)
    let resets = Atomic<Int>(0)
    let gain = Parameter(1, in: 0...1, glide: .linear(.milliseconds(10)))
    var parameters: [ParameterReference] { [gain.named("gain")] }
    private let line: RenderState<RenderMemory<Float>>

    init(late frames: Int = 0) {
        self.frames = frames
        line = RenderState(RenderMemory(repeating: 0, count: 64 * (frames + 1)))
    }

    func latency(at sampleRate: Double) -> Int { frames }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        rate.store(context.sampleRate.bitPattern, ordering: .relaxed)
        total.wrappingAdd(context.frameCount, ordering: .relaxed)
        sampleTime.store(context.sampleTime, ordering: .relaxed)
        let (frames, gain) = (frames, gain.glide(context))
        line.withTop(&context) { line, top in
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                for i in samples.indices {
                    let sample = gain[i] * samples[i]
                    if frames == 0 {
                        samples[i] = sample
                        continue
                    }
                    samples[i] = line[channel * frames]
                    for k in 1..<frames { line[channel * frames + k - 1] = line[channel * frames + k] }
                    line[channel * frames + frames - 1] = sample
                }
            }
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) {
        resets.wrappingAdd(1, ordering: .relaxed)
        line.with(&context) { line, _ in for i in 0..<line.count { line[i] = 0 } }
    }
}

@Suite struct OversampledTests {
    @Test("It keeps the contract, with an effect with parameters inside", arguments: [1, 2, 8]) func contract(
        times: Int
    ) {
        #expect(ModuleContract { Oversampled(Probe(late: 5), times: times) }.violations() == [])
    }

    @Test("It keeps the contract, with an effect with a memory and one with a tail inside")
    func contractOfOthers() {
        #expect(ModuleContract { Oversampled(LowPass(cutoff: 900), times: 4) }.violations() == [])
        let echo = ModuleContract(tail: .seconds(2)) {
            Oversampled(Delay(time: 0.01, feedback: 0.3, maximumTime: 0.05), times: 2)
        }
        #expect(
            echo.leavingOut(parameters: "beats", because: "it is for tempos").violations() == [])
    }

    @Test("The module inside has the higher rate, its frames, its sample time and its glides") func inside() throws {
        let probe = Probe()
        let oversampled = Oversampled(probe, times: 4)
        let renderer = try renderer([[Float](repeating: 0.5, count: 9_600)], through: oversampled)
        try renderer.transaction(at: .sample(4_801)) { probe.gain.value = 0 }
        let output = render(renderer, frames: 9_600, cycles: [100, 1, 700])[0]
        #expect(Double(bitPattern: probe.rate.load(ordering: .relaxed)) == 192_000)
        #expect(probe.total.load(ordering: .relaxed) == 4 * 9_600)
        #expect(probe.sampleTime.load(ordering: .relaxed) % 4 == 0)
        #expect(probe.sampleTime.load(ordering: .relaxed) < 4 * 9_600)
        // Half way down after 5 ms, not after 1.25 ms. The sound is 74.5 frames late there, and a half on its way down.
        let way = oversampled.latency(at: 48_000) / 2
        #expect(abs(output[4_801 + 240 + way] - 0.25) < 0.003)
        #expect(abs(output[4_801 + 480 + 3 * way]) < 1e-6 && abs(output[4_801] - 0.5) < 1e-6)
    }

    @Test("The latency is that of the filters and of the module, rounded up", arguments: [2, 4, 8, 16])
    func latencies(times: Int) throws {
        for late in [0, 1, 3, 8, 9] {
            let oversampled = Oversampled(Probe(late: late), times: times)
            let filters = HalfBandResampler.latency(times: times)
            let expected = (filters + late + times - 1) / times
            #expect(oversampled.latency(at: 48_000) == expected)
            var impulse = [Float](repeating: 0, count: 600)
            impulse[100] = 1
            let output = try play([impulse], through: oversampled)[0]
            let loudest = try #require(output.indices.max { output[$0] < output[$1] })
            #expect(loudest == 100 + expected)
            // Whole: the answer is even around the place.
            for i in 1..<50 { #expect(abs(output[loudest - i] - output[loudest + i]) < 1e-6) }
            #expect(unevenness(output, 1) < 0.1)
        }
    }

    @Test("At a rate that is too high for the factor, the factor is lower") func highRates() throws {
        let probe = Probe(late: 8)
        let oversampled = Oversampled(probe, times: 16)
        _ = try play([noise(2_000)], through: oversampled, sampleRate: 192_000)
        #expect(Double(bitPattern: probe.rate.load(ordering: .relaxed)) == 768_000)
        #expect(oversampled.latency(at: 192_000) == (HalfBandResampler.latency(times: 4) + 8 + 3) / 4)
        #expect(oversampled.latency(at: 1_000_000) == 8)
    }

    @Test("A reset resets the module inside") func reset() throws {
        let probe = Probe(late: 3)
        let oversampled = Oversampled(probe, times: 2)
        let source = Playback([noise(4_000)])
        let renderer = try Renderer(channels: 1) { context in
            context.run(source)
            context.run(oversampled)
            context.output()
        }
        _ = render(renderer, frames: 1_000)
        try renderer.messages.send { context in context.reset(oversampled) }
        _ = render(renderer, frames: 1_000)
        #expect(probe.resets.load(ordering: .relaxed) == 1)
    }

    @Test("A closure module runs at the higher rate, with any number of channels") func closures() throws {
        let seen = Parameter(0, in: 0...1e6)
        let oversampled = Oversampled(
            ClosureModule(.edits) { context in
                seen.value = Float(context.sampleRate)
                context.gain(0.5)
            }, times: 8)
        let input = (0..<5).map { noise(1_000, seed: UInt64($0 + 1)) }
        let output = try play(input, through: oversampled)
        #expect(seen.value == 384_000)
        #expect(output.count == 5 && output.allSatisfy { $0.contains { abs($0) > 0.1 } })
    }

    @Test("A sample that is not a number is a fault, and the sound comes back") func notANumber() throws {
        var input = noise(20_000)
        input[5_000] = .nan
        input[9_000] = .infinity
        let oversampled = Oversampled(Probe(), times: 4)
        let renderer = try renderer([input], through: oversampled)
        let output = render(renderer, frames: 20_000)[0]
        #expect(renderer.faultCount >= 2)
        #expect(output.allSatisfy { $0.isFinite })
        #expect(output[11_000...].contains { abs($0) > 0.1 })
    }
}
