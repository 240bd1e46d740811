// A performance: plays two file loops, each through its own effect, fader and balance, into a reverb and a main volume, and records
// the mix while the knobs turn. Then it plays the recording.

import ExampleSupport
import Glibc
import RenderStack

let options = Options.read(
    about: """
        Plays two loops, records the mix, and plays the recording. Keys: a and z turn the drums' filter up and down,
        s and x the piano's echo, d and c the drums' fader, f and v the piano's, g and b the tempo of both, h and n the
        drums' balance to the left and right, j and m the piano's, k and , the reverb, l and . the main volume; r ends
        the recording and begins another. Ctrl-C ends the performance, and a second one the recording that is played
        back, which is the last. A file gets both, one behind the other.
        """,
    seconds: 8, files: "DRUMS PIANO",
    extras: [.number("tempo", 100, in: 25...400, "the tempo in percent of the loops' own; their pitch stays")],
    save: "live-performance.wav")

do {
    let band = options.files.isEmpty ? try Band() : nil
    let drums = try FilePlayer(path: band?.drums ?? options.files[0])
    let piano = try FilePlayer(path: band?.piano ?? options.files[1])
    let filter = LowPass(cutoff: 800, resonance: 0.3)
    let echo = Delay(time: 0.375, feedback: 0.5, mix: 0.2)
    let drumFader = Fader(decibels: -3)
    let pianoFader = Fader(decibels: -3)
    let drumBalance = Balance()
    let pianoBalance = Balance()
    let reverb = Reverb(.mediumHall, mix: 0)
    let volume = Fader(decibels: 0)
    let meter = LevelMeter()
    let recorder = try options.recorder(path: options.save ?? "live-performance-take.wav")

    let renderer = try Renderer { context in
        context.run(drums)  // pushes 1
        context.run(filter)  // edits the top
        context.run(drumFader)  // edits the top
        context.run(drumBalance)  // edits the top
        context.run(piano)  // pushes 1
        context.run(echo)  // edits the top
        context.run(pianoFader)  // edits the top
        context.run(pianoBalance)  // edits the top
        context.mix(2)  // both
        context.run(reverb)  // edits the top
        context.run(volume)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        context.run(recorder)  // listens to the top
    }
    for player in [drums, piano] {
        player.loops = .forever
        player.rate = options["tempo"] / 100
    }
    renderer.transaction {  // all on the same frame
        drums.play()
        piano.play()
        recorder.begin()
    }
    // Turns the filter open and closed again.
    for second in 1...4 {
        try renderer.transaction(at: .sample(Int64(second) * 96_000)) {
            filter.cutoff.value = second.isMultiple(of: 2) ? 800 : 12_000
        }
    }

    // Both on the same frame, so that they stay together.
    @Sendable func setTempo(_ tempo: Double) {
        renderer.transaction {
            drums.rate = tempo
            piano.rate = drums.rate
        }
    }
    @Sendable func turn(_ key: Character) {
        switch key {
        case "a": filter.cutoff.value *= 1.2
        case "z": filter.cutoff.value /= 1.2
        case "s": echo.mix.value += 0.1
        case "x": echo.mix.value -= 0.1
        case "d": drumFader.position += 0.05
        case "c": drumFader.position -= 0.05
        case "f": pianoFader.position += 0.05
        case "v": pianoFader.position -= 0.05
        case "g": setTempo(drums.rate * 1.02)
        case "b": setTempo(drums.rate / 1.02)
        case "h": drumBalance.position.value -= 0.1
        case "n": drumBalance.position.value += 0.1
        case "j": pianoBalance.position.value -= 0.1
        case "m": pianoBalance.position.value += 0.1
        case "k": reverb.mix.value += 0.05
        case ",": reverb.mix.value -= 0.05
        case "l": volume.position += 0.05
        case ".": volume.position -= 0.05
        case "r": if recorder.isRecording { recorder.stop() } else { recorder.begin() }
        default: break
        }
    }
    @Sendable func screen() -> [String] {
        func knob(_ name: String, _ share: Float, _ value: String) -> String {
            "\(name)  \(Screen.slider(share, mark: 0, width: 30))  \(value)"
        }
        func side(_ name: String, _ balance: Balance) -> String {
            let position = balance.position.value
            return knob(name, (1 + position) / 2, Screen.side(position))
        }
        let cutoff = filter.cutoff.value
        let take = recorder.isRecording ? "recording, \(Int(recorder.recordedTime)) s" : "not recording"
        return [
            "live-performance", "",
            knob("a z  drums' filter", RenderMath.log2(cutoff / 20) / 10, "\(Int(cutoff)) Hz"),
            knob("d c  drums        ", drumFader.position, Screen.decibels(drumFader.decibels)),
            knob("s x  piano's echo ", echo.mix.value, "\(Int(100 * echo.mix.value)) %"),
            knob("f v  piano        ", pianoFader.position, Screen.decibels(pianoFader.decibels)),
            knob("g b  tempo        ", Float(0.5 + log2(drums.rate) / 4), "\(Int((100 * drums.rate).rounded())) %"),
            side("h n  drums' sides ", drumBalance), side("j m  piano's sides", pianoBalance),
            knob("k ,  reverb       ", reverb.mix.value, "\(Int((100 * reverb.mix.value).rounded())) %"),
            knob("l .  main volume  ", volume.position, Screen.decibels(volume.decibels)),
            "r    \(take), in \(recorder.path)", "",
        ] + meter.levels.map { Screen.meter($0.peak, width: 40) }
    }
    // Plays the recording after the performance.
    @Sendable func encore() async throws -> Options.Encore {
        try await recorder.finish()
        let playback = try FilePlayer(path: recorder.path)
        let playbackMeter = LevelMeter()  // a module belongs to one renderer
        let listening = try Renderer { context in
            context.run(playback)  // pushes 1
            context.run(playbackMeter)  // listens to the top
            context.output()  // onto the output
        }
        playback.play()
        return Options.Encore(listening, playbackMeter, seconds: playback.duration)
    }
    try await options.play(renderer, meter, keys: turn, screen: screen, encore: encore)
    try await options.finish(recorder)
} catch {
    Terminal.stop("live-performance: \(error)", status: 1)
}
