// A beat that is never the same: fills, ghost notes and breaks by chance. Change a probability or a seed, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 96
    let player = live.once("player") { SamplePlayer() }
    let kit = live.once("kit") {
        player.kit([
            "kick": player.load(drum(live, from: 130, to: 48, noise: 0, fall: 11)),
            "snare": player.load(drum(live, from: 220, to: 180, noise: 0.7, fall: 20)),
            "hat": player.load(drum(live, from: 900, to: 900, noise: 0.85, fall: 70)),
            "tom": player.load(drum(live, from: 240, to: 110, noise: 0.05, fall: 12)),
        ])
    }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }

    // One of the two beats in each bar; ? leaves a note out one time in two, ?0.2 one time in five.
    let beat: Pattern = "kick snare [kick kick?] snare | [kick ~ ~ kick?0.2] snare [~ kick] snare"
    // Ghost notes of the snare: sixteenths of which nine in ten are left out, and never loud.
    let ghosts = Pattern("snare*16").degraded(by: 0.9, seed: 4).velocity(0.15)
    let hats = Pattern("hat*8").velocity("0.5 0.2").sometimes(0.3, seed: 8) { $0.fast(2) }.swing(1 / 12, grid: 1 / 2)
    // In the last of four bars the beat makes room for a fill, by chance again. Try every(2, at: -1).
    let fill = Pattern.random(["tom", "snare", "kick", "tom"], steps: 16, seed: 3).degraded(by: 0.35, seed: 6).velocity(
        0.7)
    let bars = (beat + ghosts).every(4, at: -1) { Pattern.steps([$0, fill], weights: [1, 1]) }
    sequencer.play(bars.humanised(0.1), as: "drums", on: kit)
    sequencer.play(hats.humanised(0.2, seed: 2), as: "hats", on: kit)

    let squeeze = live.keep("squeeze") { Compressor(threshold: -18, ratio: 3) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(player)
        context.run(squeeze)
        context.run(limiter)
        context.output()
    }
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
