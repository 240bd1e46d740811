// Sends its input to its output at half the level, over a quiet tone that MIDI keys play.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        What comes in goes out, at half of its level, over a tone that MIDI keys play. Sound and keys come in through
        JACK; RENDERSTACK_JACK_CONNECT=no leaves its ports alone.
        """)

let voice = AudioInput(channels: 2, name: "voice")
let keys = MIDIInput(name: "keys")
let half = Gain(0.5)
let tone = Oscillator(frequency: 440, level: 0.1)
let meter = LevelMeter()

do {
    let recorder = try options.recorder()
    let renderer = try Renderer { context in
        context.forEachEvent(from: keys) { event, context in
            switch event.message {
            case .noteOn(_, let note, let velocity):
                tone.frequency.value = 440 * RenderMath.exp2((Float(note) - 69) / 12)
                tone.level.value = Float(velocity) / 254
            case .noteOff: tone.level.value = 0
            default: break
            }
        }
        context.run(voice)  // pushes what came in
        context.run(half)  // edits the top
        context.run(tone)  // pushes 1
        context.mix(2)
        context.run(meter)  // listens to the top
        context.output()
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()
    try await options.play(renderer, meter, midiInputs: [keys])
    try await options.finish(recorder)
} catch {
    Terminal.stop("duplex: \(error)", status: 1)
}
