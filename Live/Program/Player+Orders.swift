import RenderStackLive

extension Player {
    /// Follows an order. `false` ends the program.
    func obey(_ order: Console.Order) -> Bool {
        do {
            switch order {
            case .quit: return false
            case .mute:
                session.setMuted(!session.isMuted)
                say(session.isMuted ? "Muted." : "Heard again.")
            case .previous: steps += 1
            case .save(let name): say("Saved as \(try save(name)).")
            case .list: for parameter in session.parameters { say("    \(parameter)") }
            case .set(let name, let value): say("    \(try session.set(name, to: value))")
            case .status: say(status)
            case .help: say(LiveOptions.usage)
            case .unknown(let line):
                say(
                    "\"\(line)\" is no order. There are mute, previous, save, list, set NAME VALUE, status, help and quit."
                )
            }
        } catch { say("\(error)") }
        return true
    }

    /// Saves the version that is heard beside the loop.
    private func save(_ name: String?) throws(LiveError) -> String {
        guard let version = session.current else { throw LiveError("There is no version yet.") }
        let isFolder = Folder.exists(options.loop)
        var stem = options.loop
        while stem.hasSuffix("/") { stem.removeLast() }
        if stem.hasSuffix(".swift") { stem.removeLast(6) }
        let path = name ?? "\(stem).\(version.number)\(isFolder ? "" : ".swift")"
        if Folder.read(path) != nil || Folder.exists(path) {
            throw LiveError("\(path) exists already; give another name: save NAME")
        }
        if isFolder {
            _ = try version.sources.write(to: path)
        } else {
            try Folder.write(version.sources.files[0].text, to: path)
        }
        return path
    }

    /// Meters and load on one line.
    var status: String {
        let levels = session.meter.levels.map { level in
            level.peak.isFinite ? "\((level.peak * 10).rounded() / 10) dB" : "-inf dB"
        }
        let statistics = output?.statistics
        let load = statistics.map {
            "load \(Int(($0.loadMedian * 100).rounded())) %, \($0.missedDeadlines) missed, \($0.faults) faults"
        }
        let parts = [
            session.current.map { "version \($0.number)" } ?? "no version", levels.joined(separator: "  "), load ?? "",
            session.isMuted ? "muted" : "",
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
