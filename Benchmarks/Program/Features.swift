import CBench
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
            ]
        )
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
