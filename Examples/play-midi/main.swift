// Plays a MIDI file with a SoundFont or an SFZ instrument, and shows its notes as a piano roll.
//
//     play-midi song.mid --font /usr/share/sounds/sf2/FluidR3_GM.sf2
//     play-midi song.mid --output file:song.flac             // and song.png, with the piano roll
//     play-midi song.mid --font piano.sfz --output jack --send
//     play-midi song.mid --from 9 --mute drums --tempo 80     // from bar 9 on, without the drums, slower

import ExampleSupport
import Foundation
import RenderStack

let options = Options.read(
    about: """
        Plays a MIDI file, each event on its frame, with a SoundFont (.sf2) or an SFZ instrument (.sfz), with reverb and
        chorus. In a terminal it shows a piano roll; a sound file gets a picture beside it.
        Keys: space stops and goes on, , and . go a bar back and on, - and + change the tempo, 1 to 9 mute a track.
        """,
    files: "SONG.mid",
    extras: [
        .text("font", "FILE", "the instrument (Debian's TimGM6mb.sf2 if not given)"),
        .number("voices", 256, in: 1...1_024, "samples that may sound at once"),
        .number("volume", 1, in: 0...4, "the level of everything"),
        .flag("fine", "reads samples between 16 frames in the place of 4"),
        .number("from", 1, in: 1...100_000, "the bar to begin with"),
        .text("loop", "BAR-BAR", "the bars to play again and again, such as 5-8; twice in a file"),
        .text("mute", "TRACKS", "the tracks not to play: names or numbers, with commas between"),
        .number("tempo", 100, in: 10...1_000, "per cent of the song's tempo"),
        .flag("dry", "without reverb and chorus"),
        .flag("send", "sends the messages to a MIDI port, too (jack, alsa)"),
    ], length: "the song's length and 3 s; a loop goes on")

/// The instrument in a file, whose name tells its kind.
func player(_ path: String, keys: MIDIInput) throws -> SoundFontPlayer {
    let (voices, quality) = (Int(options["voices"]), options.has("fine") ? SoundFontPlayer.Quality.fine : .standard)
    if path.hasSuffix(".sfz") {
        let instrument = try SFZInstrument(path: path)
        for notice in instrument.notices { Terminal.note(notice) }
        for opcode in instrument.unknownOpcodes { Terminal.note("line \(opcode.line): \(opcode.name) is not known") }
        return SoundFontPlayer(instrument, voices: voices, quality: quality, sends: .reverbAndChorus, keys: keys)
    }
    let font = try SoundFont(path: path)
    for notice in font.notices { Terminal.note(notice) }
    return SoundFontPlayer(font, voices: voices, quality: quality, sends: .reverbAndChorus, keys: keys)
}

/// The bars of an option such as 5-8.
func bars(_ text: String) -> ClosedRange<Int> {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let first = parts[0], let last = parts[1], first >= 1, last >= first, last <= 100_000 else {
        Terminal.stop("play-midi: --loop \(text): write the first bar and the last one, such as 5-8", status: 2)
    }
    return first...last
}

do {
    let file = try options.files.first.map { try MIDIFile(path: $0) } ?? Song.file
    let keys = MIDIInput(name: "keys")
    let fontPath = options.text("font") ?? "/usr/share/sounds/sf2/TimGM6mb.sf2"
    let synth: SoundFontPlayer
    do {
        synth = try player(fontPath, keys: keys)
    } catch let error as InstrumentFileError {
        let help =
            options.text("font") == nil ? " Debian's package timgm6mb-soundfont has it; --font names another." : ""
        Terminal.stop("play-midi: \(error)\(help)", status: 1)
    }
    synth.volume.value = Float(options["volume"])
    let roll = PianoRoll(file.messages, duration: file.duration)
    let seconds = (file.duration * 100).rounded() / 100
    print("\(options.files.first ?? Song.title): \(roll.count) notes, \(file.tracks.count) tracks, \(seconds) s")

    let isDry = options.has("dry")
    let output = options.has("send") ? MIDIOutput(name: "song") : nil
    let song = Performance(
        file, on: synth, sendingTo: output, from: Int(options["from"]), loop: options.text("loop").map(bars),
        speed: options["tempo"] / 100)
    if Int(options["from"]) > song.bars {
        Terminal.stop("play-midi: --from \(Int(options["from"])): the song has \(song.bars) bars", status: 2)
    }
    let muted = options.text("mute")?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    if let unknown = song.mute(muted) {
        Terminal.stop("play-midi: --mute \(unknown): the song has the tracks \(song.names)", status: 2)
    }
    let chorus = Chorus(mix: 1)
    let reverb = Reverb(.mediumHall, mix: 1)
    let meter = LevelMeter()
    let sequencer = song.sequencer
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(sequencer)
        context.run(synth)  // pushes the sound, the reverb send, the chorus send
        if isDry {
            context.pop()
            context.pop()
        } else {
            context.run(chorus)
            context.swap()
            context.run(reverb)
            context.mix(3)
        }
        context.run(meter)
        context.output()
        if let recorder { context.run(recorder) }
    }
    recorder?.begin()

    song.start()
    var playing = options
    if playing.seconds == nil && !(options.output.isLive && options.text("loop") != nil) {
        playing.seconds = song.duration + 3
    }
    try await playing.play(
        renderer, meter, midiInputs: [keys], midiOutputs: output.map { [$0] } ?? [],
        keys: { song.press($0) }, screen: { roll.lines(at: song.seconds) + [song.line] })
    try await options.finish(recorder)
    if let path = options.soundPath { try options.draw(path, below: (roll.draw(), "its piano roll")) }
    print("\(synth.stolenCount) voices stolen, \(synth.missingFrameCount) frames missing")
} catch {
    Terminal.stop("play-midi: \(error)", status: 1)
}
