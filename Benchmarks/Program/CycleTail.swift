import CBench
import RenderStack

/// The times of cycles of 64 frames, each begun when it is due, and beside each one that of a reference: sums of products that
/// take as long as the median, without a job or a branch. The two take turns at being first.
struct CycleTail {
    private(set) var cycles: [Double] = []
    private(set) var reference: [Double] = []
    let isRealtime: Bool

    /// Returns the medians of the cycles by their place among so many that repeat, and those of the reference.
    func places(_ count: Int) -> (cycles: [Double], reference: [Double]) {
        func medians(_ times: [Double]) -> [Double] {
            (0..<count).map { place in
                median(times.indices.filter { $0 % count == place }.map { times[$0] })
            }
        }
        return (medians(cycles), medians(reference))
    }

    init(of renderer: Renderer, seconds: Double) {
        var block = AudioBlock(channels: 2, frames: Score.cycle)
        isRealtime = bench_realtime(60) == 0
        var work = Reference()
        let period = Double(Score.cycle) * 1e9 / Score.sampleRate
        // Before the measurement the reference finds its length, three times.
        let trials = [750, 1_500, 2_250]
        let (first, start) = (3_000, HostClock.now)
        for cycle in 0..<(first + Int(seconds * 1e9 / period)) {
            let due = start + Int64(Double(cycle) * period)
            bench_sleep(due)
            if cycle % 2 == 1 { reference.append(time { work.run() }) }
            cycles.append(time { renderer.render(into: &block, hostTime: due) })
            if cycle % 2 == 0 { reference.append(time { work.run() }) }
            if trials.contains(cycle) { work.scale(median(cycles) / max(1, median(reference))) }
            if trials.contains(cycle) || cycle == first - 1 { (cycles, reference) = ([], []) }
        }
        if work.sum.isNaN { stop("the reference has lost its sum") }
    }

    /// Returns the least time of each cycle among renderers that begin anew with the same sound, with the reference between two
    /// cycles, so that the caches are not those of a loop. What another program takes is not in it, unless it comes back in the
    /// same cycle each time.
    static func leastTimes(of cycles: Int, replays: Int, _ make: () throws -> Renderer) rethrows -> [Double] {
        var least = [Double](repeating: .infinity, count: cycles)
        var block = AudioBlock(channels: 2, frames: Score.cycle)
        var work = Reference()
        for _ in 0..<replays {
            let renderer = try make()
            renderer.settle()
            for cycle in 0..<cycles {
                let took = time { renderer.render(into: &block, hostTime: 0) }
                least[cycle] = min(least[cycle], took)
                work.run()
            }
        }
        if work.sum.isNaN { stop("the reference has lost its sum") }
        return least
    }

    /// W2 with as many voices as fill half of a cycle, and beside each cycle the same voices in C.
    static func voices(seconds: Double) throws -> (tail: CycleTail, voices: Int) {
        let period = Double(Score.cycle) * 1e9 / Score.sampleRate
        var count = 256
        for _ in 0..<3 {
            let trial = RendererLine("RenderStack", try Voices.modules(count))
            trial.renderer.settle()
            // In turn as below: what the other one computes with takes the caches.
            let other = Voices.contestants(count, inLanes: false, ours: nil).last
            let cost = median(
                (0..<500).map { _ in
                    other?.render(frames: Score.cycle)
                    return time { trial.render(frames: Score.cycle) }
                })
            count = min(8_000, max(8, Int(0.5 * period * Double(count) / cost)))
        }
        let ours = RendererLine("RenderStack", try Voices.modules(count))
        ours.renderer.settle()
        let all = Voices.contestants(count, inLanes: false, ours: nil)
        guard let beside = all.last else { stop("there is no C to be measured beside") }
        return (CycleTail(of: ours, beside: beside, seconds: seconds), count)
    }

    private init(of ours: any Line, beside: any Line, seconds: Double) {
        isRealtime = bench_realtime(60) == 0
        let period = Double(Score.cycle) * 1e9 / Score.sampleRate
        // Half of each period is ours, so both have every second one.
        let (first, start) = (1_000, HostClock.now)
        for cycle in 0..<(first + Int(seconds * 1e9 / period / 2)) {
            bench_sleep(start + Int64(Double(2 * cycle) * period))
            if cycle % 2 == 1 { reference.append(time { beside.render(frames: Score.cycle) }) }
            cycles.append(time { ours.render(frames: Score.cycle) })
            if cycle % 2 == 0 { reference.append(time { beside.render(frames: Score.cycle) }) }
            if cycle == first - 1 { (cycles, reference) = ([], []) }
        }
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
}

private func time(_ work: () -> Void) -> Double {
    let begin = HostClock.now
    work()
    return Double(HostClock.now - begin)
}
