// A song of three parts, four bars each, of which one goes round. Change the bars of the loop: it goes there at the next bar.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 92
    let organ = live.once("organ") { Polyphony<Organ>(voices: 24) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.append(Track("chords", Clip(length: .bars(12)), to: organ))
        sequencer.append(Track("tune", Clip(length: .bars(12)), to: organ))
        sequencer.append(Track("bells", Pattern("<e6 b5 d6 a5>(3,8)").velocity(0.3), to: organ))
        sequencer["bells"]?.stop()
        sequencer.start()
        return sequencer
    }

    // Each part is a clip of four bars, and the song has one after the other. A clip can be cut, looped, transposed and merged.
    let verse = Clip("<e3'minor c3'major g3'major d3'major>", length: .bars(4))
    let bridge = Clip("<a3'minor a3'minor b3'7 b3'7>", length: .bars(4))
    let chorus = verse.transposed(by: 5)
    sequencer["chords"]?.replace(with: Pattern.sequence([verse, bridge, chorus].map(\.pattern)))
    let tune = Clip("<[e4 ~ g4 a4] [g4 e4@3] [b4 a4 g4 ~] [a4 fs4@3]>", length: .bars(4))
    let answer = Clip("<[c5 b4]!3 a4>", length: .bars(4))
    sequencer["tune"]?.replace(with: Pattern.sequence([tune, answer, tune.transposed(by: 5)].map(\.pattern)))

    // The part that goes round: .bars(0)..<(.bars(4)) is the verse, and nil is no loop.
    sequencer.loop = .bars(0)..<(.bars(12))
    if let part = sequencer.loop, !(part.lowerBound.value..<part.upperBound.value).contains(sequencer.position) {
        sequencer.locate(part.lowerBound, at: .nextBar)
    }
    // Each save launches the bells anew; they do not go with the song. Try .rejoin(), or .stop(at: .nextBar).
    sequencer["bells"]?.launch(at: .nextBar)

    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(organ)
        context.run(limiter)
        context.output()
    }
}

/// A soft reed.
struct Organ: LaneVoice {
    private var (tone, envelope) = (WaveLanes(), EnvelopeLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.8, sustain: 0.5, release: 0.15)
        return 0.15 * notes.velocity * envelope.next(notes.gate, times, notes.sampleRate) * tone.triangle(notes.turns)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
