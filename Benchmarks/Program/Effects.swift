import RenderStack

/// W6: effects on a stereo sound, one each, at the settings that the peers have too.
enum Effects {
    /// Returns our renderer for a workload, and what its time is divided by: the frames of a cycle, or its samples.
    static func line(_ workload: String, _ input: [[Float]]) throws -> (line: any Line, operations: Double)? {
        let frames = Double(Score.cycle)
        switch workload {
        case "W6-limiter":
            return (try line(Limiter(ceiling: -1, release: 0.05, lookAhead: 0.005), input), frames)
        case "W6-compressor": return (try line(compressor(.peak), input), 2 * frames)
        case "W6-compressor-rms": return (try line(compressor(.rms(seconds: 0.01)), input), 2 * frames)
        case "W6-clip": return (try line(Distortion(.hardClip, drive: 26, times: 1), input), 2 * frames)
        case "W6-chorus":
            let chorus = Chorus(voices: 3, rate: 0.5, delay: 0.012, depth: 0.002, spread: 1, mix: 0.5)
            return (try line(chorus, input), frames)
        default: return nil
        }
    }

    private static func compressor(_ detector: LevelDetector) -> Compressor {
        Compressor(threshold: -18, ratio: 4, knee: 6, attack: 0.01, release: 0.15, detector: detector)
    }

    private static func line(_ effect: some Module, _ input: [[Float]]) throws -> RendererLine {
        let source = Around(input)
        let layout = StackLayout(slots: 4, channels: 2, frames: 4_096)
        return RendererLine(
            "RenderStack",
            try Renderer(layout: layout) { context in
                context.run(source)
                context.run(effect)
                context.output()
            })
    }
}

/// Pushes a stereo sound that begins again at its end.
private final class Around: Generator {
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
