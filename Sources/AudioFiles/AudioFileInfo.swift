/// The information that a file has about itself.
///
///     let info = try AudioFileInfo(path: "piano.ogg")
///     print(info)         // piano.ogg: Ogg Vorbis, 2 channels, 44100 Hz, 3.52 s
///
/// Threads: control.
public struct AudioFileInfo: Sendable, Hashable {
    /// The path of the file, as the program gave it.
    public let path: String
    /// The format of the samples.
    public let format: AudioFileFormat
    /// Frames per second.
    public let sampleRate: Double
    /// The number of channels. Blocks have up to 64.
    public let channelCount: Int
    /// The number of frames.
    public internal(set) var frameCount: Int64
    /// The texts in the file: title, artist and others.
    public let tags: [AudioFileTag: String]
    /// The named places in the file, one behind the other.
    public let marks: [AudioFileMark]
    /// A sentence that says what is wrong with the file although it can be read: above all that it has fewer frames
    /// than it promises.
    public internal(set) var notice: String?
}

extension AudioFileInfo {
    /// Opens a file, reads the information, and closes it.
    ///
    /// A FLAC file without its length, as from a pipe, is decoded to find it.
    ///
    /// - Throws: An error if the file cannot be read.
    public init(path: String) throws(AudioFileError) {
        let file = try OpenFile(path: path)
        self = try file.info(path: path)
    }

    /// Refuses a sample rate that nothing here converts: a header that is damaged can claim any.
    package func checkRate(_ verb: String) throws(AudioFileError) {
        guard sampleRate >= 1 && sampleRate <= 1_000_000 else {
            throw AudioFileError(
                path: path, reason: .unsuitableFormat, cannot: verb,
                explanation:
                    "its header claims \(Int64(sampleRate)) frames a second, and 1 to 1,000,000 can be played; "
                    + "put the header right, or get another copy of it")
        }
    }

    /// The length of the audio.
    public var duration: Duration { .seconds(seconds) }

    /// The length of the audio, in seconds.
    public var seconds: Double { Double(frameCount) / sampleRate }
}

extension AudioFileInfo: CustomStringConvertible {
    /// The information in one line.
    public var description: String {
        let channels = channelCount == 1 ? "1 channel" : "\(channelCount) channels"
        let hundredths = Int64((seconds * 100).rounded())
        let rest = hundredths % 100
        let line =
            "\(path): \(format), \(channels), \(Int64(sampleRate)) Hz, \(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) s"
        return notice.map { "\(line). \($0)" } ?? line
    }
}
