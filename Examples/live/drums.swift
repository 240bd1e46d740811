// Three drums in patterns of sixteen steps. Move an x, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 112
    let kick = steps("x...x...x...x...")
    let snare = steps("....x.......x..x")
    let hat = steps("x.x.x.x.x.x.x.xx")

    let player = live.once("player") { SamplePlayer() }
    let kickSound = live.once("kick") { player.load(drum(live, from: 120, to: 45, noise: 0, fall: 12)) }
    let snareSound = live.once("snare") { player.load(drum(live, from: 200, to: 160, noise: 0.6, fall: 18)) }
    let hatSound = live.once("hat") { player.load(drum(live, from: 900, to: 900, noise: 0.5, fall: 60)) }
    let squeeze = live.keep("squeeze") { Compressor(threshold: -18, ratio: 4) }

    return { context in
        var ticks = context.ticks(every: 0.25)
        while let tick = ticks.next() {
            let step = UInt64(tick.position * 4 + 0.5) % 16
            if kick >> step & 1 == 1 { player.play(kickSound, inFrame: tick.frame, context) }
            if snare >> step & 1 == 1 { player.play(snareSound, inFrame: tick.frame, context) }
            if hat >> step & 1 == 1 { player.play(hatSound, inFrame: tick.frame, context, gain: 0.3) }
        }
        context.run(player)
        context.run(squeeze)
        context.output()
    }
}

/// A pattern as bits: the first step is the lowest.
func steps(_ pattern: String) -> UInt64 {
    pattern.reversed().reduce(0) { bits, step in bits << 1 | (step == "x" ? 1 : 0) }
}

/// A tone that falls, with noise, and dies away.
func drum(_ live: Live, from high: Float, to low: Float, noise: Float, fall: Float) -> Sound {
    let frames = Int(live.sampleRate * 0.3)
    var block = AudioBlock(channels: 1, frames: frames)
    var (turns, random): (Float, UInt32) = (0, 1)
    for i in 0..<frames {
        let time = Float(i) / Float(live.sampleRate)
        random = random &* 1_664_525 &+ 1_013_904_223
        turns += (low + (high - low) * RenderMath.exp(-30 * time)) / Float(live.sampleRate)
        let hiss = noise * Float(Int32(bitPattern: random)) * 0x1p-31
        block[0, i] = 0.4 * RenderMath.exp(-fall * time) * ((1 - noise) * RenderMath.sin(turns: turns) + hiss)
    }
    return Sound(block, sampleRate: live.sampleRate)
}
