// An effect as a closure: symmetrical clipping, of a sound of yours, of what comes in, or of a sine.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Clips a sound softly and symmetrically, as an overdriven valve amplifier does.", seconds: 5, files: "SOUND",
    extras: [
        .number("drive", 1, in: 0...100, "how much louder it is made before it is clipped"),
        .number("level", 0.5, in: 0...1, "how loud the clipped sound is"), .input,
    ])

/// Straight to a third, a parabola to two thirds, flat above (U. Zölzer, ed., DAFX, 2nd ed., 2011, chapter 4).
@Sendable func clipped(_ x: Float) -> Float {
    let size = min(abs(x), 2 / 3)
    let bend = 2 - 3 * size
    let y = size < 1 / 3 ? 2 * size : 1 - bend * bend / 3
    return x < 0 ? -y : y
}

let drive = Parameter(Float(options["drive"]), in: 0...100)
let level = Parameter(Float(options["level"]), in: 0...1)
let clipper = ClosureModule(.edits, name: "Symmetric clipper") { context in
    let drive = drive.glide(context)
    let level = level.glide(context)
    var top = context.top
    for channel in 0..<top.channelCount {
        var samples = top[channel]
        for i in samples.indices { samples[i] = level[i] * clipped(drive[i] * samples[i]) }
    }
}
await options.play(clipper, on: Oscillator(frequency: 220, level: 0.5))
