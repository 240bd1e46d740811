/// A named place in a file: a cue point, or where a chapter of a podcast begins.
///
///     let writer = try AudioFileWriter(
///         path: "podcast.wav", sampleRate: 48_000, channels: 2,
///         marks: [AudioFileMark(at: 0, name: "Welcome"), AudioFileMark(at: 48_000 * 90, name: "The guest")])
///     print(try AudioFileInfo(path: "podcast.wav").marks)
///
/// WAV and AIFF files keep marks; the article <doc:Files> says what other formats do.
///
/// Threads: control.
public struct AudioFileMark: Sendable, Hashable {
    /// The frame at which it stands, 0 or more.
    public let frame: Int64
    /// Its name. A file keeps 253 bytes of it.
    public let name: String

    /// Creates a mark.
    ///
    /// - Parameters:
    ///   - frame: Its frame; a negative one becomes 0. A file keeps none beyond 4,294,967,295.
    ///   - name: Its name, up to the first zero byte.
    public init(at frame: Int64, name: String = "") {
        self.frame = max(0, frame)
        self.name = String(name.prefix { $0 != "\0" })
    }

    /// Returns the marks that a file can keep, one behind the other. The library, with which most programs read them, reads no
    /// file whose header has more than 100,000 bytes, and no longer names.
    static func kept(_ marks: [AudioFileMark]) -> [AudioFileMark] {
        var room = 65_536
        return marks.filter { $0.frame <= Int64(UInt32.max) }.sorted { $0.frame < $1.frame }.map { mark in
            var name = Substring(mark.name)
            while name.utf8.count > 253 { name.removeLast() }
            return AudioFileMark(at: mark.frame, name: String(name))
        }.prefix { mark in
            room -= 38 + mark.name.utf8.count
            return room >= 0
        }
    }
}
