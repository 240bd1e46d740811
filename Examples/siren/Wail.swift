import RenderStack

/// A siren's three parts. Each has a whole number of turns, and they meet at 800 Hz: no seam is heard.
enum Wail {
    /// Half a second from 300 to 800 Hz: 275 turns.
    static func attack() -> Sound {
        sound(seconds: 0.5) { time in (turns: 300 * time + 500 * time * time, level: min(1, time / 0.05)) }
    }

    /// Two seconds round 800 Hz: 1,600 turns.
    static func round() -> Sound {
        sound(seconds: 2) { time in
            (turns: 800 * time + 250 / .pi * (1 - RenderMath.cos(.pi * time)), level: 1)
        }
    }

    /// A second from 800 to 200 Hz, dying away.
    static func release() -> Sound {
        sound(seconds: 1) { time in (turns: 800 * time - 300 * time * time, level: 1 - time) }
    }

    private static func sound(
        seconds: Double, _ part: (_ time: Double) -> (turns: Double, level: Double)
    ) -> Sound {
        var block = AudioBlock(channels: 1, frames: Int(seconds * 48_000))
        for frame in 0..<block.frameCount {
            let (turns, level) = part(Double(frame) / 48_000)
            block[0, frame] = Float(0.3 * level * RenderMath.sin(2 * .pi * (turns - turns.rounded(.down))))
        }
        return Sound(block, sampleRate: 48_000)
    }
}
