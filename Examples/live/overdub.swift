// Somebody plays by chance, and a recorder keeps it: each round of two bars adds a layer. Save again for another recording.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 100
    let harp = live.once("harp") { Polyphony<Harp>(voices: 32) }
    let sequencer = live.once("sequencer") { Sequencer() }
    let recorder = live.once("recorder") {
        let layers = Track("layers", Clip(length: .bars(2)), to: harp)
        let click = Track("click", Pattern("96 84 84 84").velocity(0.4).legato(1 / 8), to: harp)
        sequencer.append(layers)
        sequencer.append(click)
        click.stop()
        // A recorder of your own keyboard is ClipRecorder(keys, of: sequencer, …), where keys is a MIDIInput of the program's output.
        return ClipRecorder(of: sequencer, into: layers, click: click)
    }

    // The hand: a few notes by chance, never the same. Change the seed, the notes, or how many are left out.
    let hand = Pattern.random(["a3", "c4", "d4", "e4", "g4", "a4"], steps: 8, seed: 5).degraded(by: 0.75, seed: 2)
        .humanised(0.3)
    sequencer.play(hand, as: "hand", on: harp)
    // You hear what it plays, and the recorder gets that too.
    sequencer.play(hand, as: "recorded", on: recorder)
    sequencer.play(Pattern("<a1 f1>").velocity(0.5), as: "ground", on: harp)

    // A bar of clicks, then four rounds. .replace has each round take the place of the one before.
    recorder.begin(at: .nextBar, countIn: 1, length: .bars(2), rounds: .add)
    recorder.end(at: .nextBar.plus(bars: 9))

    let echo = live.keep("echo") { Delay(beats: 1.5, feedback: 0.3, mix: 0.2, isPingPong: true) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(recorder)
        context.run(harp)
        context.run(echo)
        context.run(limiter)
        context.output()
    }
}

/// A string that is plucked.
struct Harp: LaneVoice {
    private var (tone, envelope, filter) = (WaveLanes(), EnvelopeLanes(), OnePoleLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.001, decay: 0.9, sustain: 0, release: 0.4)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        filter.tune(turns: notes.turns * (1 + 8 * level))
        return 0.2 * notes.velocity * level * filter.next(tone.saw(notes.turns))
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
