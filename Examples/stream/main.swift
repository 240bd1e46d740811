// Plays sound that arrives bit by bit, from the standard input or a socket, through an equaliser that you turn while it plays:
// MP3, Ogg, FLAC or WAV with a StreamPlayer, or samples without a header, which it schedules as buffers, piece after piece.
//
//     curl -s https://radio.example/stream.mp3 | stream --sound stdin
//     sox song.flac -t raw -e signed -b 16 -r 48000 -c 2 - | stream --input stdin
//     stream --sound socket:9000 &  nc -N 127.0.0.1 9000 < song.mp3

import ExampleSupport
import Foundation
import RenderStack

let options = Options.read(
    about: """
        Plays a stream through an equaliser. Keys: a and z turn the bass up and down, s and x the middle, d and c the
        treble, a decibel each.
        """,
    extras: [
        .text("sound", "FROM", "stdin or socket:PORT (of 127.0.0.1): MP3, Ogg Vorbis or Opus, FLAC, WAV"),
        .text("input", "FROM", "stdin or socket:PORT (of 127.0.0.1): 16 bits, two channels, 48 kHz, no header"),
        .number("ahead", 0.5, in: 0.1...10, "seconds that must have arrived before it plays"),
        .text("late", "POLICY", "if no sound arrives in time: rest until enough has arrived (if not given), or skip"),
        .number("bass", 0, in: -24...24, "decibels below 200 Hz"),
        .number("middle", 0, in: -24...24, "decibels around 1 kHz"),
        .number("treble", 0, in: -24...24, "decibels above 4 kHz"),
    ])

do {
    let isSound = options.text("sound") != nil
    guard let source = Pieces.Source(options.text("sound") ?? options.text("input")) else {
        let name = isSound ? "sound" : "input"
        Terminal.stop("stream: --\(name) \(options.text(name) ?? ""): it must be stdin or socket:PORT", status: 2)
    }
    guard let policy = Feed.Policy(rawValue: options.text("late") ?? "rest") else {
        Terminal.stop("stream: --late \(options.text("late") ?? ""): it must be rest or skip", status: 2)
    }
    let player = BufferPlayer()
    let radio = isSound ? StreamPlayer(ahead: options["ahead"]) : nil
    let equaliser = ParametricEQ([
        .lowShelf(200, decibels: Float(options["bass"])), .bell(1_000, decibels: Float(options["middle"])),
        .highShelf(4_000, decibels: Float(options["treble"])),
    ])
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        if let radio { context.run(radio) } else { context.run(player) }  // pushes 1
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

    let isLive = options.output.isLive
    if let radio {
        let events = radio.events
        radio.play(try Pieces.bytes(from: source))
        let playing = Task {
            try await options.play(
                renderer, meter, keys: turn, keysAreElsewhere: source == .standardInput, status: status)
        }
        // The player says one sentence for each event. Live the program ends with the stream.
        let failure = Task { () -> AudioFileError? in
            defer { if isLive { playing.cancel() } }
            for await event in events {
                if case .failed(let error) = event { return error }
                Terminal.note(event.description)
                if !radio.isStarted { return nil }
            }
            return nil
        }
        try await playing.value
        radio.stop()
        if let failure = await failure.value { throw failure }
    } else {
        let feed = Feed(player, in: renderer, ahead: options["ahead"], policy: policy)
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
    }
    try await options.finish(recorder)
} catch {
    Terminal.stop("stream: \(error)", status: 1)
}
