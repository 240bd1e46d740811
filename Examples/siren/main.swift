// A siren: plays an attack, a wail that repeats while the key is down, and a release that begins where a round ends.

import ExampleSupport
import RenderStack
import Synchronization

let options = Options.read(
    about: "Sounds a siren. Keys: space presses and releases, t does both in ten seconds' time.",
    files: "ATTACK WAIL RELEASE",
    extras: [
        .number("at", 1, in: 0...3_600, "seconds until it sounds by itself"),
        .number("hold", 3, in: 0...3_600, "seconds for which it then holds"),
    ])

do {
    let files = options.files
    let attack = try files.isEmpty ? Wail.attack() : Sound(path: files[0])
    let wail = try files.isEmpty ? Wail.round() : Sound(path: files[1])
    let release = try files.isEmpty ? Wail.release() : Sound(path: files[2])
    let siren = BufferPlayer()
    let meter = LevelMeter()
    let recorder = try options.recorder()

    let renderer = try Renderer { context in
        context.run(siren)  // pushes 1
        context.run(meter)  // listens to the top
        context.output()  // onto the output
        if let recorder { context.run(recorder) }  // listens to the top
    }
    recorder?.begin()
    siren.play()

    @Sendable func press(at time: RenderTime = .immediately) {
        siren.schedule(attack, .interrupts, at: time)
        siren.schedule(wail, .loops)
    }
    @Sendable func letGo(at time: RenderTime = .immediately) {
        siren.schedule(release, .interruptsAtLoop, at: time)
    }

    let start = Int64(options["at"] * renderer.sampleRate)
    press(at: .sample(start))
    letGo(at: .sample(start + Int64(options["hold"] * renderer.sampleRate)))

    let isDown = Mutex(false)
    try await options.play(renderer, meter) { key in
        switch key {
        case " ":
            isDown.withLock { isDown in
                if isDown { letGo() } else { press() }
                isDown.toggle()
            }
        case "t":
            press(at: .now + .seconds(10))
            letGo(at: .now + .seconds(13))
        default: break
        }
    }
    try await options.finish(recorder)
} catch {
    Terminal.stop("siren: \(error)", status: 1)
}
