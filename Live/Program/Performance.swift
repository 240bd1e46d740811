import RenderStackLive

/// A performance on the disk: the sound, each version of the loop, and the frames at which things happened.
///
/// The folder holds `take.wav`, `versions/1/…` and `performance.txt`, a line for each event.
final class Performance {
    let folder: String
    private var lines: [String] = []

    init(_ folder: String, rate: Double, channels: Int, followsFile: Bool) throws(LiveError) {
        self.folder = folder
        try Folder.make(folder)
        for name in ["performance.txt", "take.wav"] where Folder.read("\(folder)/\(name)") != nil {
            throw LiveError("\(folder) holds a performance already (\(name)); give --record another name.")
        }
        lines = [
            "# RenderStack live", "rate \(rate)", "channels \(channels)", "turned \(followsFile ? "file" : "keep")",
        ]
    }

    /// Notes the sample rate of the output.
    func setRate(_ rate: Double) throws(LiveError) { lines[1] = "rate \(rate)" }

    /// Notes the first frame of the take.
    func begin(at frame: Int64) throws(LiveError) {
        lines.append("take \(frame)")
        try Folder.write(lines.joined(separator: "\n") + "\n", to: path)
        lines = []
    }

    private var path: String { "\(folder)/performance.txt" }

    /// Keeps the text of a version.
    func keep(_ number: Int, _ sources: LoopSources) throws(LiveError) {
        _ = try sources.write(to: "\(folder)/versions/\(number)")
    }

    /// Notes the package of the modules of the user's own.
    func use(package: String) throws(LiveError) { try write("package \(package)") }

    /// Notes an event. It is in the file at once: so that is right even if the program is ended.
    func note(_ frame: Int64, _ text: String) throws(LiveError) { try write("\(frame) \(text)") }

    private func write(_ line: String) throws(LiveError) {
        // Before the take begins there is no file.
        if !lines.isEmpty { return lines.append(line) }
        try Folder.append("\(line)\n", to: path)
    }

    /// The events of a performance that was recorded.
    struct Score {
        var rate = 48_000.0
        var channels = 2
        /// The first frame of the take.
        var first: Int64 = 0
        var followsFile = false
        var package: String?
        var events: [(frame: Int64, words: [String])] = []

        init(_ folder: String) throws(LiveError) {
            guard let text = Folder.text("\(folder)/performance.txt") else {
                throw LiveError("\(folder) has no performance.txt: name a folder that --record has written.")
            }
            for (index, line) in text.split(separator: "\n").enumerated() where !line.hasPrefix("#") {
                let words = line.split(separator: " ").map(String.init)
                if words.count == 2, words[0] == "rate", let rate = Double(words[1]), rate >= 1,
                    rate <= 1_000_000
                {
                    self.rate = rate
                } else if words.count == 2, words[0] == "channels", let count = Int(words[1]), (1...64).contains(count)
                {
                    channels = count
                } else if words.count == 2, words[0] == "turned", ["file", "keep"].contains(words[1]) {
                    followsFile = words[1] == "file"
                } else if words.count >= 2, words[0] == "package" {
                    package = String(line.dropFirst(8))
                } else if words.count == 2, words[0] == "take", let frame = Int64(words[1]), frame >= 0 {
                    first = frame
                } else if words.count >= 2, let frame = Int64(words[0]), frame >= (events.last?.frame ?? 0) {
                    events.append((frame, Array(words.dropFirst())))
                } else {
                    throw LiveError("\(folder)/performance.txt:\(index + 1):1: error: \"\(line)\" is no event")
                }
            }
        }
    }
}
