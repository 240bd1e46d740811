// A channel strip: a gate, an equaliser, a compressor and a limiter, one after the other. The terminal shows how much each
// of the three makes the sound softer at the moment.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Sends a sound through a channel strip: a gate, an equaliser, a compressor and a limiter. The sound comes from the
        inputs of a JACK server or a card, or from a file; without both an artificial voice speaks over hiss.
        """,
    extras: [
        .text("input", "FILE", "a sound file in place of the inputs; it is repeated"),
        .number("gate", -45, in: -80...0, "dB below which the gate closes; -80 leaves it open"),
        .number("low", 0, in: -24...24, "dB of the low shelf at 120 Hz"),
        .number("mid", 0, in: -24...24, "dB of the bell at 1 kHz"),
        .number("high", 0, in: -24...24, "dB of the high shelf at 8 kHz"),
        .number("threshold", -24, in: -80...12, "dB above which the compressor works"),
        .number("ratio", 3, in: 1...100, "dB of the input for each that remains above the threshold"),
        .number("makeup", 6, in: -24...24, "dB behind the compressor"),
        .number("ceiling", -1, in: -60...0, "dB that no peak exceeds, between the samples too"),
    ])

do {
    let isDevice = options.output.isLive && options.output != .clock
    let hasInput = isDevice && (options.output != .any || JACKOutput.isServerRunning())
    let input = AudioInput(channels: 2, name: "input")
    let sound = BufferPlayer(name: "sound")
    if let path = options.text("input") {
        sound.schedule(try Sound(path: path), .loops)
    } else if !hasInput {
        sound.schedule(Speaker.sound(), .loops)
    }
    let isPlayed = options.text("input") != nil || !hasInput
    let threshold = Float(options["gate"])
    let gate = Gate(threshold: threshold, hold: 0.1)
    let equaliser = ParametricEQ([
        .lowShelf(120, decibels: Float(options["low"])), .bell(1_000, decibels: Float(options["mid"])),
        .highShelf(8_000, decibels: Float(options["high"])),
    ])
    // The hold is longer than a half-wave of the lowest voice, so that the gain does not follow single waves.
    let compressor = Compressor(
        threshold: Float(options["threshold"]), ratio: Float(options["ratio"]), hold: 0.01,
        makeUp: Float(options["makeup"]))
    let limiter = Limiter(ceiling: Float(options["ceiling"]))
    let (before, after) = (LevelMeter(), LevelMeter())
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        if isPlayed { context.run(sound) } else { context.run(input) }  // pushes what comes in
        context.run(before)  // listens to the top
        if threshold > -80 { context.run(gate) }  // edits the top, as all that follow
        context.run(equaliser)
        context.run(compressor)
        context.run(limiter)
        context.run(after)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    renderer.transaction {  // both on the same frame
        sound.play()
        recorder?.begin()
    }
    try await options.play(
        renderer, after, status: { StripDisplay.line(before, gate, compressor, limiter, after) })
    try await options.finish(recorder)
} catch {
    Terminal.stop("channel-strip: \(error)", status: 1)
}
