// Plays four files in sync. Keys and MIDI controllers turn a fader, pan, mute and solo of each, and the tempo and
// the tape's speed of all, while it plays.

import ExampleSupport
import RenderStack
import Synchronization

let options = Options.read(
    about: "Mixes four files that loop.\n\n\(Desk.help)", files: "ONE TWO THREE FOUR",
    extras: [.text("midi", "FILE", "controllers from a text file: lines of SECONDS CHANNEL CONTROLLER VALUE")])

do {
    let band = options.files.isEmpty ? try Band() : nil
    let files = band.map { [$0.drums, $0.bass, $0.piano, $0.bell] } ?? options.files
    let tracks = try files.map { path in try Track(path: path) }
    let controllers = Controllers()
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.forEachEvent(from: controllers.input) { event, _ in controllers.messages.send(event.message) }
        context.forEach(tracks) { context, track in
            context.run(track.player)  // pushes 1
            context.run(track.fader)  // edits the top
            context.run(track.meter)  // listens to the top
        }
        context.mix(4)  // everything
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    renderer.transaction {  // all on the same frame
        for track in tracks { track.player.play() }
        recorder?.begin()
    }

    let desk = Mutex(Desk())
    @Sendable func change(_ body: (inout Desk) -> Void) {
        let (before, after) = desk.withLock { desk in
            let before = desk
            body(&desk)
            renderer.transaction { Track.apply(desk, to: tracks) }
            return (before, desk)
        }
        if Terminal.isInteractive { return }
        if before.tempo != after.tempo || before.speed != after.speed { Terminal.note(Track.turned(after)) }
        for index in tracks.indices where before.strips[index] != after.strips[index] {
            Terminal.note(tracks[index].description(index, of: after))
        }
    }
    let turned = controllers.messages.by({ $0() }) { message in change { $0.take(message) } }
    defer { turned.cancel() }

    // Rendered into a file, a controller of the MIDI file acts on its exact frame. Live, it acts like a user's hand.
    let events = try options.text("midi").map { path in try Controllers.read(path: path) } ?? []
    if options.output.isLive {
        Task {
            let start = ContinuousClock.now
            for event in events {
                try await Task.sleep(until: start + .seconds(event.seconds))
                change { $0.take(event.message) }
            }
        }
    } else {
        var planned = Desk()
        for event in events {
            planned.take(event.message)
            try renderer.transaction(at: .sample(Int64(event.seconds * renderer.sampleRate))) {
                Track.apply(planned, to: tracks)
            }
        }
    }

    @Sendable func screen() -> [String] {
        let seconds = Int(Double(renderer.sampleTime) / renderer.sampleRate)
        return Track.screen(tracks, desk.withLock { $0 }, meter, seconds: seconds)
    }
    try await options.play(
        renderer, meter, midiInputs: [controllers.input], keys: { key in change { $0.press(key) } }, screen: screen)
    try await options.finish(recorder)
} catch {
    Terminal.stop("four-track-mixer: \(error)", status: 1)
}
