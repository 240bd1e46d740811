import ExampleSupport
import RenderStack
import Synchronization

/// Ticks at a tempo that changes with a bar: each is in the frame that is nearest to its time, reckoned from the
/// first one at that tempo, so that nothing adds up.
final class Metronome: Sendable {
    private let renderer: Renderer
    private let player: SamplePlayer
    private let tick: SamplePlayer.Sample
    private let accent: SamplePlayer.Sample
    private let beats: Double
    private let section = Mutex(Section())
    private let watching = Mutex<Subscription?>(nil)

    /// A stretch at one tempo.
    private struct Section {
        var tempo = 0.0
        /// Its first beat, in frames.
        var start: Int64 = 0
        var voices: [SamplePlayer.Voice] = []
    }

    init(
        _ renderer: Renderer, _ player: SamplePlayer, tick: SamplePlayer.Sample, accent: SamplePlayer.Sample, beats: Int
    ) {
        self.renderer = renderer
        self.player = player
        self.tick = tick
        self.accent = accent
        self.beats = Double(beats)
    }

    /// Begins, with the first frame.
    func start(tempo: Double) { section.withLock { begin(&$0, tempo, at: 0) } }

    /// Goes on so many beats per minute faster, from the next bar on that is not upon us already.
    func change(by step: Double) {
        section.withLock { section in
            let tempo = max(10, min(section.tempo + step, 600))
            let soon = Double(renderer.sampleTime - section.start) + 0.05 * renderer.sampleRate
            let bar = barLength(section.tempo)
            change(&section, to: tempo, afterBars: max(0, (soon / bar).rounded(.up)))
        }
    }

    /// Goes on when the server has come back with another sample rate, with a bar of its own.
    func watch(_ output: any RenderOutput) {
        let subscription = output.by({ $0() }) { [weak self] event in
            if case .sampleRateChanged = event { self?.startAgain() }
        }
        watching.withLock { $0 = subscription }
    }

    private func startAgain() {
        section.withLock { section in
            guard section.tempo > 0 else { return }
            for voice in section.voices { player.stop(voice) }
            begin(&section, section.tempo, at: renderer.sampleTime + Int64(0.2 * renderer.sampleRate))
        }
    }

    /// Goes on at another tempo, after so many bars at this one.
    func change(to tempo: Double, afterBars bars: Double) {
        section.withLock { change(&$0, to: tempo, afterBars: bars.rounded()) }
    }

    /// Frames in a bar.
    private func barLength(_ tempo: Double) -> Double { beats * 60 / tempo * renderer.sampleRate }

    private func change(_ section: inout Section, to tempo: Double, afterBars bars: Double) {
        let start = section.start + Int64((bars * barLength(section.tempo)).rounded())
        for voice in section.voices { player.stop(voice, at: .sample(start)) }
        begin(&section, tempo, at: start)
    }

    /// The tick is heard on every beat, the accent over it on the first of each bar.
    private func begin(_ section: inout Section, _ tempo: Double, at start: Int64) {
        let beat = 60 / tempo
        let ticks = player.play(tick, at: .sample(start), every: beat)
        let accents = player.play(accent, at: .sample(start), every: beat * beats)
        section = Section(tempo: tempo, start: start, voices: [ticks, accents].compactMap(\.self))
        Terminal.note("\(tempo) beats per minute from \(Double(start) / renderer.sampleRate) s on")
    }
}

/// What is heard where no file is given.
enum Click {
    /// 40 ms of a tone that begins at its loudest and has died away at the end.
    static func sound(_ frequency: Double, level: Double) -> Sound {
        var block = AudioBlock(channels: 1, frames: 1_920)
        for frame in 0..<1_920 {
            let time = Double(frame) / 48_000
            let fade = 1 - time / 0.04
            let tone = RenderMath.cos(2 * .pi * frequency * time) * RenderMath.exp(-time / 0.008)
            block[0, frame] = Float(level * fade * tone)
        }
        return Sound(block, sampleRate: 48_000)
    }
}
