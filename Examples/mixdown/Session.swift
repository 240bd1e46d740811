import Foundation
import RenderStack

/// The session to mix: a small text file, a line for each track.
///
///     # name   file       and, if you like
///     track Drums drums.wav gain -3
///     track Bass  bass.flac start 2.5 pan -0.2
///
/// `start` is in seconds, `gain` in decibels, `pan` from -1 (left) to 1 (right).
struct Session {
    /// One file with its place in the mix.
    struct Track {
        var name = ""
        var path = ""
        var start = 0.0
        var gain = 0.0
        var pan = 0.0
    }

    var tracks: [Track] = []

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
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            let place = "\(path), line \(number + 1)"
            guard first == "track", words.count >= 3, words.count % 2 == 1 else {
                throw Mistake(description: "\(place): it must be \"track NAME FILE [start N] [gain N] [pan N]\"")
            }
            var track = Track(name: words[1], path: words[2].hasPrefix("/") ? words[2] : folder + words[2])
            for index in stride(from: 3, to: words.count, by: 2) {
                switch (words[index], Double(words[index + 1])) {
                case ("start", let seconds?) where seconds >= 0 && seconds < 1e6: track.start = seconds
                case ("gain", let decibels?) where decibels >= -120 && decibels <= 12: track.gain = decibels
                case ("pan", let pan?) where pan >= -1 && pan <= 1: track.pan = pan
                default:
                    throw Mistake(
                        description: "\(place): \(words[index]) \(words[index + 1]): it must be start 0…999999, "
                            + "gain -120…12 or pan -1…1")
                }
            }
            tracks.append(track)
        }
        // One stereo output for each, and one for the mix.
        guard (1...31).contains(tracks.count) else {
            throw Mistake(description: "\(path): \(tracks.count) tracks; there must be 1 to 31")
        }
    }

    /// The session to mix if none is given.
    init(drums: String, bass: String, piano: String) {
        tracks = [
            Track(name: "Drums", path: drums), Track(name: "Bass", path: bass, gain: -2),
            Track(name: "Piano", path: piano, start: 0.5, gain: -3, pan: 0.2),
        ]
    }
}
