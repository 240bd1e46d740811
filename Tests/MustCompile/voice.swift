// A voice with a delay line, and the instrument that plays it.
import RenderStack

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

func makeStrings(_ keys: MIDIInput) -> Polyphony<Plucked> {
    let strings = Polyphony<Plucked>(voices: 12, keys: keys)
    strings.release(strings.play(45.5, velocity: 0.7, at: .sample(480)), at: .now + .seconds(1))
    return strings
}
