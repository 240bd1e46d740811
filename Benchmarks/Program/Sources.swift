import CBench
import RenderStack

/// W9: sources of noise around a listener, all of them moving.
enum Sources {
    /// Processor time in nanoseconds a source-sample, a value a round.
    static func measure(_ workload: String, sources: Int, cycle: Int, rounds: Int) throws -> [Double] {
        let renderer = try renderer(workload, sources: sources)
        _ = cost(renderer, cycle, sources)
        let costs = (0..<rounds).map { _ in cost(renderer, cycle, sources) }
        if renderer.faultCount > 0 { stop("\(workload): \(renderer.faultCount) faults") }
        return costs
    }

    /// Returns a renderer of sources that fly on by themselves, in rows of eight in front of the listener.
    static func renderer(_ workload: String, sources: Int) throws -> Renderer {
        let rendering: SpatialRendering =
            switch workload {
            case "W9-pan", "W9-far": .equalPower
            case "W9-sphere": .sphericalHead
            case "W9-hrtf": .hrtf()
            default: stop("there is no workload \(workload)")
            }
        let environment = Environment(hrtf: workload == "W9-hrtf" ? try .kemar() : nil)
        // All play the same memory, as OpenAL's sources play one buffer.
        let samples = SharedState(Loop.Sound(noise(48_000, seed: 1)))
        for index in 0..<sources {
            let place = SpatialPoint(Float(index % 8 - 4), 0, Float(-1 - index / 8))
            let source = SpatialSource(Loop(samples), rendering: rendering, position: place)
            source.velocity = SpatialPoint(1, 0, 0)
            if workload == "W9-far" {
                (source.distanceModel, source.maximumDistance.value) = (.linear, 1.5)
                source.z.value -= 10
            }
            environment.append(source, fadesIn: false)
        }
        return try Renderer(layout: StackLayout(slots: 8, channels: 3, frames: 4_096)) { context in
            context.run(environment)
            context.output()
        }
    }

    private static func cost(_ renderer: Renderer, _ cycle: Int, _ sources: Int) -> Double {
        var block = AudioBlock(channels: 2, frames: cycle)
        let cycles = 24_000 / cycle
        let start = bench_process_time()
        for _ in 0..<cycles { renderer.render(into: &block, hostTime: 0, isOffline: true) }
        return Double(bench_process_time() - start) / Double(cycles * cycle * sources)
    }
}

/// One channel, again and again.
private final class Loop: Generator {
    struct Sound: ~Copyable, Sendable {
        var samples: RenderMemory<Float>

        init(_ all: [Float]) {
            samples = RenderMemory<Float>(repeating: 0, count: all.count)
            for (index, sample) in all.enumerated() { samples[index] = sample }
        }
    }
    private let sound: SharedState<Sound>
    private let position = RenderState(0)

    init(_ sound: borrowing SharedState<Sound>) { self.sound = SharedState(sharing: sound) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let frames = context.frameCount
        var position = position.read(context)
        sound.with(&context) { sound, context in
            var top = context.top
            var samples = top[0]
            let length = sound.samples.count
            var done = 0
            while done < frames {
                let count = min(frames &- done, length &- position)
                var memory = sound.samples.span
                Signal.copy(memory.samples, from: position, into: &samples, at: done, count: count)
                done &+= count
                position = position &+ count == length ? 0 : position &+ count
            }
        }
        self.position.write(position, context)
    }
}
