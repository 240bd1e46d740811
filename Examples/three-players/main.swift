// Plays three files of different rates and formats: one through a band-pass, and two mixed through a delay. Records the
// mix. Without files of yours it makes its own.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Plays three files: the first through a band-pass, the others through a delay.", seconds: 8,
    files: "DRUMS BASS PIANO", save: "three-players.wav")

do {
    let band = options.files.isEmpty ? try Band() : nil
    let files = band.map { [$0.drums, $0.bass, $0.piano] } ?? options.files
    let drums = try FilePlayer(path: files[0])
    let bass = try FilePlayer(path: files[1])
    let piano = try FilePlayer(path: files[2])
    let bandpass = Bandpass(center: 1_000, octaves: 3, mix: 0.7)
    let delay = Delay(time: 0.375, feedback: 0.4, mix: 0.3)
    let meter = LevelMeter()
    let recorder = try options.recorder()

    // A stack that has room for these files and no more: the default one, with that much of the delay, takes 3 MB.
    let channels = [drums, bass, piano].reduce(2) { max($0, $1.channelCount) }
    let renderer = try Renderer(layout: StackLayout(slots: 4, channels: channels)) { context in
        context.run(drums)  // pushes 1
        context.run(bandpass)  // edits the top
        context.run(bass)  // pushes 1
        context.run(piano)  // pushes 1
        context.mix(2)  // bass + piano
        context.run(delay)  // edits the top
        context.mix(2)  // everything
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    for player in [drums, bass, piano] { player.loops = .forever }
    renderer.transaction {  // all on the same frame
        drums.play()
        bass.play()
        piano.play()
        recorder?.begin()
    }
    // The filter opens and closes again, while it plays.
    for beat in 1...8 {
        try renderer.transaction(at: .sample(Int64(beat) * 48_000)) {
            bandpass.center.value = beat.isMultiple(of: 2) ? 1_000 : 4_000
        }
    }

    try await options.play(renderer, meter)
    try await options.finish(recorder)
    if let path = options.soundPath { try options.draw(path) }
    options.sayVerdict()
} catch {
    Terminal.stop("three-players: \(error)", status: 1)
}
