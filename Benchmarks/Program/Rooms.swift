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

    /// The times of cycles of 64 frames, each begun when it is due, and beside each one that of a reference: sums of products
    /// that take as long as the median, without a job or a branch. The two take turns at being first.
    struct Tail {
        var cycles: [Double] = []
        var reference: [Double] = []
        var lateCount = 0
        var isRealtime = false
    }

    static func tail(seconds: Double, isSpread: Bool) throws -> Tail {
        let reverb = try reverb(response(), isSpread)
        let renderer = try renderer([noise(48_000, seed: 1), noise(48_000, seed: 2)], reverb)
        var block = AudioBlock(channels: 2, frames: Score.cycle)
        var tail = Tail()
        tail.isRealtime = bench_realtime(60) == 0
        var reference = Reference()
        let period = Double(Score.cycle) * 1e9 / Score.sampleRate
        // Before the measurement the reference finds its length, three times.
        let trials = [750, 1_500, 2_250]
        let (first, start) = (3_000, HostClock.now)
        for cycle in 0..<(first + Int(seconds * 1e9 / period)) {
            let due = start + Int64(Double(cycle) * period)
            bench_sleep(due)
            if cycle % 2 == 1 { tail.reference.append(time { reference.run() }) }
            tail.cycles.append(time { renderer.render(into: &block, hostTime: due) })
            if cycle % 2 == 0 { tail.reference.append(time { reference.run() }) }
            if trials.contains(cycle) { reference.scale(median(tail.cycles) / max(1, median(tail.reference))) }
            if trials.contains(cycle) || cycle == first - 1 { (tail.cycles, tail.reference) = ([], []) }
        }
        if reference.sum.isNaN { stop("the reference has lost its sum") }
        tail.lateCount = reverb.lateCount
        return tail
    }

    private static func time(_ work: () -> Void) -> Double {
        let begin = HostClock.now
        work()
        return Double(HostClock.now - begin)
    }

    /// Sums of products over as much memory as the render thread's part of a response has.
    private struct Reference {
        private let numbers = noise(32_768, seed: 3)
        private var place = 0
        private var length = 1_000
        private(set) var sum: Float = 0

        mutating func run() {
            for _ in 0..<length {
                sum += numbers[place] * numbers[32_767 - place]
                place = (place + 1) & 32_767
            }
        }

        mutating func scale(_ ratio: Double) { length = max(16, Int(Double(length) * ratio)) }
    }

    private static func cost(_ renderer: Renderer, _ cycle: Int, seconds: Int) -> Double {
        var block = AudioBlock(channels: 2, frames: cycle)
        let cycles = seconds * 48_000 / cycle
        let start = bench_process_time()
        for _ in 0..<cycles { renderer.render(into: &block, hostTime: 0, isOffline: true) }
        return Double(bench_process_time() - start) / Double(cycles * cycle)
    }
}
