// A mixdown: renders a session in a text file into a sound file, much faster than real time, at the loudness that you
// choose.

import ExampleSupport
import FoundationEssentials
import RenderStack

let options = Options.read(
    about: """
        Mixes a session into mix.wav, or the file that --output names. Peaks stay below -1 dBTP.

        A session is a text file with a line for each track, and one for each that makes way for another:
          track NAME FILE [start SECONDS] [gain DB] [pan -1…1] [compress DB RATIO [attack MS] [release MS]]
          duck NAME by NAME DB RATIO [attack MS] [release MS]
        "compress -18 4:1" leaves 1 dB of 4 above -18 dB; it hears the file before gain and pan (attack 10, release 150).
        "duck Music by Voice -30 6:1" makes the music softer while the voice, as it is in the mix, is above -30 dB
        (attack 20, release 400). Such lines work one after the other.
        """,
    files: "SESSION",
    extras: [
        .number("loudness", -16, in: -60 ... -5, "the loudness of the mix, in LUFS"),
        .text("stems", "FOLDER", "writes the mix and each track as files in this folder instead"),
    ],
    offline: "the file; its name says the format (.wav, .flac, .ogg …)")

let path = if case .file(let path) = options.output { path } else { "mix.wav" }
let stems = options.text("stems").map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : $0 }

/// Renders into the files.
@Sendable func write(_ performance: Performance, names: [String], seconds: Double) async throws {
    let output =
        if let stems {
            try FileOutput(performance.renderer, folder: stems, names: names, replacesAtFinish: true)
        } else {
            try FileOutput(performance.renderer, path: path, replacesAtFinish: true)
        }
    try await output.preroll(for: .seconds(performance.latency))
    try await output.run(for: .seconds(seconds)) { Terminal.show($0, of: stems ?? path) }
    try await output.finish()
    Terminal.endDrawing()
    for path in output.paths { print("\(path): \(output.frameCount) frames") }
}

do {
    let band = options.files.isEmpty ? try Band() : nil
    let session =
        try band.map { Session(drums: $0.drums, bass: $0.bass, piano: $0.piano) } ?? Session(path: options.files[0])

    let wasWhole = try await untilInterrupted {
        let seconds = try options.seconds ?? Performance(session).duration
        let master = try Master(session, wanted: options["loudness"], seconds: seconds) { step in
            if Terminal.isInteractive { Terminal.draw("\(step) …") }
        }

        // And once into files, which get their names when they are whole.
        let performance = try Performance(session, gain: master.gain, ceiling: master.limit, stems: stems != nil)
        let isNew = stems.map { !FileManager.default.fileExists(atPath: $0) } ?? false
        do {
            try await write(performance, names: ["Mix"] + session.tracks.map(\.name), seconds: seconds)
        } catch {
            // The files have gone with the output.
            if let stems, isNew, (try? FileManager.default.contentsOfDirectory(atPath: stems))?.isEmpty == true {
                try? FileManager.default.removeItem(atPath: stems)
            }
            throw error
        }
        print(master.description)
    }
    if !wasWhole { print("Ended early.") }
} catch {
    Terminal.stop("mixdown: \(error)", status: 1)
}
