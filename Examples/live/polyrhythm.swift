// Bells that go round in 3, 4, 5 and 7: all meet again after 420 steps. Change a rate, and save.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    live.beatsPerMinute = 96
    let bells = live.once("bells") { Polyphony<Bell>(voices: 32) }
    let sequencer = live.once("sequencer") {
        let sequencer = Sequencer()
        sequencer.start()
        return sequencer
    }

    let rings: [(steps: Int, note: Double)] = [(3, 57), (4, 64), (5, 69), (7, 76)]
    for ring in rings {
        let pattern = Pattern.euclid(1, of: ring.steps, note: "0").transposed(by: ring.note).velocity(0.5)
        let track = sequencer.play(pattern, as: "\(ring.steps)", on: bells)
        // All begin a bar together, and divide it by their numbers.
        track?.rate = Fraction(ring.steps, 4)
    }

    let room = live.keep("room") { Reverb(.largeHall, mix: 0.3) }
    let limiter = live.keep("limiter") { Limiter(ceiling: -1) }
    return { context in
        context.run(sequencer)
        context.run(bells)
        context.run(room)
        context.run(limiter)
        context.output()
    }
}

/// Two sines that die away.
struct Bell: LaneVoice {
    private var (tone, overtone) = (SineLanes(), SineLanes())
    private var envelope = EnvelopeLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.001, decay: 1.5, sustain: 0, release: 1.5)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        let step = notes.step
        return 0.2 * notes.velocity * level * (tone.next(step) + 0.4 * overtone.next(step &* 3))
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}
