import RenderStack

/// The voice of W2 in the way of a user who writes it once, for lanes: a sine through its own band-pass to its own place.
struct BandVoice: LaneVoice {
    enum Parameters: Int, VoiceParameters {
        case frequency, center, q, pan, level, start

        func makeParameter() -> Parameter {
            switch self {
            case .frequency: Parameter(440, in: 0...20_000, unit: .hertz)
            case .center: Parameter(440, in: 20...20_000, unit: .hertz)
            case .q: Parameter(1, in: 0.1...100)
            case .pan: Parameter(0, in: -1...1)
            case .level: Parameter(0, in: 0...1)
            case .start: Parameter(0, in: 0...1)
            }
        }
    }

    private var tone = SineLanes()
    private var filter = StateVariableLanes()
    private var step = PhaseLanes.zero
    private var gains = StereoLanes(pan: .zero)
    private var age = Lanes.zero

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        if !notes.haveChanged { return }
        step = LaneMath.phase(turns: notes[.frequency] / notes.sampleRate)
        let first = LaneMath.phase(turns: notes[.start])
        tone.phase = tone.phase.replacing(with: first, where: age .== 0)
        age += 1
        filter.tune(turns: notes[.center] / notes.sampleRate, q: notes[.q])
        gains = StereoLanes(pan: notes[.pan])
        gains = StereoLanes(left: notes[.level] * gains.left, right: notes[.level] * gains.right)
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> StereoLanes { gains * filter.next(tone.next(step)).band }
}

/// A whole voice: two band-limited oscillators, a filter with an envelope, two envelopes, a slow wave, and a place.
struct FullVoice: LaneVoice {
    enum Parameters: Int, VoiceParameters {
        case cutoff, resonance, sweep, rate, depth, pan, attack, decay, sustain, release

        func makeParameter() -> Parameter {
            switch self {
            case .cutoff: Parameter(600, in: 50...10_000, unit: .hertz)
            case .resonance: Parameter(2, in: 0.5...20)
            case .sweep: Parameter(3, in: 0...6)
            case .rate: Parameter(5, in: 0...20, unit: .hertz)
            case .depth: Parameter(0.02, in: 0...1)
            case .pan: Parameter(0, in: -1...1)
            case .attack: Parameter(0.01, in: 0.001...5, unit: .seconds)
            case .decay: Parameter(0.5, in: 0.001...5, unit: .seconds)
            case .sustain: Parameter(0.5, in: 0...1)
            case .release: Parameter(0.3, in: 0.001...5, unit: .seconds)
            }
        }
    }

    private var (first, second) = (WaveLanes(), WaveLanes())
    private var (loudness, brightness) = (EnvelopeLanes(), EnvelopeLanes())
    private var vibrato = LFOLanes()
    private var filter = StateVariableLanes()
    private var (bright, bend) = (Lanes.zero, Lanes.one)
    private var gains = StereoLanes(pan: .zero)

    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {
        bend = 1 + 0.06 * notes[.depth] * vibrato.next(.sine, turns: notes.turns(hertz: notes[.rate]))
        let cutoff = notes[.cutoff] * RenderMath.exp2(notes[.sweep] * bright)
        filter.tune(turns: cutoff / notes.sampleRate, q: notes[.resonance])
        gains = StereoLanes(pan: notes[.pan])
    }

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> StereoLanes {
        let times = EnvelopeLanes.Times(
            attack: notes[.attack], decay: notes[.decay], sustain: notes[.sustain], release: notes[.release])
        bright = brightness.next(notes.gate, times, notes.sampleRate)
        let turns = notes.turns * bend
        let sound = filter.next(first.saw(turns) + second.pulse(1.005 * turns)).low
        return gains * (notes.velocity * loudness.next(notes.gate, times, notes.sampleRate) * sound)
    }

    func isSounding(_ notes: borrowing Notes) -> LaneMask { loudness.isSounding }
}

extension Voices {
    /// W2 as a voice for lanes. Control code can begin 64 notes at a time: the others begin a frame later, all where
    /// they would be in their turns.
    static func lanes(_ count: Int) throws -> Renderer {
        let voices = Polyphony<BandVoice>(voices: count)
        let renderer = try renderer(voices)
        for (index, voice) in Score.voices(count).enumerated() {
            if index > 0 && index % 64 == 0 { _ = renderer.renderOffline(frames: 1, cycle: 1) }
            // Counted from the frame at which the last begin.
            let turns = Double(voice.frequency) / Score.sampleRate * Double(index / 64 - (count - 1) / 64)
            let start = Float(turns - turns.rounded(.down))
            let q = FilterCoefficients.q(
                octaves: 1, frequency: Double(voice.center), sampleRate: Score.sampleRate)
            voices.play(
                69,
                with: [
                    .frequency: voice.frequency, .center: voice.center, .q: Float(q), .pan: voice.position,
                    .level: voice.level, .start: start,
                ])
        }
        return renderer
    }

    /// Whole voices, on notes all over the keyboard.
    static func full(_ count: Int) throws -> Renderer {
        let voices = Polyphony<FullVoice>(voices: count)
        let renderer = try renderer(voices)
        for index in 0..<count {
            if index > 0 && index % 64 == 0 { _ = renderer.renderOffline(frames: 1, cycle: 1) }
            voices.play(
                Float(36 + index * 7919 % 60) + 0.01 * Float(index % 7), velocity: 0.01,
                with: [.pan: Float(index % 5 - 2) / 2])
        }
        return renderer
    }

    private static func renderer<Voice: LaneVoice>(_ voices: Polyphony<Voice>) throws -> Renderer {
        try Renderer { context in
            context.run(voices)
            context.output()
        }
    }
}
