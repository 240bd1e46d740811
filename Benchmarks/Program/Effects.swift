import RenderStack

/// W6, W7 and W8: effects, rooms and another tempo for a stereo sound, one each, at the settings that the peers have too.
enum Effects {
    /// Returns our renderers for a workload, and what their time is divided by: the frames of a cycle, or its samples. The
    /// first has one effect, the second nine, so that the time of eight is known without that of the engine around them.
    static func lines(_ workload: String, _ input: [[Float]]) throws -> (lines: [any Line], operations: Double)? {
        let frames = Double(Score.cycle)
        switch workload {
        case "W6-limiter":
            return (try lines(input) { Limiter(ceiling: -1, release: 0.05, lookAhead: 0.005) }, frames)
        case "W6-compressor": return (try lines(input) { compressor(.peak) }, 2 * frames)
        case "W6-compressor-rms": return (try lines(input) { compressor(.rms(seconds: 0.01)) }, 2 * frames)
        case "W6-clip": return (try lines(input) { Distortion(.hardClip, drive: 26, times: 1) }, 2 * frames)
        case "W6-chorus":
            let chorus = { Chorus(voices: 3, rate: 0.5, delay: 0.012, depth: 0.002, spread: 1, mix: 0.5) }
            return (try lines(input, chorus), frames)
        case "W7-reverb": return (try lines(input) { Reverb(room, mix: 0.5) }, frames)
        case "W7-reverb-light": return (try lines(input) { Reverb(room, mix: 0.5, quality: .light) }, frames)
        case "W8-stretch": return (try stretchers(input), frames)
        default: return nil
        }
    }

    /// Returns a renderer in which noise is a quarter faster.
    static func stretcher() throws -> Renderer {
        try stretchers([noise(48_000, seed: 1), noise(48_000, seed: 2)], counts: [1])[0].renderer
    }

    /// Returns renderers in which a sound is a quarter faster at its own pitch, with that many `TimePitch` each.
    static func stretchers(_ input: [[Float]], counts: [Int] = [1, 9]) throws -> [RendererLine] {
        try counts.map { (count: Int) -> RendererLine in
            let modules = try (0..<count).map { _ -> TimePitch in
                let source = Around(input)
                let module = TimePitch(
                    try Renderer(layout: StackLayout(slots: 2, channels: 2, frames: 4_096)) { context in
                        context.run(source)
                        context.output()
                    })
                module.rate.value = 1.25
                return module
            }
            let (first, others) = (modules[0], Array(modules.dropFirst()))
            let layout = StackLayout(slots: 4, channels: 2, frames: 4_096)
            return RendererLine(
                count == 1 ? "RenderStack" : "RenderStack, nine",
                try Renderer(layout: layout) { context in
                    context.run(first)
                    context.output()
                    context.forEach(others) { context, other in
                        context.run(other)
                        context.pop()
                    }
                })
        }
    }

    private static func compressor(_ detector: LevelDetector) -> Compressor {
        Compressor(threshold: -18, ratio: 4, knee: 6, attack: 0.01, release: 0.15, detector: detector)
    }

    /// A hall of two seconds, with all that a preset has: early reflections, three ranges of decay, modulation.
    private static var room: Reverb.Preset {
        var room = Reverb.Preset.mediumHall
        room.decay = 2
        return room
    }

    private static func lines(_ input: [[Float]], _ effect: () -> some Module) throws -> [any Line] {
        try [1, 9].map { count in
            let source = Around(input)
            // The first effect gets the sound itself, each other one a copy, which is dropped again.
            let first = effect()
            let others = (1..<count).map { _ in effect() }
            let layout = StackLayout(slots: 4, channels: 2, frames: 4_096)
            return RendererLine(
                count == 1 ? "RenderStack" : "RenderStack, nine",
                try Renderer(layout: layout) { context in
                    context.run(source)
                    context.forEach(others) { context, other in
                        context.duplicate()
                        context.run(other)
                        context.pop()
                    }
                    context.run(first)
                    context.output()
                })
        }
    }
}

/// Pushes a stereo sound that begins again at its end.
final class Around: Generator {
    private struct Sound: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        let frames: Int
        var position = 0
    }
    private let sound: RenderState<Sound>

    init(_ channels: [[Float]]) { sound = RenderState(Self.sound(channels)) }

    private static func sound(_ channels: [[Float]]) -> Sound {
        let frames = channels[0].count
        var samples = RenderMemory<Float>(repeating: 0, count: 2 * frames)
        for channel in 0..<2 {
            for frame in 0..<frames { samples[channel * frames + frame] = channels[channel][frame] }
        }
        return Sound(samples: samples, frames: frames)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 2)
        let frames = context.frameCount
        sound.with(&context) { sound, context in
            var top = context.top
            var done = 0
            while done < frames {
                let count = min(frames &- done, sound.frames &- sound.position)
                for channel in 0..<2 {
                    var samples = top[channel]
                    let first = channel &* sound.frames &+ sound.position
                    var memory = sound.samples.span
                    Signal.copy(memory.samples, from: first, into: &samples, at: done, count: count)
                }
                done &+= count
                sound.position &+= count
                if sound.position == sound.frames { sound.position = 0 }
            }
        }
    }
}
