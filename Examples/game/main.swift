// A game for the ears: launch balls that fly through a house and knock at its walls. Each ball is a source around a listener; music,
// the sounds of the keys and a voice are not.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Launch balls in a house of three rooms, and hear them with headphones: each is a source around you. Space launches
        one, arrows (or w, a, s, d) walk and turn, m switches the music, r renders directions otherwise, c clears. Into a file,
        without a terminal, and with --flight the program presses the keys itself, for \(Int(Flight.duration)) s. It draws a
        picture of the ways and the levels beside a file.
        """,
    extras: [
        .text(
            "rendering", "NAME", "ears (responses of a head), sphere (delays and shadow) or panning; ears if not given"),
        .text("sofa", "FILE", "the responses of your ears, a SOFA file; those of a dummy head if not given"),
        .number("balls", 24, in: 1...200, "the most balls; the oldest leaves"),
        .flag("flight", "presses the keys by itself"),
        .flag("music", "begins with the music"),
        .flag("voice", "lets a voice from an input be heard, as in a game with others; wear headphones"),
    ])

do {
    let name = options.text("rendering") ?? "ears"
    guard let rendering = Game.renderings.first(where: { $0.name == name })?.rendering else {
        Terminal.stop("game: there is no rendering \(name); there are ears, sphere and panning", status: 2)
    }
    let hrtf = try options.text("sofa").map { try HRTF(path: $0) } ?? .kemar()
    let isAlone = options.has("flight") || !options.output.isLive || !Terminal.isInteractive
    let game = Game(
        hrtf: hrtf, rendering: rendering, mostBalls: Int(options["balls"]),
        script: isAlone ? Flight.script : KeyScript(),
        plainSounds: PlainSounds(
            voice: options.has("voice") ? AudioInput(channels: 1, name: "voice") : nil, hasMusic: options.has("music")))
    let environment = game.environment
    let plainSounds = game.plainSounds
    let limiter = Limiter(ceiling: -1)
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(environment)  // pushes 1
        plainSounds.run(&context)  // pushes 1
        context.mix(2)
        context.run(limiter)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()
    try await options.play(
        renderer, meter, keys: { game.press($0, renderer) },
        screen: { game.screen + meter.levels.map { Screen.meter($0.peak, width: 40) } },
        listening: { await game.advance(to: renderer.sampleTime, renderer: renderer) })
    try await options.finish(recorder)
    if let path = options.soundPath { try options.draw(path, below: (game.track.draw(), "the ways and levels")) }
} catch {
    Terminal.stop("game: \(error)", status: 1)
}
