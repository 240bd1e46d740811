// The Amazing Audio Engine's sample program: loops that start in time with each other, on a tape whose speed turns; a microphone with
// effects; switches for all of it; and recordings that are played beside it.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Play with four loops, and sing to them. Keys: 1 2 3 4 let a loop begin or end at the next bar; s and f turn the speed of
        all; b is a band-pass, w lets the loops wander from left to right, m opens the microphone (wear headphones), e is its
        echo, t its telephone; r begins and ends a recording, p plays the last one. Into a file, and without a terminal, the
        program presses the keys itself, for \(Int(Jam.duration)) s.
        """,
    seconds: Jam.duration, files: "DRUMS BASS PIANO BELL", save: "jam.wav")

do {
    let band = options.files.isEmpty ? try Band() : nil
    let files = band.map { [$0.drums, $0.bass, $0.piano, $0.bell] } ?? options.files
    let loops = try files.map { try FilePlayer(path: $0) }
    let mixer = Mixer(loops.map { MixerSource($0) })

    // The loops have a renderer of their own: its clock runs as fast as the tape.
    let tape = Varispeed(
        try Renderer { context in
            context.run(mixer)  // pushes 1
            context.output()
        })
    let bandpass = Bandpass(center: 1_000, octaves: 1, mix: 0)
    let wander = AutoPan(rate: 0.25, depth: 0)
    let microphone = AudioInput(channels: 1, name: "microphone")
    let echo = Delay(time: 0.375, feedback: 0.4, mix: 0)
    let telephone = Bandpass(center: 1_500, octaves: 2, mix: 0)
    let takes = Mixer(name: "takes")  // they come and go
    let limiter = Limiter(ceiling: -1)
    let meter = LevelMeter()
    let recorder = try options.recorder(path: options.save ?? "jam-take.wav")

    let renderer = try Renderer { context in
        context.run(tape)  // pushes 1
        context.run(bandpass)  // edits the top
        context.run(wander)  // edits the top
        context.run(microphone)  // pushes 1
        context.run(echo)  // edits the top
        context.run(telephone)  // edits the top
        context.mix(2)
        context.run(recorder)  // listens to the top
        context.run(takes)  // pushes 1
        context.mix(2)
        context.run(limiter)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
    }
    let jam = Jam(
        loops: loops, tape: tape,
        switches: [
            "b": Switch("band-pass") { bandpass.mix.value = $0 ? 1 : 0 },
            "w": Switch("wanders") { wander.depth.value = $0 ? 0.8 : 0 },
            "m": Switch("microphone") { microphone.isEnabled = $0 },
            "e": Switch("echo") { echo.mix.value = $0 ? 0.4 : 0 },
            "t": Switch("telephone") { telephone.mix.value = $0 ? 1 : 0 },
        ],
        recorder: recorder, takes: takes,
        script: options.output.isLive && Terminal.isInteractive ? KeyScript() : Jam.script)

    await jam.advance(to: 0)
    // Keys act in the order in which they are typed.
    let (keys, typed) = AsyncStream.makeStream(of: Character.self)
    Task { for await key in keys { await jam.press(key) } }
    try await options.play(
        renderer, meter, keys: { typed.yield($0) },
        screen: { jam.screen + meter.levels.map { Screen.meter($0.peak, width: 40) } },
        listening: { await jam.advance(to: Double(renderer.sampleTime) / renderer.sampleRate) })
    try await options.finish(recorder)
    if case .file(let path) = options.output { try options.draw(path) }
} catch {
    Terminal.stop("jam: \(error)", status: 1)
}
