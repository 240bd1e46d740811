import CBench
import RenderStack

/// The growth of a cycle's time with the number of its modules.
enum Growth {
    struct Point {
        let size: Int
        /// Nanoseconds of processor time of a cycle.
        let median, high, highest: Double
    }

    static func sizes(_ kind: String) -> [Int] {
        switch kind {
        case "voices": [1, 4, 16, 64, 256, 1_024, 2_048, 4_096]
        case "modules": [1, 10, 100, 300, 1_000, 3_000, 10_000]
        case "loops": [1, 4, 8, 16, 32, 64]
        case "cycles": [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096]
        default: [1, 2, 4, 8, 16, 32, 64, 128, 256]
        }
    }

    static func measure(_ kind: String, _ size: Int, files: [String], seconds: Double) throws -> Point {
        let renderer: Renderer
        switch kind {
        case "voices": renderer = try Voices.modules(size)
        case "modules": renderer = try Chains.gains(size)
        case "loops": renderer = try loops(size)
        case "cycles": renderer = try Voices.modules(64)
        default: renderer = try players(size, files)
        }
        return time(renderer, cycle: kind == "cycles" ? size : Score.cycle, seconds: seconds)
    }

    /// Saws, each with a low-pass and a delay behind it: what a newcomer writes.
    private static func loops(_ count: Int) throws -> Renderer {
        let saws = (0..<count).map { Oscillator(.saw, frequency: 110 * Float($0 % 16 + 1), level: 0.01) }
        let filters = saws.map { _ in LowPass(cutoff: 800, resonance: 6) }
        let delays = saws.map { _ in Delay(time: 0.25, feedback: 0.4) }
        return try Renderer { context in
            for index in saws.indices {
                context.run(saws[index])
                context.run(filters[index])
                context.run(delays[index])
                context.output()
                context.pop()
            }
        }
    }

    /// Players of the same few files, each with a ring and a place of its own.
    private static func players(_ count: Int, _ files: [String]) throws -> Renderer {
        let players = try (0..<count).map { try FilePlayer(path: files[$0 % files.count], readAhead: 0.5) }
        let renderer = try Renderer(layout: StackLayout(slots: 4, channels: 2, frames: 512)) { context in
            context.push(channels: 2)
            for player in players {
                context.run(player)
                context.mix(2)
            }
            context.output()
        }
        for player in players {
            player.loops = .forever
            player.play()
        }
        return renderer
    }

    /// Measures offline, so that a disk that is late makes no cycle cheap.
    private static func time(_ renderer: Renderer, cycle: Int, seconds: Double) -> Point {
        var block = AudioBlock(channels: renderer.channelCount, frames: cycle)
        var times: [Double] = []
        renderer.settle()
        let end = HostClock.now + HostClock.nanoseconds(seconds)
        while HostClock.now < end || times.count < 50 {
            let start = bench_thread_time()
            renderer.render(into: &block, hostTime: 0, isOffline: true)
            times.append(Double(bench_thread_time() - start))
        }
        // Without the first: caches, coefficients.
        let sorted = times.dropFirst(times.count / 10).sorted()
        return Point(
            size: cycle == Score.cycle ? 0 : cycle, median: percentile(0.5, sorted), high: percentile(0.99, sorted),
            highest: sorted.last ?? .nan)
    }
}
