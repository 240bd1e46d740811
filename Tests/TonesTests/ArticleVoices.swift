import RenderStack

// The voices of the article "Voices", word for word.

// MARK: a sine

struct Plain: LaneVoice {
    private var tone = SineLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        0.2 * notes.velocity * tone.next(notes.step)
    }
}

// MARK: an envelope

struct Shaped: LaneVoice {
    private var tone = SineLanes()
    private var envelope = EnvelopeLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.3, sustain: 0.4, release: 0.2)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        return 0.2 * notes.velocity * level * tone.next(notes.step)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}

// MARK: two saws

struct Wide: LaneVoice {
    private var (first, second) = (WaveLanes(), WaveLanes())
    private var envelope = EnvelopeLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.3, sustain: 0.4, release: 0.2)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        let saws = first.saw(0.997 * notes.turns) + second.saw(1.003 * notes.turns)
        return 0.1 * notes.velocity * level * saws
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}

// MARK: a filter

enum Knobs: Int, VoiceParameters {
    case cutoff, sweep

    func makeParameter() -> Parameter {
        switch self {
        case .cutoff: Parameter(500, in: 50...15_000, unit: .hertz)
        case .sweep: Parameter(3, in: 0...6)  // octaves
        }
    }
}

struct Filtered: LaneVoice {
    typealias Parameters = Knobs
    private var (first, second) = (WaveLanes(), WaveLanes())
    private var (envelope, opening) = (EnvelopeLanes(), EnvelopeLanes())
    private var filter = StateVariableLanes()
    private var open = Lanes.zero

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        let cutoff = notes[.cutoff] * RenderMath.exp2(notes[.sweep] * open)
        filter.tune(turns: cutoff / notes.sampleRate, q: Lanes(repeating: 2))
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.3, sustain: 0.4, release: 0.2)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        let fast = EnvelopeLanes.Times(attack: 0.005, decay: 0.15, sustain: 0, release: 0.1)
        open = opening.next(notes.gate, fast, notes.sampleRate)
        let saws = first.saw(0.997 * notes.turns) + second.saw(1.003 * notes.turns)
        return 0.1 * notes.velocity * level * filter.next(saws).low
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}

// MARK: vibrato, pressure, pan

enum Settings: Int, VoiceParameters {
    case cutoff, sweep, vibrato, pan

    func makeParameter() -> Parameter {
        switch self {
        case .cutoff: Parameter(500, in: 50...15_000, unit: .hertz)
        case .sweep: Parameter(3, in: 0...6)  // octaves
        case .vibrato: Parameter(0.1, in: 0...2)  // semitones
        case .pan: Parameter(0, in: -1...1)
        }
    }
}

struct Lead: LaneVoice {
    typealias Parameters = Settings
    private var (first, second) = (WaveLanes(), WaveLanes())
    private var (envelope, opening) = (EnvelopeLanes(), EnvelopeLanes())
    private var filter = StateVariableLanes()
    private var vibrato = LFOLanes()
    private var (open, sway) = (Lanes.zero, Lanes.one)
    private var gains = StereoLanes(pan: .zero)

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        let cutoff = notes[.cutoff] * RenderMath.exp2(notes[.sweep] * open + 2 * notes.pressure)
        filter.tune(turns: cutoff / notes.sampleRate, q: Lanes(repeating: 2))
        let wave = vibrato.next(.sine, turns: notes.turns(hertz: Lanes(repeating: 5)))
        sway = RenderMath.exp2(notes[.vibrato] * wave / 12)
        gains = StereoLanes(pan: notes[.pan])
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> StereoLanes {
        let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.3, sustain: 0.4, release: 0.2)
        let level = envelope.next(notes.gate, times, notes.sampleRate)
        let fast = EnvelopeLanes.Times(attack: 0.005, decay: 0.15, sustain: 0, release: 0.1)
        open = opening.next(notes.gate, fast, notes.sampleRate)
        let turns = notes.turns * sway
        let saws = first.saw(0.997 * turns) + second.saw(1.003 * turns)
        return gains * (0.1 * notes.velocity * level * filter.next(saws).low)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
}

// MARK: a string

struct Plucked: LaneVoiceWithMemory {
    private var (line, noise, dark) = (DelayLanes(), NoiseLanes(), OnePoleLanes())
    private var left = Lanes(repeating: 1)  // turns of the pluck

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) { dark.tune(turns: Lanes(repeating: 0.3)) }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes, _ memory: inout VoiceMemory) -> Lanes {
        let pluck = noise.next(notes.seed).replacing(with: 0, where: left .<= 0)
        left -= notes.turns
        let heard = line.read(1 / notes.turns, memory)  // a turn ago
        let sound = pluck + 0.998 * dark.next(heard)
        line.write(sound, &memory)
        return 0.2 * notes.velocity * sound
    }

    static func lineFrames(at sampleRate: Double) -> Int { Int(sampleRate / 27) }  // the lowest note
}
