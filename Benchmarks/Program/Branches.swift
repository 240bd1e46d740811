import CBench
import Foundation
import RenderStack

/// From which load on branches on several threads pay, and what they cost where there is one processor.
enum Branches {
    struct Point {
        let voices: Int
        /// Nanoseconds of a cycle by the wall clock.
        let serial, parallel: Double
        /// The share of branches that workers rendered.
        let helped: Double
    }

    /// Four branches with that many voices each.
    static func measure(_ voices: Int, workers: Int?, rounds: Int) throws -> Point {
        let count = 4
        let subs = try (0..<count).map { _ in SubRenderer(try Voices.modules(voices)) }
        let parallel = Parallel(try (0..<count).map { _ in try Voices.modules(voices) }, workers: workers)
        let layout = StackLayout(slots: 8, channels: 2, frames: 512)
        let one = try Renderer(layout: layout) { context in
            for sub in subs { context.run(sub) }
            context.mix(4)
            context.output()
        }
        let many = try Renderer(layout: layout) { context in
            context.run(parallel)
            context.mix(4)
            context.output()
        }
        for renderer in [one, many] { renderer.settle() }
        var block = AudioBlock(channels: 2, frames: Score.cycle)
        var times: [[Double]] = [[], []]
        // Measures on a real-time thread, if that is allowed: else the workers would take this thread's processor.
        _ = bench_realtime(70)
        for _ in 0..<rounds {
            for (index, renderer) in [one, many].enumerated() {
                // A pause, as between two cycles: workers fall asleep in it.
                for _ in 0..<20 {
                    usleep(300)
                    let start = HostClock.now
                    renderer.render(into: &block, hostTime: 0)
                    times[index].append(Double(HostClock.now - start))
                }
            }
        }
        let all = Double(rounds * 20 * count)
        return Point(
            voices: voices, serial: median(times[0]), parallel: median(times[1]),
            helped: Double(parallel.helpCount) / all)
    }
}
