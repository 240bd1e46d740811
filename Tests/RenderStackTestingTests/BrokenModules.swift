import RenderStack

// Modules that break one promise each. All of them halve the sound, or nearly.

/// Halves the sound, as all of the others do but for their one mistake.
final class Halving: Effect {
    let level = Parameter(0.5, in: 0...1)
    var isRepeatable: Bool { true }
    var parameters: [ParameterReference] { [level.named("level")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.gain(level) }
}

/// The last sample of each slice is another.
final class Cutting: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let last = context.frameCount - 1
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] *= i == last ? 0.4 : 0.5 }
        }
    }
}

/// Remembers the last sample of the first channel, and its reset does not forget it.
final class Remembering: Effect {
    private let memory = RenderState<Float>(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var last = memory.read(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            let sample = samples[i]
            samples[i] = 0.5 * sample + 0.25 * last
            last = sample
        }
        // The sum is not recursive: what is not a number is gone with the next sample.
        memory.write(last.isFinite ? last : 0, context)
    }
}

/// Its reset multiplies the memory by 0, which leaves what is not a number.
final class Poisoned: Effect {
    private let memory = RenderState<Float>(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var last = memory.read(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            last = 0.5 * samples[i] + 0.5 * last
            samples[i] = last
        }
        memory.write(last, context)
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { memory.write(memory.read(context) * 0, context) }
}

/// Is silent for good when it has met a sample that is not a number.
final class Offended: Effect {
    private let isOffended = RenderState(false)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var offended = isOffended.read(context)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices {
                if !samples[i].isFinite { offended = true }
                samples[i] = offended ? 0 : 0.5 * samples[i]
            }
        }
        isOffended.write(offended, context)
    }
}

/// Hums where there is silence.
final class Humming: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] = 0.5 * samples[i] + 0.001 }
        }
    }
}

/// Comes out 64 frames late, whatever it declares.
final class Late: Effect {
    private struct Line: ~Copyable, Sendable {
        var samples = RenderMemory<Float>(repeating: 0, count: 64 * 8)
        var position = 0
    }
    private let line = RenderState(Line())
    private let declared: Int

    init(declares frames: Int) { declared = frames }

    func latency(at sampleRate: Double) -> Int { declared }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        line.with(&context) { line, context in
            let start = line.position
            var memory = line.samples.span
            var end = start
            var top = context.top
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                var position = start
                for i in samples.indices {
                    let old = memory[channel * 64 + position]
                    memory[channel * 64 + position] = samples[i]
                    samples[i] = old
                    position = (position + 1) % 64
                }
                end = position
            }
            line.position = end
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) {
        line.with(&context) { line, _ in
            var memory = line.samples.span
            for i in memory.indices { memory[i] = 0 }
            line.position = 0
        }
    }
}

/// Takes its level once in a slice.
final class Zippering: Effect {
    let level = Parameter(0.5, in: 0...1)
    private let isAtEnd: Bool
    var parameters: [ParameterReference] { [level.named("level")] }

    /// - Parameter isAtEnd: `true` if it takes the last level of the slice, and not the first.
    init(isAtEnd: Bool) { self.isAtEnd = isAtEnd }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let glide = level.glide(context)
        context.gain(Glide(isAtEnd ? glide[context.frameCount - 1] : glide[0]))
    }
}

/// Takes its level as it was set, without the glide.
final class Jumping: Effect {
    let level: Parameter
    var parameters: [ParameterReference] { [level.named("level")] }

    init(glide: Parameter.Curve = .linear(.milliseconds(10))) { level = Parameter(0.5, in: 0...1, glide: glide) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.gain(Glide(level.current(context))) }
}

/// Divides by its level, which may be 0.
final class Dividing: Effect {
    let level = Parameter(0.5, in: 0...1)
    var parameters: [ParameterReference] { [level.named("level")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let level = level.glide(context)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] /= level[i] }
        }
    }
}

/// Has a parameter that it never reads.
final class Unheard: Effect {
    let depth = Parameter(0.5, in: 0...1)
    var parameters: [ParameterReference] { [depth.named("depth")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.gain(0.5) }
}

/// Is noise that is another each time.
final class Random: Generator {
    private let noise = Noise(.white, seed: .random(in: 1 ... .max))
    private let inner: Member<Noise>
    var members: [any Module] { [inner.module] }

    init() { inner = Member(noise) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.run(inner) }
}

/// Leaves two buffers and declares one.
final class Unbalanced: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { if !context.isDryRun { context.push(channels: 1) } }
}
