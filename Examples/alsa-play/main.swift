// Plays two tones, or the sound of an input, straight on a sound card, and prints a line for each event.
//
//     alsa-play --device hw:0 --rate 48000 --period 128 --periods 3 --seconds 10
//     alsa-play --device hw:0 --input hw:1
//     alsa-play --midi-in "Keystation 49" --midi-out "FLUID Synth"

import ExampleSupport
import Glibc
import RenderStack

#if Everything || ALSA
    let options = Options(CommandLine.arguments.dropFirst())
    let (channels, isDuplex) = (options.channels, options.input != nil)
    let (left, right) = (Oscillator(frequency: 440, level: 0.1), Oscillator(frequency: 660, level: 0.1))
    let microphone = AudioInput(channels: channels)
    let (keys, synth) = (MIDIInput(name: "in"), MIDIOutput(name: "out"))
    let arrivals = Arrivals()
    // Without keys, a note every half second.
    let playsNotes = options.midiIn == nil && options.midiOut != nil

    let renderer = try Renderer(channels: channels) { context in
        context.forEachEvent(from: keys) { event, context in
            arrivals.port.send(MIDIEvent(frame: Int(context.sampleTime) + event.frame, event.message))
            context.send(event.message, at: event.frame, to: synth)
        }
        if playsNotes { sendNotes(&context, to: synth) }
        if isDuplex {
            context.run(microphone)
        } else {
            context.run(left)
            context.run(right)
            context.mix(2)
        }
        context.output()
    }

    let output = ALSAOutput(
        renderer, device: options.device, inputDevice: options.input, inputs: isDuplex ? [microphone] : [],
        rate: Double(options.rate), format: options.format, period: options.period, periods: options.periods,
        midiInputs: options.midiIn == nil ? [] : [keys], midiOutputs: options.midiOut == nil ? [] : [synth],
        midiConnect: options.midiConnect, midiName: "alsa-play")
    let presence = Presence()
    let telling = output.by({ $0() }) { event in
        say("event: \(event)")
        presence.note(event)
    }
    let listening = arrivals.port.by({ $0() }) { event in say("midi: frame \(event.frame): \(words(event.message))") }
    do {
        try output.start()
    } catch {
        for check in MachineCheck.all where check.verdict == .problem { Terminal.note("alsa-play: \(check)") }
        Terminal.stop("alsa-play: \(error)", status: 1)
    }
    if let configuration = output.configuration { say("plays: \(configuration)") }
    if let configuration = output.inputConfiguration { say("records: \(configuration)") }
    let wasWhole = try await output.run(for: options.seconds.map { .seconds($0) })
    // The last events are still to be printed.
    await telling.finish()
    await listening.finish()
    if output.clippedSamples > 0 { say("clipped: \(output.clippedSamples) samples") }
    say("frames: \(renderer.sampleTime)")
    say("\(output.statistics)")
    if !presence.isThere {
        Terminal.stop("The device is gone.", status: 4)
    } else if presence.wasInterrupted || output.statistics.missedDeadlines > 0 {
        Terminal.stop("The sound was interrupted.", status: 3)
    } else {
        Terminal.stop(wasWhole ? "Played whole." : "Ended early.", status: 0)
    }
#else
    if CommandLine.arguments.dropFirst().contains(where: { $0 == "--help" || $0 == "-h" }) {
        Terminal.stop("Plays on a sound card. This program was built without the trait ALSA, and does not.", status: 0)
    }
    Terminal.stop("alsa-play: this program was built without ALSA; build it with the trait ALSA", status: 1)
#endif
