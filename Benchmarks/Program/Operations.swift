// The costs of the engine itself on the render thread: nanoseconds per operation. `scripts/bench --operations` also
// builds it without the checks and puts the two side by side.

import CBench
import RenderStack

struct Operation {
    let name: String
    /// Operations in one cycle.
    let count: Int
    let renderer: Renderer

    init(_ name: String, per count: Int = 100, _ loop: @escaping RenderLoop) throws {
        self.name = name
        self.count = count
        renderer = try Renderer(loop)
    }
}

/// The least that a module can do.
final class Nothing: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {}
}

/// A module that reads a parameter and a state.
final class Reading: Effect {
    let level = Parameter(0.5, in: 0...1)
    let state = RenderState<Float>(0)
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var sum = state.read(context)
        for _ in 0..<100 { sum += level.current(context) }
        state.write(sum * 1e-9, context)
    }
}

final class Gliding: Effect {
    let level = Parameter(0.5, in: 0...1)
    let sum = RenderState<Float>(0)
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var total: Float = 0
        for _ in 0..<100 { total += level.glide(context).end }
        sum.write(total, context)
    }
}

extension Operation {
    /// All of them.
    static func all() throws -> [Operation] {
        // Ten of each: a closure seldom runs one module twice, and a renderer expects its modules in their order.
        let (n0, n1, n2, n3, n4) = (Nothing(), Nothing(), Nothing(), Nothing(), Nothing())
        let (n5, n6, n7, n8, n9) = (Nothing(), Nothing(), Nothing(), Nothing(), Nothing())
        let (g0, g1, g2, g3, g4) = (Gain(0.999), Gain(0.999), Gain(0.999), Gain(0.999), Gain(0.999))
        let (g5, g6, g7, g8, g9) = (Gain(0.999), Gain(0.999), Gain(0.999), Gain(0.999), Gain(0.999))
        let again = Nothing()
        let reading = Reading()
        let gliding = Gliding()
        let tone = Oscillator(frequency: 440, level: 0.1)
        let state = RenderState<Float>(0)
        return [
            try Operation("an empty cycle of 64 frames", per: 1) { _ in },
            try Operation("push, uninitialised, and pop") { context in
                for _ in 0..<100 {
                    context.pushUninitialized(channels: 2)
                    context.pop()
                }
            },
            try Operation("push 2 × 64 zeroed, and pop") { context in
                for _ in 0..<100 {
                    context.push(channels: 2)
                    context.pop()
                }
            },
            try Operation("swap") { context in
                context.pushUninitialized(2, channels: 1)
                for _ in 0..<100 { context.swap() }
            },
            try Operation("duplicate 2 × 64, and pop") { context in
                context.push(channels: 2)
                for _ in 0..<100 {
                    context.duplicate()
                    context.pop()
                }
            },
            try Operation("push twice, mix 2 × 64, pop") { context in
                for _ in 0..<100 {
                    context.pushUninitialized(2, channels: 1)
                    context.mix(2)
                    context.pop()
                }
            },
            try Operation("output 2 × 64") { context in
                context.push(channels: 2)
                for _ in 0..<100 { context.output() }
            },
            try Operation("context.run of a module that does nothing", per: 10) { context in
                context.pushUninitialized(channels: 1)
                context.run(n0)
                context.run(n1)
                context.run(n2)
                context.run(n3)
                context.run(n4)
                context.run(n5)
                context.run(n6)
                context.run(n7)
                context.run(n8)
                context.run(n9)
            },
            try Operation("the same module again and again") { context in
                context.pushUninitialized(channels: 1)
                for _ in 0..<100 { context.run(again) }
            },
            try Operation("context.run of a gain (1 × 64)", per: 10) { context in
                context.push(channels: 1)
                context.run(g0)
                context.run(g1)
                context.run(g2)
                context.run(g3)
                context.run(g4)
                context.run(g5)
                context.run(g6)
                context.run(g7)
                context.run(g8)
                context.run(g9)
            },
            try Operation("context.run of an oscillator (1 × 64)") { context in
                for _ in 0..<100 {
                    context.run(tone)
                    context.pop()
                }
            },
            try Operation("Parameter.current") { context in
                context.push(channels: 1)
                context.run(reading)
            },
            try Operation("Parameter.glide, at rest") { context in
                context.push(channels: 1)
                context.run(gliding)
            },
            try Operation("RenderState read and write") { context in
                for _ in 0..<100 { state.write(state.read(context) + 1, context) }
            },
        ]
    }

    /// Times all of them, and resampling, in turn.
    static func measure(rounds: Int) throws -> [(name: String, nanoseconds: Double)] {
        let operations = try all()
        let cycles = 500
        var resampling = Resampling.all()
        var samples = [[Double]](repeating: [], count: operations.count)
        var block = AudioBlock(channels: 2, frames: 64)
        for _ in 0..<rounds {
            for (index, operation) in operations.enumerated() {
                let start = bench_thread_time()
                for _ in 0..<cycles { operation.renderer.render(into: &block, hostTime: 0) }
                samples[index].append(Double(bench_thread_time() - start) / Double(cycles * operation.count))
            }
            for index in resampling.indices { resampling[index].measure() }
        }
        for operation in operations where operation.renderer.faultCount > 0 {
            stop("\(operation.name): \(operation.renderer.faultCount) faults")
        }
        return zip(operations, samples).map { ($0.name, median($1)) }
            + resampling.map { ("a frame of \($0.name)", median($0.samples)) }
    }
}
