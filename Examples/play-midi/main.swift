// Plays a MIDI file with a SoundFont or an SFZ instrument, and shows its notes as a piano roll.
//
//     play-midi song.mid --font /usr/share/sounds/sf2/FluidR3_GM.sf2
//     play-midi song.mid --output file:song.flac             // and song.png, with the piano roll
//     play-midi song.mid --font piano.sfz --output jack --send

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Plays a MIDI file, each event on its frame, with a SoundFont (.sf2) or an SFZ instrument (.sfz), with reverb and
        chorus. In a terminal it shows a piano roll; a sound file gets a picture beside it.
        """,
    files: "SONG.mid",
    extras: [
        .text("font", "FILE", "the instrument (Debian's TimGM6mb.sf2 if not given)"),
        .number("voices", 256, in: 1...1_024, "samples that may sound at once"),
        .number("volume", 1, in: 0...4, "the level of everything"),
        .flag("fine", "reads samples between 16 frames in the place of 4"),
        .flag("dry", "without reverb and chorus"),
        .flag("send", "sends the messages to a MIDI port, too (jack, alsa)"),
    ], length: "the song's length and 3 s")

/// The instrument in a file, whose name tells its kind.
func player(_ path: String, score: consuming MIDIScore, keys: MIDIInput) throws -> SoundFontPlayer {
    let (voices, quality) = (Int(options["voices"]), options.has("fine") ? SoundFontPlayer.Quality.fine : .standard)
    if path.hasSuffix(".sfz") {
        let instrument = try SFZInstrument(path: path)
        for notice in instrument.notices { Terminal.note(notice) }
        for opcode in instrument.unknownOpcodes { Terminal.note("line \(opcode.line): \(opcode.name) is not known") }
        return SoundFontPlayer(
            instrument, voices: voices, quality: quality, sends: .reverbAndChorus, keys: keys, score: score)
    }
    let font = try SoundFont(path: path)
    for notice in font.notices { Terminal.note(notice) }
    return SoundFontPlayer(font, voices: voices, quality: quality, sends: .reverbAndChorus, keys: keys, score: score)
}

do {
    let file = try options.files.first.map { try MIDIFile(path: $0) } ?? Song.file
    let messages = file.messages
    let keys = MIDIInput(name: "keys")
    let fontPath = options.text("font") ?? "/usr/share/sounds/sf2/TimGM6mb.sf2"
    let synth: SoundFontPlayer
    do {
        synth = try player(fontPath, score: MIDIScore(messages), keys: keys)
    } catch let error as InstrumentFileError {
        let help =
            options.text("font") == nil ? " Debian's package timgm6mb-soundfont has it; --font names another." : ""
        Terminal.stop("play-midi: \(error)\(help)", status: 1)
    }
    synth.volume.value = Float(options["volume"])
    let roll = PianoRoll(messages, duration: file.duration)
    let seconds = (file.duration * 100).rounded() / 100
    print("\(options.files.first ?? Song.title): \(roll.count) notes, \(file.tracks.count) tracks, \(seconds) s")

    let isDry = options.has("dry")
    let output = MIDIOutput(name: "song")
    let sender = options.has("send") ? ScoreSender(MIDIScore(messages), to: output) : nil
    let chorus = Chorus(mix: 1)
    let reverb = Reverb(.mediumHall, mix: 1)
    let meter = LevelMeter()
    let clock = SongClock()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(clock)
        if let sender { context.run(sender) }
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

    var playing = options
    playing.seconds = options.seconds ?? file.duration + 3
    try await playing.play(
        renderer, meter, midiInputs: [keys], midiOutputs: sender == nil ? [] : [output],
        screen: { roll.lines(at: clock.seconds) })
    try await options.finish(recorder)
    if let path = options.soundPath { try options.draw(path, below: (roll.draw(), "its piano roll")) }
    print("\(synth.stolenCount) voices stolen, \(synth.missingFrameCount) frames missing")
} catch {
    Terminal.stop("play-midi: \(error)", status: 1)
}
