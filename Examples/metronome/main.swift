// A metronome: two sounds that are loaded once, and ticks that are placed on the sample, for hours, at any tempo; by
// itself, or with the transport of a JACK session, which it follows or leads.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Ticks. Keys: + and - change the tempo, at the next bar where it does not lead.", files: "TICK ACCENT",
    extras: [
        .number("tempo", 120, in: 10...600, "beats per minute"),
        .number("beats", 4, in: 1...16, "beats in a bar; the first has the accent"),
        .number("then", 0, in: 0...600, "another tempo, from a bar on; 0 for none"),
        .number("bars", 2, in: 1...1_000, "that begins after so many bars"),
        .flag("follow", "ticks on the beats of JACK's transport, while it rolls"),
        .flag("lead", "does that, starts it, and says which tempo and bar there is"),
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
    let beats = TransportBeats(tempo: options["tempo"], beatsPerBar: options["beats"])
    let meter = LevelMeter()
    let recorder = try options.save.map { path in try FileRecorder(path: path) }

    let renderer = try Renderer { context in
        if followsTransport {
            beats.forEach(&context) { frame, isFirstOfBar, context in
                player.play(tick, inFrame: frame, context)
                if isFirstOfBar { player.play(accent, inFrame: frame, context) }
            }
        }
        context.run(player)  // pushes 1
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()

    let metronome = Metronome(renderer, player, tick: tick, accent: accent, beats: Int(options["beats"]))
    let leader = options.has("lead") ? Leader(tempo: options["tempo"], beatsPerBar: options["beats"]) : nil
    if !followsTransport {
        metronome.start(tempo: options["tempo"])
        if options["then"] >= 10 { metronome.change(to: options["then"], afterBars: options["bars"]) }
    }

    @Sendable func turn(_ key: Character) {
        guard key == "+" || key == "-" else { return }
        let step = key == "+" ? 1.0 : -1
        if let leader { leader.change(by: step) } else if !followsTransport { metronome.change(by: step) }
    }
    try await options.play(
        renderer, meter, keys: turn,
        begun: { output in
            leader?.lead(output)
            metronome.watch(output)
        })
    try await options.finish(recorder)
    if player.stolenCount > 0 { print("\(player.stolenCount) voices stolen") }
} catch {
    Terminal.stop("metronome: \(error)", status: 1)
}
