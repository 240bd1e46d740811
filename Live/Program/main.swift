// Plays a loop file while it is edited. `scripts/live` builds this program and calls it.

import Glibc
import RenderStackLive

let arguments = CommandLine.arguments.dropFirst()
// A program of a version on trial, which this program has started.
if arguments.first == "--trial" { Trial.run(Array(arguments.dropFirst())) }

do {
    let options = try LiveOptions(arguments)
    let tools = try Places.find()
    defer { Folder.remove(tools.folder) }
    if let folder = options.render, case .file(let path) = options.output {
        try Replay.run(folder, into: path, followsFile: options.followsFile, tools: tools)
    } else {
        _ = try await Player(options, tools: tools, root: Places.root).play()
    }
} catch let stop as LiveOptions.Stop {
    write(stop.text, to: stop.status == 0 ? STDOUT_FILENO : STDERR_FILENO)
    exit(stop.status)
} catch {
    write("live: \(error)", to: STDERR_FILENO)
    exit(1)
}
