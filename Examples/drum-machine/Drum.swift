import RenderStack

/// The drums, which are made by code.
enum Drum: String, CaseIterable {
    case kick, snare, hat, clap

    /// The steps that it begins with.
    var steps: String {
        switch self {
        case .kick: "x...x...x.x.x..."
        case .snare: "....x.......x..."
        case .hat: "x.x.x.x.x.x.x.xx"
        case .clap: "................"
        }
    }

    /// Its sound: a tone that falls, with noise, and dies away.
    var sound: Sound {
        let (high, low, noise, fall): (Float, Float, Float, Float) =
            switch self {
            case .kick: (150, 45, 0.02, 10)
            case .snare: (220, 170, 0.6, 18)
            case .hat: (900, 900, 0.9, 70)
            case .clap: (600, 500, 0.8, 25)
            }
        let rate = 48_000.0
        var block = AudioBlock(channels: 1, frames: Int(rate * 0.35))
        var (turns, random): (Float, UInt32) = (0, 1)
        for i in 0..<block.frameCount {
            let time = Float(i) / Float(rate)
            random = random &* 1_664_525 &+ 1_013_904_223
            turns += (low + (high - low) * RenderMath.exp(-30 * time)) / Float(rate)
            let hiss = noise * Float(Int32(bitPattern: random)) * 0x1p-31
            block[0, i] = 0.6 * RenderMath.exp(-fall * time) * ((1 - noise) * RenderMath.sin(turns: turns) + hiss)
        }
        return Sound(block, sampleRate: rate)
    }
}
