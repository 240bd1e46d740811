// Measures a room: plays a sweep, records what a microphone hears of it, and computes the response, its decay in octaves,
// and a picture of it. A simulated room can take the place of a real one.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Measures the response of a room or a device: it plays a sweep, records the first input, and
        writes the response, a picture of it, and its decay in octaves. With --simulate the room is one of code, which
        decays by 60 dB in the seconds that you give.
        """,
    extras: [
        .number("simulate", 0, in: 0...10, "seconds in which a simulated room decays; 0 for a real room"),
        .number("sweep", 6, in: 0.5...10, "seconds of the sweep"),
        .number("tail", 3, in: 0.5...10, "seconds that are recorded after it"),
        .number("level", -12, in: -60...0, "dB of the sweep"),
        .text("response", "FILE", "the response, a WAV file: response.wav if not given"),
    ], save: "recording.wav")

do {
    let simulated = options["simulate"]
    var rate = 48_000.0
    let player = BufferPlayer(channels: 1, name: "sweep")
    func sweep() throws -> ResponseSweep {
        try ResponseSweep(
            duration: options["sweep"], sampleRate: rate,
            level: Double(RenderMath.amplitude(decibels: Float(options["level"]))))
    }
    let recording: AudioBlock
    if simulated > 0 {
        let room = try ConvolutionReverb(
            SimulatedRoom.response(decay: simulated, sampleRate: rate),
            settings: .init(isTrimmed: false, isNormalised: false), mix: 1)
        player.schedule(Sound(try sweep().samples, sampleRate: rate))
        let renderer = try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(player)
            context.run(room)
            context.output()
        }
        player.play()
        recording = renderer.renderOffline(frames: Int((options["sweep"] + options["tail"]) * rate))
    } else {
        let microphone = AudioInput(channels: 1, name: "microphone")
        let path = options.save ?? "recording.wav"
        let recorder = try options.recorder(path: path)
        let meter = LevelMeter()
        let renderer = try Renderer { context in
            context.run(player)
            context.output()
            context.run(microphone)
            context.run(meter)
            context.run(recorder)
        }
        rate = renderer.sampleRate
        player.schedule(Sound(try sweep().samples, sampleRate: rate))
        renderer.transaction {  // both on the same frame
            player.play()
            recorder.begin()
        }
        var timed = options
        timed.seconds = options["sweep"] + options["tail"]
        try await timed.play(renderer, meter)
        try await options.finish(recorder)
        if recorder.takes.count > 1 {
            Terminal.stop("measure-room: the sample rate changed during the measurement; measure again", status: 1)
        }
        rate = try AudioFileInfo(path: path).sampleRate
        recording = try await AudioBlock.load(path: path, channels: 1)
    }
    let whole = try sweep().response(of: recording)
    if simulated > 0 {
        let known = try SimulatedRoom.response(decay: simulated, sampleRate: rate)
        let difference = (10 * SimulatedRoom.difference(whole, known)).rounded() / 10
        print("The response differs from the simulated one by \(difference) dB.")
    }
    let path = options.text("response") ?? "response.wav"
    let response = whole.trimmed()
    try response.save(path: path)
    print("\(path): \(response.frameCount) frames, \((1_000 * response.duration).rounded() / 1_000) s")
    let decays = whole.decay()
    try options.draw(path, below: (DecayPicture.draw(decays), "its decay by octaves"))
    print("The sound arrives \((100_000 * Double(whole.arrival) / rate).rounded() / 100) ms after it was sent.")
    for line in DecayTable.lines(decays) { print(line) }
} catch {
    Terminal.stop("measure-room: \(error)", status: 1)
}
