import RenderStack

/// Eight notes at a time: two oscillators, a low-pass whose cutoff falls back after the note has begun, and an envelope.
struct Voice: LaneVoice {
    typealias Parameters = Patch

    private var (first, second) = (WaveLanes(), WaveLanes())
    private var filter = StateVariableLanes()
    private var envelope = EnvelopeLanes()
    /// The detuning as ratios, and seconds since the note began.
    private var (below, above) = (Lanes.one, Lanes.one)
    private var age = Lanes.zero

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        above = RenderMath.exp2(notes[.detune] / 2_400)
        below = 1 / above
        let open = RenderMath.exp(-3 * age / LaneMath.max(notes[.decay], Lanes(repeating: 0.001)))
        let cutoff = notes[.cutoff] * RenderMath.exp2(notes[.sweep] * notes.velocity * open)
        // Decibels at the cutoff as a quality: 10 to the power of a twentieth.
        filter.tune(turns: cutoff / notes.sampleRate, q: RenderMath.exp2(0.166_096_4 * notes[.resonance]))
        age += notes.frames / notes.sampleRate
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(
            attack: notes[.attack], decay: notes[.decay], sustain: notes[.sustain], release: notes[.release])
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        let tones = wave(notes[.wave], notes.turns * below, notes.turns * above)
        // Half of the velocity is a quarter of the amplitude: the curve that General MIDI recommends.
        return filter.next(0.5 * tones).low * level * notes.velocity * notes.velocity
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }

    /// The sum of both oscillators; the wave is the same for all notes.
    @inline(__always) @_noLocks @_noAllocation
    private mutating func wave(_ wave: Lanes, _ low: Lanes, _ high: Lanes) -> Lanes {
        if LaneMath.any(wave .> 2.5) { return first.sine(low) + second.sine(high) }
        if LaneMath.any(wave .> 1.5) { return first.triangle(low) + second.triangle(high) }
        if LaneMath.any(wave .> 0.5) { return first.pulse(low) + second.pulse(high) }
        return first.saw(low) + second.saw(high)
    }
}
