// Plays a loop file while it is edited. `scripts/live` builds this program and calls it.

import Glibc
import RenderStackLive

let arguments = CommandLine.arguments.dropFirst()
// A program of a version on trial, which this program has started.
if arguments.first == "--trial" { Trial.run(Array(arguments.dropFirst())) }

// A closed terminal ends the program as a request to end does: the take is finished. With `nohup` it plays on.
let atHangUp = signal(SIGHUP) { _ in kill(getpid(), SIGTERM) }
// A signal that was ignored before stays so: SIG_IGN, which is 1.
if unsafe unsafeBitCast(atHangUp, to: Int.self) == 1 { signal(SIGHUP, SIG_IGN) }
// A reader of the messages that has gone does not end the music.
signal(SIGPIPE, SIG_IGN)

var status: Int32 = 0
do {
    let options = try LiveOptions(arguments)
    let tools = try Places.find()
    defer { Folder.remove(tools.folder) }
    if let folder = options.render, case .file(let path) = options.output {
        try Replay.run(folder, into: path, package: options.package, tools: tools)
    } else {
        status = try await Player(options, tools: tools, root: Places.root).play()
    }
} catch let stop as LiveOptions.Stop {
    write(stop.text, to: stop.status == 0 ? STDOUT_FILENO : STDERR_FILENO)
    exit(stop.status)
} catch {
    write("live: \(error)", to: STDERR_FILENO)
    exit(1)
}
exit(status)
