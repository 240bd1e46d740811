// A melody that three voices sing: one a bar later, one at half the speed. Change the melody, a rate or an offset, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 108
    let reeds = live.once("reeds") { Polyphony<Reed>(voices: 16) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }

    // Four bars of degrees: <a b c d> has one for each bar. 7 is an octave above 0.
    let melody = Pattern("<[0 2 4 2] [5 4@3] [4 3 2 1] [2 1 0@2]>").scale(.minor, root: "d4").velocity(0.6)
    sequencer.play(melody, as: "first", on: reeds)

    // The second voice comes a bar later, a fifth higher. Try 1 or 3 / 2 beats: is it a canon still?
    let second = sequencer.play(melody.transposed(by: 7).velocity(0.4), as: "second", on: reeds)
    second?.offset = .bars(1)

    // The third has two bars for one, an octave lower, and turns its melody around. Try 2 / 3.
    let third = sequencer.play(melody.transposed(by: -12).reversed().legato(0.9), as: "third", on: reeds)
    third?.rate = 1 / 2
    third?.offset = .bars(2)

    let room = live.keep("room") { Reverb(.largeHall, mix: 0.3) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(reeds)
        context.run(room)
        context.run(limiter)
        context.output()
    }
}

/// A narrow pulse through a filter that the velocity opens.
struct Reed: LaneVoice {
    private var (tone, envelope, filter) = (WaveLanes(), EnvelopeLanes(), OnePoleLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.03, decay: 0.5, sustain: 0.7, release: 0.15)
        filter.tune(turns: notes.turns * (2 + 6 * notes.velocity))
        let sound = filter.next(tone.pulse(notes.turns, width: Lanes(repeating: 0.25)))
        return 0.15 * notes.velocity * envelope.next(notes.gate, times, notes.sampleRate) * sound
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
