import RenderStack

/// Voices that the tests play.
struct SineVoice: LaneVoice {
    private var tone = SineLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes { notes.velocity * tone.next(notes.step) }
}

/// Everything at once: two waves, a synchronised one, noise, filters, envelopes, a slow wave, a delay line and a table.
struct WholeVoice: LaneVoiceWithMemory {
    enum Parameters: Int, VoiceParameters {
        case cutoff, pan, release

        func makeParameter() -> Parameter {
            switch self {
            case .cutoff: Parameter(2_000, in: 50...15_000, unit: .hertz)
            case .pan: Parameter(0, in: -1...1)
            case .release: Parameter(0.01, in: 0.001...5, unit: .seconds)
            }
        }
    }

    private var (first, second, lead) = (WaveLanes(), WaveLanes(), SyncedSawLanes())
    private var (noise, wobble) = (NoiseLanes(), LFOLanes())
    private var (filter, dark) = (StateVariableLanes(), OnePoleLanes())
    private var (loudness, brightness) = (EnvelopeLanes(), EnvelopeLanes())
    private var (line, table) = (DelayLanes(), WavetableLanes())
    private var gains = StereoLanes(pan: .zero)

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        let slow = wobble.next(.random, turns: notes.turns(hertz: Lanes(repeating: 7)), seed: notes.seed)
        filter.tune(turns: notes[.cutoff] * (1 + 0.3 * slow) / notes.sampleRate, q: Lanes(repeating: 2))
        dark.tune(turns: Lanes(repeating: 0.2))
        gains = StereoLanes(pan: notes[.pan])
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes, _ memory: inout VoiceMemory) -> StereoLanes {
        let times = EnvelopeLanes.Times(
            attack: Lanes(repeating: 0.004), decay: Lanes(repeating: 0.02), sustain: Lanes(repeating: 0.5),
            release: notes[.release])
        let bright = brightness.next(notes.gate, times, notes.sampleRate)
        var sound = first.saw(notes.turns) + second.pulse(1.003 * notes.turns, width: 0.3 + 0.2 * bright)
        sound += lead.next(notes.turns, ratio: 1.5 + bright) + 0.1 * noise.next(notes.seed)
        sound += table.next(notes.step, table: bright, memory)
        sound = filter.next(sound).low
        let echo = line.read(Lanes(repeating: 333.3), memory)
        line.write(0.2 * sound + 0.5 * dark.next(echo), &memory)
        return gains * (0.1 * (sound + echo) * notes.velocity * loudness.next(notes.gate, times, notes.sampleRate))
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { loudness.isSounding }

    static func lineFrames(at sampleRate: Double) -> Int { 400 }
    static func makeTables() -> [[Float]] {
        [1, 3].map { harmonic in
            (0..<256).map { RenderMath.sin(turns: Float($0 * harmonic) / 256) }
        }
    }
}

/// Makes a sample that is no number where its velocity is below a half.
struct BrokenVoice: LaneVoice {
    private var tone = SineLanes()
    private var age = Lanes.zero

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        age += 1
        let sound = tone.next(notes.step)
        return sound.replacing(with: .nan, where: (notes.velocity .< 0.5) .& (age .> 1_000))
    }
}

/// As many channels as a ring of speakers has.
struct RingVoice: LaneVoice {
    private var tone = SineLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> InlineArray<5, Lanes> {
        let sound = tone.next(notes.step)
        return [sound, 0.5 * sound, 0.25 * sound, -sound, .zero]
    }
}

/// A saw through a filter.
struct FilteredVoice: LaneVoice {
    enum Parameters: Int, VoiceParameters {
        case cutoff, pan

        func makeParameter() -> Parameter {
            switch self {
            case .cutoff: Parameter(2_000, in: 50...15_000, unit: .hertz)
            case .pan: Parameter(0, in: -1...1)
            }
        }
    }

    private var tone = WaveLanes()
    private var filter = StateVariableLanes()
    private var gains = StereoLanes(pan: .zero)

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        filter.tune(turns: notes[.cutoff] / notes.sampleRate, q: Lanes(repeating: 1))
        gains = StereoLanes(pan: notes[.pan])
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> StereoLanes {
        gains * (0.3 * filter.next(tone.saw(notes.turns)).low)
    }
}
