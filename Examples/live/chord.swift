// A chord, wide and slow. Try other notes, and save: the voices glide there.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let notes: [Float] = [110, 164.81, 220, 277.18, 329.63]
    let voices = notes.enumerated().map { number, frequency in
        live.keep("voice\(number)") { Oscillator(.triangle, frequency: frequency, level: 0.1) }
    }
    let chorus = live.keep("chorus") { Chorus(voices: 3, rate: 0.3, depth: 0.004) }
    let room = live.keep("room") { Reverb(.mediumHall, mix: 0.3) }

    return { context in
        context.push(channels: 1)
        context.add(voices)
        context.run(chorus)
        context.run(room)
        context.output()
    }
}
