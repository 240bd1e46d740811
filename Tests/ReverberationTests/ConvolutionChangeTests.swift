import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import Reverberation

/// New responses while it plays, odd responses, and how loud they become.
@Suite struct ConvolutionChangeTests {
    func response(_ channels: [[Float]], _ sampleRate: Double = 48_000) throws -> ImpulseResponse {
        try ImpulseResponse(AudioBlock(channels), sampleRate: sampleRate)
    }

    func renderer(_ source: Playback, _ reverb: ConvolutionReverb) throws -> Renderer {
        try Renderer(channels: 1) { context in
            context.run(source)
            context.run(reverb)
            context.output()
        }
    }

    @Test func aNewResponseFadesInWhileTheOldOneRingsOut() throws {
        let (old, new) = (decayingNoise(9_000, decay: 9_000, seed: 1), decayingNoise(30_000, decay: 20_000, seed: 2))
        let sound = noise(40_000, seed: 3)
        let reverb = try ConvolutionReverb(response([old]), settings: plain, mix: 1, fade: 0.01)
        let renderer = try renderer(Playback([sound]), reverb)
        let before = renderer.renderOffline(frames: 10_000, cycle: 100)
        try reverb.setResponse(response([new]), settings: plain)
        let after = renderer.renderOffline(frames: 60_000, cycle: 100)
        // Each of the two gets the sound, faded over 480 frames.
        let share = (0..<40_000).map { (i: Int) -> Float in Float(min(1, max(0, Double(i - 10_000) / 480))) }
        let (toNew, toOld) = (zip(sound, share).map { $0 * $1 }, zip(sound, share).map { $0 * (1 - $1) })
        var (error, all) = (0.0, 0.0)
        for frame in stride(from: 0, to: 70_000, by: 173) {
            let heard = Double(frame < 10_000 ? before[0, frame] : after[0, frame - 10_000])
            let wanted = convolved(toOld, old, at: frame) + convolved(toNew, new, at: frame)
            error += (heard - wanted) * (heard - wanted)
            all += wanted * wanted
        }
        let level = 4.342944819032518 * RenderMath.log(error / all)
        #expect(level < -125, "\(level) dB")
    }

    @Test("A ring ends on its frame, in cycles of any length", arguments: [(700, 0.05), (2_185, 0), (9_000, 0.05)])
    func ringsEndAlike(frames: Int, fade: Double) throws {
        let sound = noise(20_000, seed: 4)
        var first: [Float] = []
        for cycle in [512, 1, 64, 100, 333, 4_096] {
            let reverb = try ConvolutionReverb(
                response([noise(frames, seed: 5)]), settings: plain, mix: 1, fade: fade)
            let renderer = try renderer(Playback([sound]), reverb)
            let before = renderer.renderOffline(frames: 5_000, cycle: cycle).array(0)
            try reverb.setResponse(response([[1]]), settings: plain)
            let heard = before + renderer.renderOffline(frames: 16_000, cycle: cycle).array(0)
            if first.isEmpty { first = heard }
            #expect(heard == first, "cycles of \(cycle)")
        }
    }

    @Test func manyNewResponsesMakeNoClick() throws {
        // A slow sine through responses of one gain: whatever the fades do, it moves slowly.
        let sound = (0..<96_000).map { Float(RenderMath.sin(2 * .pi * 100 * Double($0) / 48_000)) }
        let reverb = try ConvolutionReverb(response([[1]]), settings: plain, mix: 1)
        let renderer = try renderer(Playback([sound]), reverb)
        var (last, largest): (Float, Float) = (0, 0)
        for change in 0..<20 {
            let gain: Float = change % 2 == 0 ? 0.2 : -1
            try reverb.setResponse(response([[gain] + [Float](repeating: 0, count: 3_000)]), settings: plain)
            // Longer than the fade, and shorter than the ring.
            let block = renderer.renderOffline(frames: 2_500)
            for frame in 0..<block.frameCount {
                largest = max(largest, abs(block[0, frame] - last))
                last = block[0, frame]
            }
        }
        #expect(largest < 0.02, "a step of \(largest)")
    }

    @Test func pinkNoiseComesOutAsLoudAsItWentIn() throws {
        let kinds: [[[Float]]] = [
            [decayingNoise(48_000, decay: 40_000, seed: 1)], [[0, 0, 3]],
            [decayingNoise(9_000, decay: 9_000, seed: 1), decayingNoise(9_000, decay: 9_000, seed: 2).map { 50 * $0 }],
        ]
        for channels in kinds {
            let reverb = try ConvolutionReverb(response(channels), mix: 1)
            let sound = pinkNoise(200_000, seed: 7)
            let heard = try play([sound, pinkNoise(200_000, seed: 8)], through: reverb, frames: 200_000)
            let level = loudness(heard.array(0).suffix(140_000), heard.array(1).suffix(140_000))
            let wanted = loudness(sound.suffix(140_000), pinkNoise(200_000, seed: 8).suffix(140_000))
            #expect(abs(level - wanted) < 0.7, "\(level) dB, not \(wanted)")
        }
    }

    @Test func otherRatesKeepTheirSound() throws {
        // A decay at 96 kHz is the same decay at 48 kHz.
        func decay(_ count: Int, level: Double) -> [Float] {
            let step: Double = 20_000 / Double(count)
            return (0..<count).map { i in
                let time: Double = Double(i) * step
                let fall: Double = RenderMath.exp(-time / 4_000)
                return Float(level * fall * RenderMath.sin(time / 40))
            }
        }
        let fine = decay(20_000, level: 1)
        let coarse = decay(10_000, level: 2)
        let click: [Float] = [1]
        let a = try play(
            [click], through: ConvolutionReverb(response([fine], 96_000), settings: plain, mix: 1), frames: 9_000)
        let b = try play(
            [click], through: ConvolutionReverb(response([coarse]), settings: plain, mix: 1), frames: 9_000)
        let difference = (300..<9_000).map { abs(a[0, $0] - b[0, $0]) }.max() ?? 1
        #expect(difference < 2e-3, "\(difference)")
    }

    @Test func preDelayStretchAndDecayChangeTheResponse() throws {
        let flat = [Float](repeating: 1, count: 4_800)
        func heard(_ settings: ConvolutionReverb.Settings) throws -> AudioBlock {
            try play([[1]], through: ConvolutionReverb(response([flat]), settings: settings, mix: 1), frames: 24_000)
        }
        let delayed = try heard(.init(isTrimmed: false, isNormalised: false, preDelay: 0.01))
        #expect(abs(delayed[0, 479]) < 1e-6 && abs(delayed[0, 480] - 1) < 1e-5)
        let decaying = try heard(.init(isTrimmed: false, isNormalised: false, decay: 0.1))
        let expected: Float = RenderMath.exp(-6.907755 * 0.5)
        #expect(abs(decaying[0, 2_400] / expected - 1) < 1e-3)
        let long = try heard(.init(isTrimmed: false, isNormalised: false, stretch: 2))
        #expect(abs(long[0, 7_000] - 0.5) < 0.02 && abs(long[0, 10_500]) < 0.02)
    }

    @Test func oddResponsesGiveASentence() throws {
        #expect(throws: ImpulseResponseError.self) { try response([[]]) }
        #expect(throws: ImpulseResponseError.self) { try response([[0, .nan]]) }
        #expect(throws: ImpulseResponseError.self) { try response([[1]], 0) }
        #expect(throws: ImpulseResponseError.self) { try response([[1]], .nan) }
        #expect(throws: ImpulseResponseError.self) { try ConvolutionReverb(response([[0, 0]])) }
        #expect(throws: ImpulseResponseError.self) { try ConvolutionReverb(response([[1], [1], [1]])) }
        let minutes = try ImpulseResponse(
            AudioBlock([[1] + [Float](repeating: 0.5, count: 600_000)]), sampleRate: 1_000)
        let error = #expect(throws: ImpulseResponseError.self) { try ConvolutionReverb(minutes) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("601 s long"))
        let whole = try ConvolutionReverb(minutes, settings: .init(maximumTime: 700))
        _ = try play([[1]], through: whole, frames: 100, sampleRate: 1_000)
        #expect(whole.memoryBytes > 600_000 * 16 && whole.memoryBytes < 600_000 * 150)
    }

    @Test func filesComeBackAsTheyWere() async throws {
        let folder = try TemporaryFolder()
        let made = try response([noise(500, seed: 1), noise(500, seed: 2)], 44_100)
        try made.save(path: "\(folder.path)/room.wav")
        let read = try await ImpulseResponse.load(path: "\(folder.path)/room.wav")
        #expect(read.array(0) == made.array(0) && read.array(1) == made.array(1))
        #expect(read.sampleRate == 44_100)
    }

    @Test func lateJobsAreSilentAndCounted() throws {
        let long = noise(200_000, seed: 1)
        let reverb = try ConvolutionReverb(response([long]), settings: plain, mix: 1)
        let blocker = Blocker()
        let source = Playback([noise(300_000, seed: 2)])
        let renderer = try Renderer(channels: 1) { context in
            context.run(source)
            context.run(blocker)
            context.run(reverb)
            context.output()
        }
        var block = AudioBlock(channels: 1, frames: 512)
        renderer.render(into: &block, hostTime: 0)
        blocker.gate.awaitThreads()
        defer { blocker.gate.open() }
        for _ in 0..<80 { renderer.render(into: &block, hostTime: 0) }
        // No thread computes: every block of 2,048 frames from the second on is late, and the second of 16,384.
        #expect(reverb.lateCount >= 19)
        blocker.gate.open()
        // Behind the last late job it is whole again, and silent in the end.
        let rest = renderer.renderOffline(frames: 600_000)
        #expect((0..<600_000).allSatisfy { rest[0, $0].isFinite })
        #expect((520_000..<600_000).allSatisfy { rest[0, $0] == 0 })
    }
}

/// Keeps all threads for jobs busy until it is opened.
private final class Gate: Sendable {
    let isOpen = Atomic<Bool>(false)
    let count = Atomic<Int>(0)
    func open() { isOpen.store(true, ordering: .releasing) }
    func pass() {
        count.wrappingAdd(1, ordering: .releasing)
        while !isOpen.load(ordering: .acquiring) { usleep(1_000) }
    }
    func awaitThreads() {
        let threads = max(1, min(4, ProcessInfo.processInfo.activeProcessorCount - 1))
        while count.load(ordering: .acquiring) < threads { usleep(1_000) }
    }
}

/// Submits four jobs that wait at a gate: one for each thread that there may be.
private final class Blocker: Effect {
    let gate = Gate()
    private let first: BackgroundWork<Int>
    private let second: BackgroundWork<Int>
    private let third: BackgroundWork<Int>
    private let fourth: BackgroundWork<Int>

    init() {
        let gate = gate
        first = BackgroundWork(0) { _ in gate.pass() }
        second = BackgroundWork(0) { _ in gate.pass() }
        third = BackgroundWork(0) { _ in gate.pass() }
        fourth = BackgroundWork(0) { _ in gate.pass() }
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        first.submit(context, deadline: 0)
        second.submit(context, deadline: 0)
        third.submit(context, deadline: 0)
        fourth.submit(context, deadline: 0)
    }
}

/// Pink noise by Kellet's filter.
func pinkNoise(_ frames: Int, seed: UInt64) -> [Float] {
    var (a, b, c) = (0.0, 0.0, 0.0)
    return noise(frames, seed: seed).map { white in
        let x = Double(white)
        a = 0.99765 * a + x * 0.0990460
        b = 0.96300 * b + x * 0.2965164
        c = 0.57000 * c + x * 1.0526913
        return Float(0.05 * (a + b + c + x * 0.1848))
    }
}

/// The K-weighted level of two channels in dB, by ITU-R BS.1770 without gates, at 48 kHz.
func loudness(_ left: ArraySlice<Float>, _ right: ArraySlice<Float>) -> Double {
    func energy(_ samples: ArraySlice<Float>) -> Double {
        var (u1, u2, v1, v2, sum) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for sample in samples {
            let u = Double(sample) + 1.69065929318241 * u1 - 0.73248077421585 * u2
            let y = 1.53512485958697 * u - 2.69169618940638 * u1 + 1.19839281085285 * u2
            (u2, u1) = (u1, u)
            let v = y + 1.99004745483398 * v1 - 0.99007225036621 * v2
            let z = v - 2 * v1 + v2
            (v2, v1) = (v1, v)
            sum += z * z
        }
        return sum / Double(samples.count)
    }
    return 4.342944819032518 * RenderMath.log(energy(left) + energy(right))
}
