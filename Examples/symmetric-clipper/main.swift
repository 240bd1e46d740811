// An effect as a closure: clips a sound of yours, live input or a sine symmetrically.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Clips a sound softly and symmetrically, as an overdriven valve amplifier does.", seconds: 5, files: "SOUND",
    extras: [
        .number("drive", 1, in: 0...100, "the gain before the clipping"),
        .number("level", 0.5, in: 0...1, "the level of the clipped sound"), .input,
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
    top.change { sample, frame, channel in level[frame] * clipped(drive[frame] * sample) }
}
await options.play(clipper, on: Oscillator(frequency: 220, level: 0.5))
