// The clipper of `symmetric-clipper` at four or eight times the sample rate, on a sound of yours or on a high sine.
// Compare: oversampled-clipper --times 1 --drive 20, and the same with --times 8; or let it measure and draw that:
// oversampled-clipper --compare aliasing.png

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Clips a sound at several times the sample rate, so that fewer frequencies fold back.", seconds: 5,
    files: "SOUND",
    extras: [
        .number("times", 4, in: 1...16, "how many times the sample rate: 1 (the plain clipper), 2, 4, 8 or 16"),
        .number("drive", 4, in: 0...100, "the gain before the clipping"),
        .number("level", 0.5, in: 0...1, "the level of the clipped sound"),
        .text(
            "compare", "PATH", "measures the frequencies that fold back at 1, 4 and 8 times, and draws them as a PNG"),
    ])

do {
    if let path = options.text("compare") {
        let comparison = try Comparison(drive: Float(options["drive"]), level: Float(options["level"]))
        try comparison.picture().write(to: path)
        Terminal.stop("\(comparison.description)\n\(path): the spectra", status: 0)
    }
    let sound = try options.files.first.map { path in try FilePlayer(path: path) }
    let tone = Oscillator(frequency: 5_000, level: 0.5)
    let clipper = Clipper()
    let oversampled = Oversampled(clipper, times: factor(upTo: Int(options["times"])))
    clipper.drive.value = Float(options["drive"])
    clipper.level.value = Float(options["level"])
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        if let sound { context.run(sound) } else { context.run(tone) }  // pushes 1
        context.run(oversampled)  // edits the top
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    sound?.play()
    recorder?.begin()

    try await options.play(renderer, meter)
    try await options.finish(recorder)
} catch {
    Terminal.stop("oversampled-clipper: \(error)", status: 1)
}
