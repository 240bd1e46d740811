// A small piece: a bass, a pad and a melody in the tempo, with chorus, room and limiter.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 96
    let bassLine: [Float] = [55, 55, 65.41, 49]
    let melody = [0, 7, 12, 10, 7, 3, 5, -1]

    let bass = live.keep("bass") { Oscillator(.triangle, frequency: bassLine[0], level: 0.35) }
    let pad = [110, 164.81, 196, 261.63].enumerated().map { number, frequency in
        live.keep("pad\(number)") { Oscillator(.saw, frequency: frequency, level: 0.05) }
    }
    let player = live.once("player") { SamplePlayer() }
    let bells = live.once("bells") {
        melody.map { player.load(bell(live, frequency: 440 * RenderMath.exp2(Float($0) / 12))) }
    }
    let padFilter = live.keep("padFilter") { LowPass(cutoff: 900, resonance: 2) }
    let chorus = live.keep("chorus") { Chorus(voices: 3, rate: 0.25, depth: 0.003) }
    let echo = live.keep("echo") { Delay(beats: 0.75, feedback: 0.45, mix: 0.35, isPingPong: true) }
    let room = live.keep("room") { Reverb(.largeHall, mix: 0.25) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }

    return { context in
        var ticks = context.ticks(every: 0.5)
        while let tick = ticks.next() {
            let step = Int(tick.position * 2 + 0.5)
            if step % 3 != 2 { player.play(bells[step % 8], inFrame: tick.frame, context) }
        }
        context.run(player)
        context.run(echo)
        context.push(channels: 1)
        context.add(pad)
        context.run(padFilter)
        context.run(chorus)
        context.run(bass)
        context.mix(3)
        context.run(room)
        context.run(limiter)
        context.output()
    }
}

/// A bell: two sines that are no harmonics of one another.
func bell(_ live: Live, frequency: Float) -> Sound {
    let frames = Int(live.sampleRate * 1.2)
    var block = AudioBlock(channels: 2, frames: frames)
    for i in 0..<frames {
        let time = Float(i) / Float(live.sampleRate)
        let first = RenderMath.sin(turns: frequency * time) * RenderMath.exp(-4 * time)
        let second = RenderMath.sin(turns: 2.76 * frequency * time) * RenderMath.exp(-9 * time)
        block[0, i] = 0.2 * first + 0.1 * second
        block[1, i] = 0.2 * first - 0.1 * second
    }
    return Sound(block, sampleRate: live.sampleRate)
}
