// A beat, a bass and a melody as patterns. Change a word, a number or a bracket, and save: it goes on where it was.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 118
    let player = live.once("player") { SamplePlayer() }
    let kit = live.once("kit") {
        player.kit([
            "kick": player.load(drum(live, from: 120, to: 45, noise: 0, fall: 12)),
            "snare": player.load(drum(live, from: 200, to: 160, noise: 0.6, fall: 18)),
            "hat": player.load(drum(live, from: 900, to: 900, noise: 0.8, fall: 60)),
        ])
    }
    let bass = live.once("bass") { Polyphony<Pluck>(voices: 8) }
    let lead = live.once("lead") { Polyphony<Pluck>(voices: 16) }
    let sequencer = live.once("sequencer") { startedSequencer() }

    sequencer.play("kick [~ hat] snare [hat hat?]", as: "beat", on: kit)
    sequencer.play(Pattern.euclid(5, of: 16, note: "a1").every(4) { $0.reversed() }, as: "bass", on: bass)
    sequencer.play(
        Pattern("0 2 4 <7 9>").fast(2).scale(.minorPentatonic, root: "a3").velocity("0.7 0.4").swing(),
        as: "lead", on: lead)

    let echo = live.keep("echo") { Delay(beats: 0.75, feedback: 0.4, mix: 0.3, isPingPong: true) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }

    return { context in
        context.run(sequencer)
        context.run(player)
        context.run(bass)
        context.run(lead)
        context.run(echo)
        context.mix(3)
        context.run(limiter)
        context.output()
    }
}

/// A sequencer that plays from the beginning.
func startedSequencer() -> Sequencer {
    let sequencer = Sequencer()
    sequencer.start()
    return sequencer
}

/// A plucked tone.
struct Pluck: LaneVoice {
    private var tone = WaveLanes()
    private var envelope = EnvelopeLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.002, decay: 0.25, sustain: 0.1, release: 0.1)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        return 0.2 * notes.velocity * level * tone.triangle(notes.turns)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
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
