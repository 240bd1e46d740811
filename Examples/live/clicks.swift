// A metronome with a tempo of the renderer. Try another number of ticks to the beat, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let player = SamplePlayer()
    let accent = player.load(click(live, frequency: 1_760))
    let click = player.load(click(live, frequency: 880))

    return { context in
        var ticks = context.ticks(every: 1)
        while let tick = ticks.next() { player.play(tick.isBar ? accent : click, inFrame: tick.frame, context) }
        context.run(player)
        context.output()
    }
}

/// A tone that dies away within a twentieth of a second.
func click(_ live: Live, frequency: Float) -> Sound {
    let frames = Int(live.sampleRate / 20)
    var block = AudioBlock(channels: 1, frames: frames)
    for i in 0..<frames {
        let time = Float(i) / Float(live.sampleRate)
        block[0, i] = 0.5 * RenderMath.sin(turns: frequency * time) * RenderMath.exp(-80 * time)
    }
    return Sound(block, sampleRate: live.sampleRate)
}
