// An effect that the file itself is, with a knob: `:set drive 8` turns it while the loop plays.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let tone = live.keep("tone") { Oscillator(.sine, frequency: 110, level: 0.5) }
    let drive = live.parameter("drive", 3, in: 0...20)
    let clipper = ClosureModule(.edits, name: "Clipper") { context in
        let drive = drive.glide(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = 0.3 * max(-1, min(1, drive[i] * samples[i])) }
    }

    return { context in
        context.run(tone)
        context.run(clipper)
        context.output()
    }
}
