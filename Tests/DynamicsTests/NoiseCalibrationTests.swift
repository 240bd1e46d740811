import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

// Another type of the tests has this name too.
private typealias Gate = Dynamics.Gate

@Suite("A gate that listens to the room")
struct NoiseCalibrationTests {
    /// The level in dB that 19 of 20 blocks of 10 ms stay below, of the magnitudes at 48 kHz.
    private func floor(_ samples: [Float]) -> Double {
        let blocks = stride(from: 0, to: samples.count - 479, by: 480).map { start in
            samples[start..<start + 480].reduce(0) { max($0, abs($1)) }
        }
        let sorted = blocks.sorted()
        return decibels(sorted[sorted.count - sorted.count / 20 - 1])
    }

    private func finding(_ calibration: NoiseCalibration) -> NoiseCalibration.Finding? {
        if case .calibrated(let found) = calibration.ending { found } else { nil }
    }

    @Test("The threshold lies by the margin above the noise: the gate stays closed, and a tone 2 dB above opens it")
    func threshold() throws {
        let hiss = noise(96_000, level: 0.004)
        let gate = Gate(threshold: -80, range: 60, release: 0.01)
        let tone = sine(24_000, frequency: 1_000, level: 0.004 * factor(8))
        let renderer = try renderer([hiss + hiss + tone], through: gate)
        let calibration = gate.calibrate()
        #expect(calibration.ending == nil)
        // It was open before, and stays so while it listens.
        let first = render(renderer, frames: 96_000)[0]
        #expect(Array(first[2_000...]) == Array(hiss[2_000...]))
        let found = try #require(finding(calibration))
        #expect(abs(Double(found.noise) - floor(hiss)) < 0.11)
        #expect(abs(found.threshold - found.noise - 6) < 1e-4 && gate.threshold.value == found.threshold)
        #expect(found.hysteresis == 4 && gate.hysteresis.value == 4)
        let second = render(renderer, frames: 96_000)[0]
        #expect(second[30_000...].allSatisfy { abs($0) < 0.004 * 0.0011 })
        let third = render(renderer, frames: 24_000)[0]
        #expect(Array(third[4_800...]) == Array(tone[4_800...]))
    }

    @Test("What counts is what the detector hears: by RMS, through filters, of the loudest channel, of the key below")
    func detectors() throws {
        let (soft, loud) = (noise(48_000, level: 0.001), noise(48_000, seed: 5, level: 0.01))
        func run(
            _ gate: some DynamicsModule, _ calibration: NoiseCalibration, _ sound: [[Float]], key: [[Float]]? = nil
        ) throws
            -> Double
        {
            _ = try play(sound, key: key, through: gate)
            return Double(try #require(finding(calibration)).noise)
        }
        let rms = Gate(detector: .rms(seconds: 0.2))
        let power = try run(rms, rms.calibrate(for: .seconds(1)), [loud])
        // Within 5 % of the time the mean square of 200 ms is a little above its mean.
        #expect(abs(power - 10 * log10(0.01 * 0.01 / 3)) < 0.3)
        for isLinked in [true, false] {
            let gate = Gate(isLinked: isLinked)
            let level = try run(gate, gate.calibrate(for: .seconds(1)), [soft, loud])
            #expect(abs(level - floor(loud)) < 0.11)
        }
        let below = Expander(key: .below)
        let key = try run(below, below.calibrate(for: .seconds(1)), [loud], key: [soft])
        #expect(abs(key - floor(soft)) < 0.11)
        // A hum of 50 Hz that the key's filter takes away by 24 dB.
        let hum = sine(48_000, frequency: 50, level: 0.1)
        let filtered = Gate(key: .filtered(highPass: 200, lowPass: 10_000))
        let rest = try run(filtered, filtered.calibrate(for: .seconds(1)), [hum])
        #expect(abs(rest - -44) < 1)
    }

    @Test("A click in the time does not count, and cycles of any length hear the same")
    func click() throws {
        var hiss = noise(48_000, level: 0.002)
        let expected = floor(hiss)
        hiss[20_000] = 0.9
        for cycles in [[1], [64], [512, 3, 100], [4_096]] {
            let expander = Expander()
            let calibration = expander.calibrate(for: .seconds(1), margin: 10)
            _ = try play([hiss], through: expander, cycles: cycles)
            let found = try #require(finding(calibration))
            #expect(abs(Double(found.noise) - expected) < 0.3)
            #expect(abs(found.threshold - found.noise - 10) < 1e-4 && found.hysteresis == nil)
        }
    }

    @Test("The hysteresis becomes at most two thirds of the margin, so that the gate closes on the noise")
    func hysteresis() throws {
        let gate = Gate(threshold: -80, hysteresis: 20, range: 60, release: 0.01)
        let calibration = gate.calibrate(for: .milliseconds(500), margin: 6)
        let hiss = noise(96_000, level: 0.004)
        let renderer = try renderer([hiss], through: gate)
        _ = render(renderer, frames: 24_000)
        #expect(finding(calibration)?.hysteresis == 4 && gate.hysteresis.value == 4)
        #expect(render(renderer, frames: 60_000)[0][40_000...].allSatisfy { abs($0) < 0.004 * 0.0011 })
    }

    @Test("Digital silence, and sound that is not a number, have no level: the threshold is the lowest")
    func silence() throws {
        for sample in [Float(0), 1e-30] {
            let gate = Gate()
            let calibration = gate.calibrate(for: .milliseconds(100))
            _ = try play([[Float](repeating: sample, count: 9_600)], through: gate)
            #expect(finding(calibration)?.noise == -.infinity && gate.threshold.value == -80)
        }
        let gate = Gate()
        let calibration = gate.calibrate(for: .milliseconds(100))
        let renderer = try renderer(
            [[.nan, .infinity, -.infinity] + [Float](repeating: 0, count: 9_600)], through: gate)
        _ = render(renderer, frames: 9_600)
        #expect(finding(calibration) != nil && gate.threshold.value.isFinite)
        // As loud as can be.
        let loud = Gate()
        let other = loud.calibrate(for: .milliseconds(100), margin: 40)
        _ = try play([[Float](repeating: 1e9, count: 9_600)], through: loud)
        #expect(finding(other)?.noise == 50 && loud.threshold.value == 12)
    }

    @Test("Numbers out of range become the nearest") func nonsense() throws {
        let hiss = noise(48_000, level: 0.01)
        for (margin, threshold) in [(Float.nan, 6), (-5, 0), (.infinity, 40), (-.infinity, 0), (1e30, 40)]
            as [(Float, Float)]
        {
            let gate = Gate()
            let calibration = gate.calibrate(for: .milliseconds(-20), margin: margin)
            _ = try play([hiss], through: gate, frames: 2_400)
            let found = try #require(finding(calibration))
            #expect(abs(found.threshold - found.noise - threshold) < 1e-4)
        }
        // A minute is the longest time.
        let gate = Gate()
        let calibration = gate.calibrate(for: .seconds(1e15))
        let renderer = try renderer([[0]], through: gate, sampleRate: 1_000)
        _ = render(renderer, frames: 59_980)
        #expect(calibration.ending == nil)
        _ = render(renderer, frames: 20)
        #expect(calibration.ending != nil)
    }

    @Test("A second call ends the first, and cancelling leaves the threshold as it is") func cancelling() async throws {
        let gate = Gate(threshold: -33)
        let first = gate.calibrate()
        let second = gate.calibrate()
        #expect(first.ending == .cancelled && second.ending == nil)
        #expect(await first.wait() == .cancelled)
        let renderer = try renderer([noise(96_000, level: 0.001)], through: gate)
        _ = render(renderer, frames: 40_000)
        second.cancel()
        second.cancel()
        _ = render(renderer, frames: 96_000)
        #expect(second.ending == .cancelled && gate.threshold.value == -33)
        // A task that is cancelled takes its calibration with it.
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let third = gate.calibrate()
            let ending = await third.wait()
            return [ending, third.ending]
        }
        #expect(await task.value == [.cancelled, .cancelled])
        // The next one works.
        let fourth = gate.calibrate(for: .milliseconds(100))
        _ = render(renderer, frames: 4_800)
        guard case .calibrated = await fourth.wait() else {
            Issue.record("\(String(describing: fourth.ending))")
            return
        }
        fourth.cancel()
        #expect(fourth.ending != .cancelled)
    }

    @Test("A gate that nothing runs ends as unheard after five seconds, whoever waits, and sets nothing")
    func unheard() async {
        let gate = Gate(threshold: -33)
        let calibration = gate.calibrate()
        await confirmation { told in
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            calibration.when { ending in
                #expect(ending == .unheard)
                continuation.yield()
                continuation.finish()
            }
            for await _ in stream { told() }
        }
        #expect(await calibration.wait() == .unheard)
        #expect(gate.threshold.value == -33)
        // The module is gone, and nobody waits for ever.
        let orphan = Gate().calibrate()
        #expect(await orphan.wait() == .unheard)
    }

    @Test("A reset and another sample rate begin the listening anew") func anew() throws {
        let gate = Gate()
        let calibration = gate.calibrate(for: .milliseconds(500))
        let (source, quiet) = (Playback([noise(24_000, level: 0.5)]), noise(96_000, level: 0.001))
        let resets = Switch()
        let other = Playback([quiet])
        let isSecond = Switch()
        let renderer = try Renderer(channels: 1) { context in
            if isSecond.isOn(context) { context.run(other) } else { context.run(source) }
            if resets.isOn(context) { context.reset(gate) }
            context.run(gate)
            context.output()
        }
        _ = render(renderer, frames: 20_480)
        (resets.isOn, isSecond.isOn) = (true, true)
        _ = render(renderer, frames: 512)
        resets.isOn = false
        _ = render(renderer, frames: 10_000)
        #expect(calibration.ending == nil)
        _ = render(renderer, frames: 24_000)
        #expect((finding(calibration)?.noise ?? 0) < -55)
    }

    @Test("Live it ends by itself, without anybody who asks, and calls from many threads leave one") func live()
        async throws
    {
        let gate = Gate(threshold: -10)
        let hiss = Noise(.white, level: 0.01)
        let renderer = try Renderer { context in
            context.run(hiss)
            context.run(gate)
            context.output()
        }
        let output = ClockOutput(renderer)
        try output.start()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<20 { _ = gate.calibrate(for: .milliseconds(100 + 10 * number)).ending }
                }
            }
        }
        let calibration = gate.calibrate(for: .milliseconds(100))
        let (stream, continuation) = AsyncStream.makeStream(of: NoiseCalibration.Ending.self)
        calibration.when { continuation.yield($0) }
        for await ending in stream {
            guard case .calibrated(let found) = ending else {
                Issue.record("\(ending)")
                break
            }
            #expect(gate.threshold.value == found.threshold && found.threshold < -20)
            break
        }
        output.stop()
        #expect(renderer.faultCount == 0)
    }

    @Test("It keeps the contract of modules while it listens") func contract() {
        let gate = ModuleContract {
            // With a range of 0 the threshold that comes is not heard.
            let gate = Gate(threshold: -12, range: 0)
            gate.calibrate(for: .milliseconds(50))
            return gate
        }
        .leavingOut(
            parameters: "threshold", "hysteresis", "range", "attack", "release", "hold", "mix",
            because: "the gate does nothing")
        #expect(gate.violations() == [])
    }
}
