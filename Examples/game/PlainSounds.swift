import RenderStack

/// The sounds that have no place in the house: music, the launch of a ball, the ticks of the keys, and a voice. Pushes one buffer.
final class PlainSounds: Sendable {
    private let music = BufferPlayer(channels: 1, name: "music")
    private let equaliser = ParametricEQ([.lowShelf(150), .highShelf(700)])
    private let fader: Fader
    private let launches = BufferPlayer(channels: 1, name: "launches")
    private let ticks = SamplePlayer(voices: 4, channels: 1, name: "keys")
    private let voice: Voice?
    private let tick: SamplePlayer.Sample
    private let thud: SamplePlayer.Sample
    private static let launch = sound(seconds: 0.25, Notes.launch)

    /// A voice from an input: a room's rumble and noise stay out, and all words are about equally loud.
    private struct Voice: Sendable {
        let input: AudioInput
        let highPass = HighPass(cutoff: 100)
        let gate = Gate(threshold: -50)
        let compressor = Compressor(makeUp: 6)
    }

    /// The time from the press of a key until a ball is in the air, in seconds.
    static let launchTime = launch.duration

    /// - Parameters:
    ///   - voice: The input that a voice comes from; `nil` for none.
    ///   - hasMusic: `true` for music from the beginning.
    init(voice: AudioInput?, hasMusic: Bool) {
        self.voice = voice.map { Voice(input: $0) }
        fader = Fader(volume: hasMusic ? Self.musicVolume : 0)
        tick = ticks.load(Self.sound(seconds: 0.03, Notes.tick))
        thud = ticks.load(Self.sound(seconds: 0.12, Notes.thud))
        music.schedule(Self.sound(seconds: Notes.musicTime, Notes.music), .loops)
        music.play()
        launches.play()
    }

    /// Pushes one buffer with all of them.
    func run(_ context: inout RenderContext) {
        context.run(music)  // pushes 1
        context.run(equaliser)  // edits the top
        context.run(fader)  // edits the top
        context.run(launches)  // pushes 1
        context.run(ticks)  // pushes 1
        context.mix(3)
        if let voice {
            context.run(voice.input)  // pushes 1
            context.run(voice.highPass)  // edits the top
            context.run(voice.gate)  // edits the top
            context.run(voice.compressor)  // edits the top
            context.mix(2)
        }
    }

    /// Plays the sound of a launch, which says when it has ended.
    func beginLaunch() -> ScheduledSound { launches.schedule(Self.launch) }

    /// Tells that a key was taken, or that a wall is in the way.
    func answer(isFree: Bool) { ticks.play(isFree ? tick : thud) }

    /// Switches the music on or off.
    func toggleMusic() { fader.volume.value = fader.volume.value > 0 ? 0 : Self.musicVolume }
    private static let musicVolume: Float = 0.4

    /// Lets the music come from the hall, where the listener is, or through its door.
    func placeMusic(isInHall: Bool) {
        equaliser.bands[0].gain.value = isInHall ? 0 : 3
        equaliser.bands[1].gain.value = isInHall ? 0 : -18
    }

    private static func sound(seconds: Double, _ value: (Double) -> Double) -> Sound {
        let rate = 48_000.0
        var block = AudioBlock(channels: 1, frames: Int(seconds * rate))
        for frame in 0..<block.frameCount { block[0, frame] = Float(value(Double(frame) / rate)) }
        return Sound(block, sampleRate: rate)
    }
}

/// The samples of each sound, by their second.
private enum Notes {
    /// A tone that rises by two octaves.
    static func launch(_ time: Double) -> Double {
        let cycles = 150 * time + 900 * time * time
        return 0.3 * RenderMath.sin(2 * .pi * cycles) * min(1, time / 0.01) * min(1, (0.25 - time) / 0.05)
    }

    static func tick(_ time: Double) -> Double { 0.2 * decaying(1_800, time, 0.006) }
    static func thud(_ time: Double) -> Double { 0.5 * decaying(90, time, 0.03) }

    static let musicTime = 8.0

    /// Four chords of plucked tones, eight to a chord, each a quarter of a second.
    static func music(_ time: Double) -> Double {
        let chords = [[0.0, 3, 7, 12], [-4, 0, 3, 8], [-7, -4, 0, 5], [-5, -2, 2, 7]]
        let step = Int(time / 0.25)
        let pitches = chords[step / 8 % 4]
        let pitch = 220 * RenderMath.exp2(pitches[[0, 2, 1, 3, 2, 1, 3, 2][step % 8]] / 12)
        let age = time - 0.25 * Double(step)
        let bright =
            decaying(pitch, age, 0.12) + 0.4 * decaying(2 * pitch, age, 0.08) + 0.2 * decaying(5 * pitch, age, 0.04)
        return 0.25 * bright * min(1, age / 0.002) * min(1, (0.25 - age) / 0.01)
    }

    private static func decaying(_ frequency: Double, _ time: Double, _ constant: Double) -> Double {
        RenderMath.sin(2 * .pi * frequency * time) * RenderMath.exp(-time / constant)
    }
}
