// A groove of even rhythms over a bass line. In (hits,steps,turn) change a number, and save: it goes on where it was.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 104
    let player = live.once("player") { SamplePlayer() }
    let kit = live.once("kit") {
        player.kit([
            "low": player.load(hit(live, at: 62, fall: 11)), "wood": player.load(hit(live, at: 640, fall: 45)),
            "tick": player.load(hit(live, at: 3_100, fall: 110)),
        ])
    }
    let bass = live.once("bass") { Polyphony<Bass>(voices: 8) }
    let sequencer = live.once("sequencer") { Sequencer() }
    sequencer.start()

    // Three hits in eight steps, as even as they can be, are the tresillo; five in sixteen are the bossa nova.
    sequencer.play("low(3,8)", as: "low", on: kit)
    sequencer.play(Pattern("wood(5,16,<0 2>)").velocity(0.5), as: "wood", on: kit)
    sequencer.play(Pattern("tick(11,16)").velocity("0.4 0.15 0.25").swing(1 / 8, grid: 1 / 4), as: "tick", on: kit)
    // The bass has the rhythm of the low drum, and a degree of the scale in each bar. Try .phrygian, or another root.
    let line = Pattern("<0 0 3 4>(3,8), ~ ~ ~ [7 <9 6>]").scale(.dorian, root: "d2")
    sequencer.play(line.every(4, at: -1) { $0.transposed(by: 12) }.legato(3 / 4), as: "bass", on: bass)

    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(player)
        context.run(bass)
        context.mix(2)
        context.run(limiter)
        context.output()
    }
}

/// A round, short bass.
struct Bass: LaneVoice {
    private var (tone, envelope) = (WaveLanes(), EnvelopeLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.003, decay: 0.4, sustain: 0.3, release: 0.06)
        return 0.4 * notes.velocity * envelope.next(notes.gate, times, notes.sampleRate) * tone.triangle(notes.turns)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}

/// A tone that dies away, and begins a little higher.
func hit(_ live: Live, at frequency: Float, fall: Float) -> Sound {
    var block = AudioBlock(channels: 1, frames: Int(live.sampleRate * 0.3))
    var turns: Float = 0
    for i in 0..<block.frameCount {
        let time = Float(i) / Float(live.sampleRate)
        block[0, i] = 0.5 * RenderMath.exp(-fall * time) * RenderMath.sin(turns: turns)
        turns += frequency * (1 + 1.5 * RenderMath.exp(-60 * time)) / Float(live.sampleRate)
    }
    return Sound(block, sampleRate: live.sampleRate)
}
