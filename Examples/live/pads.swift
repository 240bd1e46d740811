// Chords whose filter opens and closes over sixteen bars. Change a chord, or a point of the curve, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 72
    let pad = live.once("pad") { Polyphony<Pad>(voices: 16) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }
    let filter = live.keep("filter") { LowPass(cutoff: 300, resonance: 4) }

    // One chord in each bar: a note, and after the ' what stands upon it. See Chord.names for more.
    let chords: Pattern = "<a3'minor7 f3'major7 c3'major7 g3'7>"
    sequencer.play(chords.legato(0.95), as: "chords", on: pad)
    // Its top notes once more, in turn, two octaves higher. Try *6.
    sequencer.play(Pattern("<[a5 e5 c5]*2 [a5 c6 e5]*2 [g5 b5 e5]*2 [f5 d5 b4]*2>").velocity(0.25), as: "top", on: pad)

    // The cutoff in hertz at beats of the song. .smooth and .step are other ways from point to point.
    let opening = AutomationCurve(in: .beats, [0: 300, 40: 4_000, 48: 2_500, 64: 300], shape: .exponential)
    // A curve has an end: here it comes again and again for an hour.
    let points = (0..<68).flatMap { round in
        opening.points.map { AutomationCurve.Point(at: $0.position + Double(64 * round), $0.value, $0.shape) }
    }
    let sweep = live.once("sweep") { Automation(of: filter.cutoff, opening) }
    sweep.curve = AutomationCurve(in: .beats, points)

    let chorus = live.keep("chorus") { Chorus(rate: 0.3, mix: 0.4) }
    let room = live.keep("room") { Reverb(.largeHall, mix: 0.35) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(sweep)
        context.run(pad)
        context.run(filter)
        context.run(chorus)
        context.run(room)
        context.run(limiter)
        context.output()
    }
}

/// Two saws that beat, and swell.
struct Pad: LaneVoice {
    private var (first, second) = (WaveLanes(), WaveLanes())
    private var envelope = EnvelopeLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.4, decay: 1, sustain: 0.8, release: 0.9)
        let saws = first.saw(0.997 * notes.turns) + second.saw(1.003 * notes.turns)
        return 0.09 * notes.velocity * envelope.next(notes.gate, times, notes.sampleRate) * saws
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
