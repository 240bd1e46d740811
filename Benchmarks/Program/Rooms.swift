import CBench
import RenderStack

/// W7: a stereo sound through a stereo response of two seconds, offline, so that no job is late.
enum Rooms {
    /// Processor time of all threads in nanoseconds a stereo frame, a value a round: that of the sound through the response minus
    /// that of the sound alone.
    static func measure(
        _ input: [[Float]], _ response: [[Float]], cycle: Int, isSpread: Bool, rounds: Int
    ) throws -> [Double] {
        let with = try renderer(input, try reverb(response, isSpread))
        let without = try renderer(input, nil)
        for renderer in [with, without] { _ = cost(renderer, cycle, seconds: 3) }
        return (0..<rounds).map { _ in cost(with, cycle, seconds: 5) - cost(without, cycle, seconds: 5) }
    }

    /// Returns a reverb that lets its response be.
    static func reverb(_ response: [[Float]], _ isSpread: Bool) throws -> ConvolutionReverb {
        let settings = ConvolutionReverb.Settings(isTrimmed: false, isNormalised: false)
        let response = try ImpulseResponse(AudioBlock(response), sampleRate: Score.sampleRate)
        return isSpread
            ? try ConvolutionReverb(response, settings: settings, mix: 1, fade: 0.05, isSpread: true)
            : try ConvolutionReverb(response, settings: settings, mix: 1)
    }

    /// Returns a renderer of a sound through a reverb, or of the sound alone.
    static func renderer(_ input: [[Float]], _ reverb: ConvolutionReverb?) throws -> Renderer {
        let source = Around(input)
        return try Renderer(layout: StackLayout(slots: 4, channels: 2, frames: 4_096)) { context in
            context.run(source)
            if let reverb { context.run(reverb) }
            context.output()
        }
    }

    /// Noise that decays by 60 dB in two seconds.
    static func response() -> [[Float]] {
        (11...12).map { seed in
            noise(96_000, seed: UInt64(seed)).enumerated().map {
                $1 * RenderMath.exp(-6.907755 * Float($0) / 96_000) * 0.05
            }
        }
    }

    /// The cycles of noise through that reverb, and the number of parts that were late.
    static func tail(seconds: Double, isSpread: Bool) throws -> (tail: CycleTail, lateCount: Int) {
        let reverb = try reverb(response(), isSpread)
        let renderer = try renderer([noise(48_000, seed: 1), noise(48_000, seed: 2)], reverb)
        return (CycleTail(of: renderer, seconds: seconds), reverb.lateCount)
    }

    private static func cost(_ renderer: Renderer, _ cycle: Int, seconds: Int) -> Double {
        var block = AudioBlock(channels: 2, frames: cycle)
        let cycles = seconds * 48_000 / cycle
        let start = bench_process_time()
        for _ in 0..<cycles { renderer.render(into: &block, hostTime: 0, isOffline: true) }
        return Double(bench_process_time() - start) / Double(cycles * cycle)
    }
}
