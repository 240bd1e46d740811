// Tempo and pitch of a file, each by itself: as fast as it goes.

import ExampleSupport
import Foundation
import RenderStack

let options = Options.read(
    about: """
        Changes the tempo or the pitch of a sound file, each by itself, and writes another file.

        The tempo is a rate (2 is twice as fast), or the beats per minute that the file has and those that it is to have:
          \(Terminal.programName) loop.wav faster.wav --bpm-from 96 --bpm-to 120
          \(Terminal.programName) loop.wav faster.wav --bars 4 --bpm-to 120       (four bars of four beats are the whole file)
        """,
    files: "IN OUT",
    extras: [
        .number("rate", 1, in: TimeStretch.rates, "the tempo, as a multiple of the file's"),
        .number("pitch", 0, in: -24...24, "the pitch, in semitones"),
        .flag("formants", "keeps the formants where they are: a voice keeps its character"),
        .flag("speech", "short blocks, of 40 ms: better for speech, worse for chords"),
        .number("bpm-from", 0, in: 0...1_000, "the beats per minute that the file has"),
        .number("bpm-to", 0, in: 0...1_000, "the beats per minute that it is to have"),
        .number("bars", 0, in: 0...100_000, "the bars of four beats that the file has"),
    ],
    offline: "the file, without IN and OUT; its name says the format (.wav, .flac, .ogg …)")

/// A request that cannot be followed.
struct Refusal: Error, CustomStringConvertible {
    let description: String
}

/// Returns the rate that was asked for.
func rate(of info: AudioFileInfo) throws -> Double {
    let (bars, target) = (options["bars"], options["bpm-to"])
    var source = options["bpm-from"]
    if bars > 0 && source > 0 { throw Refusal(description: "--bars and --bpm-from say the same; give one of them") }
    if bars > 0 { source = bars * 4 * 60 / max(info.seconds, 1e-9) }
    if (source > 0) != (target > 0) {
        throw Refusal(description: "--bpm-to needs --bpm-from or --bars, and they need it; give both")
    }
    if source == 0 { return options["rate"] }
    if options["rate"] != 1 { throw Refusal(description: "--rate and --bpm-to both set the tempo; give one of them") }
    let rate = target / source
    if !TimeStretch.rates.contains(rate) {
        throw Refusal(
            description: String(
                format: "from %.1f to %.1f beats per minute is a rate of %.2f; it must be 1/32 to 32",
                source, target, rate))
    }
    return rate
}

/// Writes the file.
@Sendable func stretch(_ source: String, into target: String) throws {
    var reader = try AudioFileReader(path: source)
    let info = reader.info
    guard info.sampleRate >= 1_000 && info.sampleRate <= 1_000_000 else {
        throw Refusal(description: "\(source) has \(info.sampleRate) frames a second; it must have 1,000 to 1,000,000")
    }
    let rate = try rate(of: info)
    let settings = TimeStretch.Settings(
        rate: rate, cents: options["pitch"] * 100, keepsFormants: options.has("formants"))
    var stretch = TimeStretch(
        sampleRate: info.sampleRate, channels: info.channelCount,
        block: options.has("speech") ? 0.04 : TimeStretch.block(cents: options["pitch"] * 100))
    // An older file stays until this one is whole.
    var writer = try AudioFileWriter(
        path: target, sampleRate: info.sampleRate, channels: info.channelCount, tags: info.tags, replacesAtFinish: true)
    var input = AudioBlock(channels: info.channelCount, frames: 4_096)
    var output = AudioBlock(channels: info.channelCount, frames: 4_096)
    var (there, played, done) = (0, 0, Int64(0))
    // A file may turn out to end early.
    func total(_ info: AudioFileInfo) -> Int64 {
        let whole = Int64((Double(info.frameCount) / rate).rounded())
        guard let seconds = options.seconds else { return whole }
        return min(whole, Int64(min(seconds * info.sampleRate, 1e15)))
    }
    while done < total(reader.info) {
        if Task.isCancelled { throw CancellationError() }
        let wanted = Int(min(4_096, total(reader.info) - done))
        var made = 0
        while made < wanted {
            var needed = stretch.framesNeeded(settings)
            while needed > 0 {
                if played == there {
                    (there, played) = (try reader.read(into: &input), 0)
                    if there == 0 { needed -= stretch.pushSilence(needed) }
                }
                let count = stretch.push(input, from: played, frames: min(needed, there - played))
                played += count
                needed -= count
            }
            made += stretch.pull(min(TimeStretch.chunk, wanted - made), settings, into: &output, from: made)
        }
        try writer.write(output, frames: made)
        done += Int64(made)
        if Terminal.isInteractive { Terminal.draw("\(100 * done / max(1, total(reader.info))) % of \(target)") }
    }
    try writer.finish()
    if let notice = reader.info.notice { Terminal.note(notice) }
    Terminal.endDrawing()
    print(String(format: "\(target): rate %.4f, %+.2f semitones", rate, options["pitch"]))
}

do {
    let wasWhole = try await untilInterrupted {
        if options.files.count == 2 {
            try stretch(options.files[0], into: options.files[1])
        } else {
            let path = if case .file(let path) = options.output { path } else { "stretch.wav" }
            let band = try Band()
            try stretch(band.drums, into: path)
            withExtendedLifetime(band) {}
        }
    }
    if !wasWhole { print("Ended early.") }
} catch {
    Terminal.stop("stretch: \(error)", status: 1)
}
