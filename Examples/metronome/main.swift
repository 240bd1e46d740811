// A metronome: loads two sounds once, and places each tick on its exact frame, for hours. It ticks at the renderer's
// tempo, which changes at a bar, or with the transport of a JACK session, which it follows or leads.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Ticks. Keys: + and - change the tempo, at the next bar unless it leads a JACK session.",
    files: "TICK ACCENT",
    extras: [
        .number("tempo", 120, in: 10...600, "beats per minute"),
        .number("beats", 4, in: 1...16, "beats in a bar; the first has the accent"),
        .number("then", 0, in: 0...600, "another tempo, from bar --bars on; 0 for none"),
        .number("bars", 2, in: 1...1_000, "how many bars the first tempo lasts"),
        .flag("follow", "ticks on the beats of JACK's transport, while it rolls"),
        .flag("lead", "does that, starts the transport, and leads its tempo and bars"),
    ])

do {
    let followsTransport = options.has("follow") || options.has("lead")
    let hasTransport = options.output == .jack || options.output == .any && JACKOutput.isServerRunning()
    if followsTransport && !hasTransport {
        Terminal.stop("metronome: --follow and --lead need a JACK server, and --output jack", status: 2)
    }
    let player = SamplePlayer(voices: 32)
    let files = options.files
    let tick = player.load(try files.isEmpty ? Click.sound(1_000, level: 0.4) : Sound(path: files[0]))
    let accent = player.load(try files.isEmpty ? Click.sound(2_000, level: 0.4) : Sound(path: files[1]))
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        if !followsTransport || context.transport.isRolling {
            var beats = context.ticks()
            while let beat = beats.next() {
                player.play(tick, inFrame: beat.frame, context)
                if beat.isBar { player.play(accent, inFrame: beat.frame, context) }
            }
        }
        context.run(player)  // pushes 1
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()

    let metronome = Metronome(renderer, tempo: options["tempo"], beats: Int(options["beats"]))
    let leader = options.has("lead") ? Leader(tempo: options["tempo"], beatsPerBar: options["beats"]) : nil
    if !followsTransport && options["then"] >= 10 {
        metronome.change(to: options["then"], afterBars: options["bars"])
    }

    @Sendable func turn(_ key: Character) {
        guard key == "+" || key == "-" else { return }
        let step = key == "+" ? 1.0 : -1
        if let leader { leader.change(by: step) } else if !followsTransport { metronome.change(by: step) }
    }
    try await options.play(
        renderer, meter, keys: turn,
        begun: { output in leader?.lead(output) })
    try await options.finish(recorder)
    if player.stolenCount > 0 { print("\(player.stolenCount) voices stolen") }
} catch {
    Terminal.stop("metronome: \(error)", status: 1)
}
