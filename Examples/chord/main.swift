// Plays a chord of three oscillators, with a meter, and records it. The render loop is all of the audio.

import ExampleSupport
import RenderStack

let options = Options.read(about: "Plays a chord of three sine tones.", seconds: 5)

do {
    let root = Oscillator(frequency: 220, level: 0.3)
    let third = Oscillator(frequency: 277.18, level: 0.3)
    let fifth = Oscillator(frequency: 329.63, level: 0.3)
    let volume = Gain(0)
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(root)  // pushes 1
        context.run(third)  // pushes 1
        context.run(fifth)  // pushes 1
        context.mix(3)  // the chord
        context.run(volume)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }

    // Fades in and out: 10 ms each, on these very frames.
    let end = Int64((options.seconds ?? 1e6) * renderer.sampleRate)
    try renderer.transaction(at: .sample(480)) { volume.level.value = 1 }
    try renderer.transaction(at: .sample(end - 960)) { volume.level.value = 0 }
    recorder?.begin()

    try await options.play(renderer, meter)
    try await options.finish(recorder)
} catch {
    Terminal.stop("chord: \(error)", status: 1)
}
