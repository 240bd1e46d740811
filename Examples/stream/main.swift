// Plays sound that arrives in pieces, from the standard input or a socket: schedules it as buffers, and sends it
// through an equaliser that you turn while it plays.
//
//     sox song.flac -t raw -e signed -b 16 -r 48000 -c 2 - | stream --input stdin
//     stream --input socket:9000 &  sox song.flac -t raw -e signed -b 16 -r 48000 -c 2 - | nc -N 127.0.0.1 9000

import ExampleSupport
import Foundation
import RenderStack

let options = Options.read(
    about: """
        Plays a stream through an equaliser. Keys: a and z turn the bass up and down, s and x the middle, d and c the
        treble, a decibel each.
        """,
    extras: [
        .text("input", "FROM", "stdin or socket:PORT (of 127.0.0.1): 16 bits, two channels, 48 kHz, no header"),
        .number("ahead", 0.5, in: 0.1...10, "seconds that must have arrived before it plays"),
        .text("late", "POLICY", "if no sound arrives in time: rest until enough has arrived (if not given), or skip"),
        .number("bass", 0, in: -24...24, "decibels below 200 Hz"),
        .number("middle", 0, in: -24...24, "decibels around 1 kHz"),
        .number("treble", 0, in: -24...24, "decibels above 4 kHz"),
    ])

do {
    guard let source = Pieces.Source(options.text("input")) else {
        Terminal.stop("stream: --input \(options.text("input") ?? ""): it must be stdin or socket:PORT", status: 2)
    }
    guard let policy = Feed.Policy(rawValue: options.text("late") ?? "rest") else {
        Terminal.stop("stream: --late \(options.text("late") ?? ""): it must be rest or skip", status: 2)
    }
    let player = BufferPlayer()
    let equaliser = ParametricEQ([
        .lowShelf(200, decibels: Float(options["bass"])), .bell(1_000, decibels: Float(options["middle"])),
        .highShelf(4_000, decibels: Float(options["treble"])),
    ])
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(player)  // pushes 1
        context.run(equaliser)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()

    @Sendable func turn(_ key: Character) {
        switch key {
        case "a": equaliser.bands[0].gain.value += 1
        case "z": equaliser.bands[0].gain.value -= 1
        case "s": equaliser.bands[1].gain.value += 1
        case "x": equaliser.bands[1].gain.value -= 1
        case "d": equaliser.bands[2].gain.value += 1
        case "c": equaliser.bands[2].gain.value -= 1
        default: break
        }
    }
    @Sendable func status() -> String {
        let bands = zip(["bass", "middle", "treble"], 0...).map { name, index in
            "\(name) \(Int(equaliser.bands[index].gain.value)) dB"
        }
        return "\(Screen.meter(meter.combined.peak, width: 16)) \(bands.joined(separator: "  "))"
    }

    let feed = Feed(player, in: renderer, ahead: options["ahead"], policy: policy)
    let isLive = options.output.isLive
    let pieces = try Pieces.from(source, seconds: isLive ? nil : options.seconds)
    if isLive {
        let playing = Task {
            try await options.play(
                renderer, meter, keys: turn, keysAreElsewhere: source == .standardInput, status: status)
        }
        // A thread of its own: it waits for what is to come.
        Thread.detachNewThread {
            feed.run(isLive: true, pieces)
            playing.cancel()
        }
        try await playing.value
    } else {
        feed.run(isLive: false, pieces)
        try await options.play(renderer, meter)
    }
    try await options.finish(recorder)
} catch {
    Terminal.stop("stream: \(error)", status: 1)
}
