// One bass note for ever, and patterns that turn the knobs. Change a pattern of numbers, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 126
    let bass = live.once("bass") { Polyphony<Saw>(voices: 8) }
    let filter = live.keep("filter") { LowPass(cutoff: 400, resonance: 14) }
    let echo = live.keep("echo") { Delay(beats: 0.75, feedback: 0.2, mix: 0.3, isPingPong: true) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }
    // A target makes a parameter of any module playable. A number is a value; with `from:` and `to:` a range becomes another one.
    let cutoff = live.once("cutoff") { ParameterTarget(filter.cutoff) }
    let resonance = live.once("resonance") { ParameterTarget(filter.resonance, from: 0...9, to: 0...24) }
    let feedback = live.once("feedback") { ParameterTarget(echo.feedback) }

    sequencer.play("a1*16", as: "bass", on: bass)
    // Hertz, a value in each sixteenth: <…> takes turns from bar to bar, and a rest keeps the value.
    sequencer.play(
        "[300 900 400 <2400 3600>] [300 ~ 1200 ~] [<500 700> 300 1800 300] [~ 300 <900 5000> 2000]", as: "cutoff",
        on: cutoff)
    // From 0 to 9, over two bars.
    sequencer.play(Pattern("0..9").slow(2), as: "resonance", on: resonance)
    // The echo grows in the last of four bars, and is thrown away.
    sequencer.play(Pattern("0.2").every(4, at: -1) { _ in "0.4 0.6 0.75 0.8" }, as: "feedback", on: feedback)

    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        // After the sequencer, and before the modules that they turn.
        context.run(cutoff)
        context.run(resonance)
        context.run(feedback)
        context.run(bass)
        context.run(filter)
        context.run(echo)
        context.run(limiter)
        context.output()
    }
}

/// A saw with a soft edge.
struct Saw: LaneVoice {
    private var (tone, envelope) = (WaveLanes(), EnvelopeLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.004, decay: 0.2, sustain: 0.6, release: 0.03)
        return 0.25 * notes.velocity * envelope.next(notes.gate, times, notes.sampleRate) * tone.saw(notes.turns)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
