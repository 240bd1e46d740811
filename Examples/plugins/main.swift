// The plug-ins of this machine: lists, searches and describes them, tries all of them in a child process, plays one, and draws
// what one does to each frequency.

import ExampleSupport
import RenderStack

#if Everything || LV2
    let command = Command(CommandLine.arguments.dropFirst())

    do {
        switch command.verb {
        case "list": try Catalogue.list(matching: command.word)
        case "describe": try Catalogue.describe(try command.plugin())
        case "scan": try Catalogue.scan()
        case "draw":
            try ResponsePicture.draw(try command.plugin(), path: command.options.text("picture") ?? "response.png")
        default: try await play(try command.plugin(), command.options)
        }
    } catch {
        Terminal.stop("plugins: \(error)", status: 1)
    }

    /// Plays a plug-in: an effect on a file, or on a tone and noise; an instrument by itself.
    func play(_ plugin: LV2Plugin, _ options: Options) async throws {
        let meter = LevelMeter()
        let recorder = try options.save.map { try FileRecorder(path: $0) }
        let renderer: Renderer
        var timed = options
        if plugin.stackEffect == .generates {
            renderer = try Renderer { context in
                context.run(plugin)
                context.run(meter)
                if let recorder { context.run(recorder) }
                context.output()
            }
            timed.seconds = options.seconds ?? 8
            if plugin.description.takesMIDI { Melody.send(to: plugin, rate: renderer.sampleRate) }
            print("\(plugin.name) plays.")
        } else if plugin.stackEffect != StackEffect(pops: 0, pushes: 0) {
            // A side-chain, where there is one, gets noise.
            let hasKey = plugin.stackEffect.pops == 2
            let key = Noise(.white, level: 0.5)
            if let path = options.text("input") {
                let player = try FilePlayer(path: path)
                timed.seconds = options.seconds ?? player.duration + 1
                renderer = try Renderer { context in
                    if hasKey { context.run(key) }
                    context.run(player)
                    context.run(plugin)
                    context.run(meter)
                    if let recorder { context.run(recorder) }
                    context.output()
                }
                player.play()
            } else {
                let tone = Oscillator(.saw, frequency: 110, level: 0.2)
                let noise = Noise(.pink, level: 0.1)
                timed.seconds = options.seconds ?? 8
                renderer = try Renderer { context in
                    if hasKey { context.run(key) }
                    context.run(tone)
                    context.run(noise)
                    context.mix(2)
                    context.run(plugin)
                    context.run(meter)
                    if let recorder { context.run(recorder) }
                    context.output()
                }
            }
            print("\(plugin.name) plays \(options.text("input") ?? "a tone and noise").")
        } else {
            renderer = try Renderer { context in context.run(plugin) }
            timed.seconds = options.seconds ?? 8
            print("\(plugin.name) has no sound of its own; it hears MIDI.")
        }
        recorder?.begin()
        let mistakes = renderer.onMain { Terminal.note("\($0)") }
        try await timed.play(renderer, meter, midiInputs: plugin.description.takesMIDI ? [plugin.midiInput] : [])
        try await options.finish(recorder)
        await mistakes.finish()
    }
#else
    Terminal.stop("plugins: this build has no LV2 plug-ins: build it with the trait LV2.", status: 1)
#endif
