// Karaoke: plays a backing track and your voice through an echo. A tracker finds the pitch of the raw voice; a meter shows
// how near it is to the melody, and a bell rings for each note that was on key.

import ExampleSupport
import Foundation
import RenderStack

let options = Options.read(
    about: """
        Sings along. With a sound server the voice comes from the microphone; elsewhere an artificial singer sings. A melody
        is a text of lines "seconds seconds note": when a note begins, how long it is, and which it is (60 is middle C).
        """,
    seconds: 18, files: "BACKING MELODY",
    extras: [
        .text("voice", "FILE", "a file that sings in place of the microphone"),
        .number("key", 0, in: -12...12, "semitones by which the song is higher than it was written"),
        .number("flat", 0, in: -100...100, "cents by which the artificial singer sings too low"),
        .number("echo", 0.25, in: 0...1, "the level of the voice's echo"),
        .number("bell", 0.2, in: 0...1, "the level of the bell that rings for a note on key"),
        .text("pitches", "FILE", "a text file for the pitch of the voice, fifty times a second"),
    ])

do {
    let written = try options.files.isEmpty ? Melody.own : Melody(path: options.files[1])
    let melody = written.transposed(by: Int(options["key"].rounded()))
    let isDevice = options.output.isLive && options.output != .clock
    let hasMicrophone = isDevice && (options.output != .any || JACKOutput.isServerRunning())
    let microphone = AudioInput(channels: 1, name: "microphone")
    let singer = BufferPlayer(channels: 1, name: "singer")
    if let path = options.text("voice") {
        singer.schedule(try Sound(path: path))
    } else if !hasMicrophone {
        singer.schedule(melody.sung(flat: options["flat"]))
    }
    let isSung = options.text("voice") != nil || !hasMicrophone
    let backing = BufferPlayer(name: "backing")
    let song = try options.files.isEmpty ? Melody.backing() : Sound(path: options.files[0])
    // In its tempo, in another key.
    backing.schedule(song.stretched(pitch: 100 * options["key"].rounded()))
    let tracker = PitchTracker(range: 70...1_200, interval: 0.02, smoothing: 2, threshold: -50, channels: 1)
    let echo = Delay(time: 0.3, feedback: 0.35, mix: Float(options["echo"]))
    let bells = SamplePlayer(voices: 4, channels: 1, name: "bells")
    let bell = bells.load(Melody.bell())
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        if isSung { context.run(singer) } else { context.run(microphone) }  // pushes 1
        context.run(tracker)  // listens to the top: the voice as it is
        context.run(echo)  // edits the top
        context.run(backing)  // pushes 1
        context.run(bells)  // pushes 1
        context.mix(3)  // everything
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    renderer.transaction {  // all on the same frame
        singer.play()
        backing.play()
        recorder?.begin()
    }

    let level = Float(options["bell"])
    let judge = Judge(tracker, melody) { bells.play(bell, gain: level) }
    try await options.play(
        renderer, meter, status: { judge.status }, listening: { judge.listen(sampleRate: renderer.sampleRate) })
    try await options.finish(recorder)
    print(judge.verdict)
    if let path = options.text("pitches") { try WholeFile.write(judge.pitches, to: path) }
} catch {
    Terminal.stop("karaoke: \(error)", status: 1)
}
