import FoundationEssentials
import RenderStack

/// The session to mix: a small text file, a line for each track, and one for each track that makes way for another.
///
///     # name   file       and, if you like
///     track Drums drums.wav gain -3
///     track Bass  bass.flac start 2.5 pan -0.2 compress -18 4:1 attack 10 release 120
///     track Voice voice.wav
///     duck  Bass  by Voice -30 6:1 release 400
///
/// `start` is in seconds, `gain` in decibels, `pan` from -1 (left) to 1 (right). `compress` has a threshold in decibels and a
/// ratio, and hears the file as it is: `gain` and `pan` come after it. `duck` has the same settings, and hears the other track
/// as it is in the mix. `attack` and `release` are in milliseconds.
struct Session {
    /// One file with its place in the mix.
    struct Track {
        var name = ""
        var path = ""
        var start = 0.0
        var gain = 0.0
        var pan = 0.0
        var compression: Compression?
    }

    /// The settings of a compressor.
    struct Compression {
        /// In decibels.
        var threshold: Double
        var ratio: Double
        /// In milliseconds.
        var attack: Double
        var release: Double
    }

    /// A track that gets softer while another one is loud.
    struct Duck {
        /// Their numbers, from 0.
        var track: Int
        var key: Int
        var compression: Compression
    }

    var tracks: [Track] = []
    var ducks: [Duck] = []

    /// A line that makes no sense.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a session. Its files are looked for beside it.
    init(path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Mistake(description: "\(path) cannot be read; it must be a text file")
        }
        let folder = path.contains("/") ? path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) : ""
        // They may name tracks that come later.
        var ducking: [SessionLine] = []
        for (number, text) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            var line = SessionLine(text, place: "\(path), line \(number + 1)")
            guard let first = line.next(), !first.hasPrefix("#") else { continue }
            switch first {
            case "track": tracks.append(try line.track(in: String(folder)))
            case "duck": ducking.append(line)
            default: throw line.mistake("\(first): a line must begin with track, duck or #")
            }
        }
        // One stereo output for each, and one for the mix.
        guard (1...31).contains(tracks.count) else {
            throw Mistake(description: "\(path): \(tracks.count) tracks; there must be 1 to 31")
        }
        for var line in ducking { ducks.append(try line.duck(tracks.map(\.name))) }
    }

    /// The session to mix if none is given.
    init(drums: String, bass: String, piano: String) {
        tracks = [
            Track(name: "Drums", path: drums), Track(name: "Bass", path: bass, gain: -2),
            Track(name: "Piano", path: piano, start: 0.5, gain: -3, pan: 0.2),
        ]
    }
}
