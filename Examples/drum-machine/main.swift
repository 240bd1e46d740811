// A drum machine: sixteen steps for each of four drums, which change while they play, with swing and fills.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Make a beat. Keys: 1 2 3 4 choose a drum; q w e r t y u i are its first eight steps, a s d f g h j k the others; m mutes it and c
        clears it; z turns the swing, v fills every fourth bar, + and - change the tempo, the space bar stops and starts. Into a file, and
        without a terminal, the program presses the keys itself, for \(Int(DrumMachine.duration)) s.
        """,
    seconds: DrumMachine.duration,
    extras: [
        .number("tempo", 112, in: 30...300, "beats per minute"),
        .text("beat", "TEXT", "a beat to begin with, such as \"kick(3,8) hat*8\""),
    ])

do {
    let player = SamplePlayer(voices: 32)
    let kit = player.kit(Dictionary(uniqueKeysWithValues: Drum.allCases.map { ($0.rawValue, player.load($0.sound)) }))
    let machine = DrumMachine(
        kit, script: options.output.isLive && Terminal.isInteractive ? KeyScript() : DrumMachine.script)
    if let beat = options.text("beat") { try machine.add(beat) }
    let squeeze = Compressor(threshold: -18, ratio: 3)
    let limiter = Limiter(ceiling: -1)
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(machine.sequencer)  // plays the notes of this slice
        context.run(player)  // pushes 1
        context.run(squeeze)  // edits the top
        context.run(limiter)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    machine.turnTempo(renderer.tempo, by: options["tempo"] - renderer.tempo.beatsPerMinute)
    machine.sequencer.start()
    recorder?.begin()

    try await options.play(
        renderer, meter, keys: { machine.press($0, renderer.tempo) },
        screen: { machine.screen(renderer.tempo) + meter.levels.map { Screen.meter($0.peak, width: 40) } },
        listening: { machine.advance(to: Double(renderer.sampleTime) / renderer.sampleRate, renderer.tempo) })
    try await options.finish(recorder)
    if case .file(let path) = options.output { try options.draw(path, below: (machine.picture, "the steps")) }
} catch {
    Terminal.stop("drum-machine: \(error)", status: 1)
}
