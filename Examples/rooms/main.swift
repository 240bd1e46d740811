// A sound in rooms: any file through any of the reverb's presets, through a room of your own from a text file, or through the
// response of a real room. Keys change the room while it plays.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: """
        Puts a sound into a room. Keys: n and p go to the next room and back, digits choose one, r goes to the response and
        back, m and l give more and less of it, + and - make a preset longer and shorter, f freezes it. Ctrl-C ends it.
        """,
    extras: [
        .text("input", "FILE", "a sound file, which is repeated; without it a drum and a few notes play"),
        .text(
            "room", "NAME",
            "a preset (\(Reverb.Preset.all.map(\.name).joined(separator: ", "))), or a text file that --write-room has written"
        ),
        .text("response", "FILE", "the response of a room, which measure-room writes: it plays there at first"),
        .number("mix", 0.35, in: 0...1, "the share of the room"),
        .number("lines", 16, in: 8...32, "the lines of the network: 8, 16 or 32"),
        .number("tour", 0, in: 0...3_600, "seconds after which the next room comes; 0 stays in one"),
        .text("write-room", "FILE", "writes the room into a text file, to be changed and read"),
    ])

do {
    let first = try Rooms.find(options.text("room") ?? "mediumHall")
    let rooms = Reverb.Preset.all.contains(first) ? Reverb.Preset.all : [first] + Reverb.Preset.all
    if let path = options.text("write-room") { try Rooms.write(first, to: path) }
    let lines = options["lines"]
    let reverb = Reverb(first, mix: 0, quality: lines < 12 ? .light : lines < 24 ? .standard : .rich)
    var response: ImpulseResponse?
    if let path = options.text("response") { response = try await ImpulseResponse.load(path: path) }
    let convolution = try response.map { response in try ConvolutionReverb(response, mix: 0) }
    let place = Place(reverb, convolution, mix: Float(options["mix"]))
    let player = BufferPlayer(name: "sound")
    player.schedule(try options.text("input").map { try Sound(path: $0) } ?? Phrase.sound(), .loops)
    let (before, after) = (LevelMeter(), LevelMeter())
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(player)  // pushes 1
        context.run(before)  // listens to the top
        context.run(reverb)  // edits the top; mono becomes stereo
        if let convolution { context.run(convolution) }  // edits the top; one of the two is heard
        context.run(after)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    if let path = options.text("response"), let response, let convolution {
        let megabytes = Double(convolution.memoryBytes / 100_000) / 10
        print("\(path): \(response.frameCount) frames of \(response.channelCount) channels, \(megabytes) MB in memory")
    }
    renderer.transaction {  // both on the same frame
        player.play()
        recorder?.begin()
    }
    // The tour: each room on its frame.
    let start = rooms.firstIndex(of: first) ?? 0
    if options["tour"] > 0 {
        for stop in 1...(13 * 24) {
            let frame = Int64(Double(stop) * options["tour"] * renderer.sampleRate)
            try renderer.transaction(at: .sample(frame)) { reverb.load(rooms[(start + stop) % rooms.count]) }
        }
    }

    @Sendable func current() -> Int? { rooms.firstIndex { $0 == reverb.settings(named: $0.name) } }
    @Sendable func enter(_ room: Reverb.Preset) {
        renderer.transaction {  // all of it in one cycle
            reverb.load(room)
            place.change { $0.isResponse = false }
        }
    }
    @Sendable func press(_ key: Character) {
        switch key {
        case "n": enter(rooms[((current() ?? -1) + 1) % rooms.count])
        case "p": enter(rooms[((current() ?? 1) + rooms.count - 1) % rooms.count])
        case "r": renderer.transaction { place.change { $0.isResponse.toggle() } }
        case "m": place.change { $0.mix = min($0.mix + 0.05, 1) }
        case "l": place.change { $0.mix = max($0.mix - 0.05, 0) }
        case "+": reverb.decay.value *= 1.1
        case "-": reverb.decay.value /= 1.1
        case "f": reverb.freeze.isOn.toggle()
        default: if let digit = key.wholeNumberValue, (1...rooms.count).contains(digit) { enter(rooms[digit - 1]) }
        }
    }
    @Sendable func screen() -> [String] {
        let heard = place.choice
        let chosen = heard.isResponse ? nil : current()
        var list = rooms.enumerated().map { number, room in
            "\(number == chosen ? "▶" : " ") \(number < 9 ? "\(number + 1)" : " ")  \(room.name)"
        }
        if let path = options.text("response") { list.append("\(heard.isResponse ? "▶" : " ") r  \(path)") }
        let decay = (reverb.decay.value * 10).rounded() / 10
        let state = reverb.freeze.isOn ? "frozen" : "\(decay) s"
        return ["rooms    mix \(Int((100 * heard.mix).rounded())) %    \(state)", ""] + list
            + before.levels.prefix(1).map { "in   \(Screen.meter($0.peak, width: 40))" }
            + after.levels.prefix(2).map { "out  \(Screen.meter($0.peak, width: 40))" }
    }
    try await options.play(renderer, after, keys: press, screen: screen)
    try await options.finish(recorder)
} catch {
    Terminal.stop("rooms: \(error)", status: 1)
}
