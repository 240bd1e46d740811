// A synthesiser that JACK MIDI plays: 128 voices of two oscillators, a filter and an envelope each.
//
//     jack-synth --output jack &
//     jack_connect system:midi_capture_1 jack-synth:midi_in_1
//
// Without a JACK server it plays a phrase of its own, or a MIDI file.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        A synthesiser for JACK MIDI: notes, velocity, sustain pedal (64), pitch bend of two semitones, cutoff (74),
        resonance (71), attack (73), decay (75), release (72), all notes off (123), all sound off (120).
        Keys, too: a w s e d f t g y h u j k.
        """,
    seconds: nil,
    extras: [
        .text("play", "FILE.mid", "a MIDI file to play"),
        .number("voices", 128, in: 1...1_024, "how many notes may sound at once; one more replaces the oldest"),
        .text("wave", "NAME", "saw, square, triangle or sine (saw if not given)"),
        .number("detune", 8, in: 0...100, "cents between the two oscillators"),
        .number("cutoff", 1_200, in: 50...20_000, "the filter's cut-off, in hertz"),
        .number("resonance", 3, in: -3...24, "decibels at the cutoff"),
        .number("sweep", 2, in: 0...8, "octaves by which a hard note opens the filter, which the decay closes again"),
        .number("attack", 0.003, in: 0.001...5, "seconds to the full level"),
        .number("decay", 0.4, in: 0.005...10, "seconds from there to the sustained level"),
        .number("sustain", 0.6, in: 0...1, "the level while the key is down"),
        .number("release", 0.3, in: 0.005...10, "seconds to silence after the key is released"),
        .number("level", 0.15, in: 0...1, "the level of a note of the highest velocity"),
    ])

do {
    guard let wave = Patch.waves[options.text("wave") ?? "saw"] else {
        Terminal.stop("jack-synth: --wave may be \(Patch.waves.keys.sorted().joined(separator: ", "))", status: 2)
    }
    let keys = MIDIInput(name: "keys")
    // A program with JACK has a source of notes.
    let isPlayed = options.output == .jack || options.output == .any && JACKOutput.isServerRunning()
    let synth = Polyphony<Voice>(voices: Int(options["voices"]), keys: keys, controllers: Patch.controllers)
    let sequencer: Sequencer
    if let path = options.text("play") {
        sequencer = Sequencer(playing: try MIDIFile(path: path), on: synth)
    } else {
        sequencer = Sequencer(tracks: isPlayed ? [] : [Track("phrase", Phrase.clip, to: synth)])
    }
    sequencer.start()
    synth[.wave].value = Float(wave)
    for (parameter, option) in Patch.options { synth[parameter].value = Float(options[option]) }
    synth.level.value = Float(options["level"])
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(sequencer)
        context.run(synth)  // pushes 1
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()

    let piano = Array("awsedftgyhujk")
    try await options.play(renderer, meter, midiInputs: [keys]) { key in
        guard let place = piano.firstIndex(of: key) else { return }
        let note = UInt8(60 + place)
        synth.send(.noteOn(channel: 0, note: note, velocity: 100))
        synth.send(.noteOff(channel: 0, note: note, velocity: 64), at: .now + .milliseconds(300))
    }
    try await options.finish(recorder)
    print("\(synth.mostVoices) notes at once, \(synth.stolenCount) voices stolen")
} catch {
    Terminal.stop("jack-synth: \(error)", status: 1)
}
