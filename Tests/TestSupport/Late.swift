package import RenderStack

/// Lets sound out some frames later, and says so.
package final class Late: Effect {
    private struct Line: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        var position = 0
        init(_ frames: Int) { samples = RenderMemory(repeating: 0, count: max(1, frames)) }
    }
    package let frames: Int
    private let line: RenderState<Line>

    package init(_ frames: Int) {
        self.frames = frames
        line = RenderState(Line(frames))
    }

    package func latency(at sampleRate: Double) -> Int { frames }

    @_noLocks @_noAllocation
    package func process(_ context: inout RenderContext) {
        if frames == 0 { return }
        line.withTop(&context) { line, top in
            var samples = top[0]
            let count = line.samples.count
            for i in samples.indices {
                let old = line.samples[line.position]
                line.samples[line.position] = samples[i]
                samples[i] = old
                line.position = line.position &+ 1 == count ? 0 : line.position &+ 1
            }
        }
    }

    @_noLocks @_noAllocation
    package func reset(_ context: inout RenderContext) {
        line.with(&context) { line, _ in
            for i in line.samples.indices { line.samples[i] = 0 }
            line.position = 0
        }
    }
}
