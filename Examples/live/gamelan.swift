// Bells in a scale of five uneven steps, in bars of 4, 5 and 7 beats at once. Change the cents of the scale, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 132
    let bells = live.once("bells") { Polyphony<Bronze>(voices: 48) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }

    // A scale in the form of Scala: cents or ratios above the first note, the last of which comes after all. Key 60 is the first.
    bells.tuning = try Tuning(
        sclText: """
            Five steps to a stretched octave
            5
            231.0\n474.0\n717.0\n955.0\n1208.0
            """)

    // A number is a key, and each key a step of the scale: 65 is an octave above 60.
    let parts: [(name: String, text: String, beats: Fraction, velocity: Double)] = [
        ("gong", "50", 20, 0.9), ("four", "55 ~ 57 56", 4, 0.5), ("five", "[60 62 61 63 64]*2", 5, 0.35),
        ("seven", "65 68 67 ~ 66 69 [65 67]", 7, 0.3),
    ]
    for part in parts {
        // A pattern in bars of its own: it meets the others again after 140 beats.
        let pattern = Pattern(part.text, cycle: part.beats).velocity(.init(part.velocity))
        sequencer.play(pattern.humanised(0.1), as: part.name, on: bells)
    }

    let room = live.keep("room") { Reverb(.largeHall, mix: 0.25) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(bells)
        context.run(room)
        context.run(limiter)
        context.output()
    }
}

/// A bar of bronze: two partials that do not fit, of which the upper one dies away sooner.
struct Bronze: LaneVoice {
    private var (low, high) = (WaveLanes(), WaveLanes())
    private var (long, short) = (EnvelopeLanes(), EnvelopeLanes())

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let slow = EnvelopeLanes.Times(attack: 0.001, decay: 1.8, sustain: 0, release: 1.8)
        let quick = EnvelopeLanes.Times(attack: 0.001, decay: 0.3, sustain: 0, release: 0.3)
        let first = long.next(notes.gate, slow, notes.sampleRate) * low.sine(notes.turns)
        let second = short.next(notes.gate, quick, notes.sampleRate) * high.sine(2.76 * notes.turns)
        return 0.2 * notes.velocity * (first + 0.5 * second)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { long.isSounding }
}
