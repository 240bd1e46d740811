import CBench
import Foundation
import RenderStack

/// The costs of the render thread's own work, as a share of W2: measured alone, in the same run.
enum Features {
    struct Cost {
        let name: String
        /// Nanoseconds in a cycle of 64 frames with 64 voices.
        let nanoseconds: Double
    }

    /// The cycle of W2 with 64 voices, and what is added to it: the difference between two renderers that differ in one
    /// thing, and what can be timed by itself.
    static func measure(rounds: Int) throws -> (cycle: Double, costs: [Cost]) {
        let voices = 64
        let full = RendererLine("W2", try Voices.modules(voices))
        let empty = RendererLine("an empty cycle", try Renderer { _ in })
        let watched = [Contestant(name: full.name, operations: 1) { full.render(frames: 64) }]
        // The parameters are as many at rest as W2 has, and are asked for in the way of modules.
        let glides = Resting(voices * 8)
        let gliding = RendererLine(
            "",
            try Renderer { context in
                context.push(channels: 1)
                context.run(glides)
            })
        let still = RendererLine("", try Renderer { context in context.push(channels: 1) })
        let contestants =
            watched + [
                Contestant(name: empty.name, operations: 1) { empty.render(frames: 64) },
                Contestant(name: "gliding", operations: 1) { gliding.render(frames: 64) },
                Contestant(name: "still", operations: 1) { still.render(frames: 64) },
                // 1,000 calls, because one is too short to be timed.
                Contestant(name: "hooks", operations: 1_000) { bench_hooks(1_000) },
                Contestant(name: "clock", operations: 1_000) { for _ in 0..<1_000 { _ = HostClock.now } },
            ]
        for line in [full, empty, gliding, still] { line.renderer.settle() }
        var measurement = Measurement(contestants, milliseconds: 5)
        measurement.measure(rounds: rounds)
        let times = Dictionary(uniqueKeysWithValues: measurement.medians.map { ($0.name, $0.nanoseconds) })
        let time = { (name: String) in times[name] ?? .nan }
        let players = try players(rounds: rounds)
        return (
            time(full.name),
            [
                Cost(
                    name: "an empty cycle: messages, schedule, clock, the output's check", nanoseconds: time(empty.name)
                ),
                Cost(name: "the watchdog's hooks, absent", nanoseconds: time("hooks")),
                Cost(
                    name: "statistics: two looks at the clock, and every 256th slice two a module",
                    nanoseconds: time("clock") * (2 + Double(voices * 3) * 2 / 256)),
                Cost(name: "\(voices * 8) parameters at rest", nanoseconds: time("gliding") - time("still")),
                Cost(name: "a stereo FilePlayer and its renderer", nanoseconds: players.plain),
                Cost(name: "the same at a rate of 1.25", nanoseconds: players.stretched),
            ]
        )
    }

    /// Measures cycles of a player at its file's tempo and at another one, in turn; in between, threads fill their rings.
    private static func players(rounds: Int) throws -> (plain: Double, stretched: Double) {
        let path = FileManager.default.temporaryDirectory.path + "/renderstack-bench-\(getpid()).wav"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 2)
        try writer.write(AudioBlock([noise(480_000, seed: 1), noise(480_000, seed: 2)]))
        try writer.finish()
        let sides = try [1, 1.25].map { rate in
            let player = try FilePlayer(path: path)
            player.rate = rate
            player.loops = .forever
            let renderer = try Renderer { context in
                context.run(player)
                context.output()
            }
            player.play()
            return (player: player, renderer: renderer)
        }
        var block = AudioBlock(channels: 2, frames: 64)
        var times: [[Double]] = [[], []]
        for round in 0..<(8 * rounds + 2) {
            // Time for the threads, which fill up the rings.
            bench_sleep(HostClock.now + 25_000_000)
            for side in round % 2 == 0 ? [0, 1] : [1, 0] {
                let begin = HostClock.now
                for _ in 0..<100 {
                    sides[side].renderer.render(into: &block, hostTime: HostClock.now, isOffline: false)
                }
                if round > 1 { times[side].append(Double(HostClock.now - begin) / 100) }
            }
        }
        if sides.contains(where: { $0.player.underrunCount > 0 }) { stop("a player of the benchmark lacks frames") }
        return (median(times[0]), median(times[1]))
    }
}

/// Parameters at rest.
private final class Resting: Effect {
    private let level = Parameter(0.5, in: 0...1)
    private let sum = RenderState<Float>(0)
    private let count: Int
    init(_ count: Int) { self.count = count }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var total: Float = 0
        for _ in 0..<count { total += level.glide(context).end }
        sum.write(total, context)
    }
}
