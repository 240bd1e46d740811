// Noise and two saws that beat, in a large room. Try another preset of the reverb: the old room rings out under --ring-out 5.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let low = live.keep("low") { Oscillator(.saw, frequency: 55, level: 0.2) }
    let high = live.keep("high") { Oscillator(.saw, frequency: 55.4, level: 0.2) }
    let wind = live.keep("wind") { Noise(.pink, level: 0.1) }
    let filter = live.keep("filter") { LowPass(cutoff: 600, resonance: 3) }
    let phaser = live.keep("phaser") { Phaser(rate: 0.1, mix: 0.5) }
    let room = live.keep("room") { Reverb(.largeHall, mix: 0.5) }

    return { context in
        context.run(low)
        context.run(high)
        context.run(wind)
        context.mix(3)
        context.run(filter)
        context.run(phaser)
        context.run(room)
        context.output()
    }
}
