// Short tones into echoes that keep to the tempo. Delete the delay and save with --ring-out 4: its echoes die away.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let player = SamplePlayer()
    let notes = [220, 330, 440, 294].map { player.load(pluck(live, frequency: $0)) }
    let delay = live.keep("delay") { Delay(beats: 0.75, feedback: 0.6, mix: 0.4, isPingPong: true) }

    return { context in
        var ticks = context.ticks(every: 1)
        while let tick = ticks.next() { player.play(notes[tick.beat % 4], inFrame: tick.frame, context) }
        context.run(player)
        context.run(delay)
        context.output()
    }
}

/// A tone like that of a string.
func pluck(_ live: Live, frequency: Float) -> Sound {
    let frames = Int(live.sampleRate / 2)
    var block = AudioBlock(channels: 2, frames: frames)
    for i in 0..<frames {
        let time = Float(i) / Float(live.sampleRate)
        let turns = frequency * time
        let sample =
            0.3 * (RenderMath.sin(turns: turns) + 0.4 * RenderMath.sin(turns: 2 * turns)) * RenderMath.exp(-9 * time)
        block[0, i] = sample
        block[1, i] = sample
    }
    return Sound(block, sampleRate: live.sampleRate)
}
