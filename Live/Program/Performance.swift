import RenderStackLive

/// A performance on the disk: the sound, each version of the loop, and the frames at which things happened.
///
/// The folder holds `take.wav`, `versions/1/…` and `performance.txt`, a line for each event.
final class Performance {
    let folder: String
    private var lines: [String] = []

    init(_ folder: String, rate: Double, channels: Int) throws(LiveError) {
        self.folder = folder
        try Folder.make(folder)
        lines = ["# RenderStack live", "rate \(rate)", "channels \(channels)"]
    }

    /// Notes the sample rate of the output.
    func setRate(_ rate: Double) throws(LiveError) { lines[1] = "rate \(rate)" }

    /// Notes the first frame of the take.
    func begin(at frame: Int64) throws(LiveError) {
        lines.append("take \(frame)")
        try Folder.write(lines.joined(separator: "\n") + "\n", to: "\(folder)/performance.txt")
    }

    /// Keeps the text of a version.
    func keep(_ number: Int, _ sources: LoopSources) throws(LiveError) {
        _ = try sources.write(to: "\(folder)/versions/\(number)")
    }

    /// Notes an event. The file is written whole each time: so it is right even if the program is ended.
    func note(_ frame: Int64, _ text: String) throws(LiveError) {
        lines.append("\(frame) \(text)")
        try Folder.write(lines.joined(separator: "\n") + "\n", to: "\(folder)/performance.txt")
    }

    /// The events of a performance that was recorded.
    struct Score {
        var rate = 48_000.0
        var channels = 2
        /// The first frame of the take.
        var first: Int64 = 0
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
