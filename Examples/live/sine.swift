// A sine: the shortest loop. Try another frequency, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let tone = live.keep("tone") { Oscillator(.sine, frequency: 440, level: 0.2) }

    return { context in
        context.run(tone)
        context.output()
    }
}
