/// What a file says about itself.
///
///     let info = try AudioFileInfo(path: "piano.ogg")
///     print(info)         // piano.ogg: Ogg Vorbis, 2 channels, 44100 Hz, 3.52 s
public struct AudioFileInfo: Sendable, Hashable {
    /// The file as it was named.
    public let path: String
    /// How it keeps its samples.
    public let format: AudioFileFormat
    /// Frames per second.
    public let sampleRate: Double
    /// How many channels there are. Blocks have up to 64.
    public let channelCount: Int
    /// How many frames there are.
    public internal(set) var frameCount: Int64
    /// What it says in words.
    public let tags: [AudioFileTag: String]
    /// What is wrong with it although it can be read, as a sentence: fewer frames than it promises, above all.
    public internal(set) var notice: String?

    /// Opens a file, looks, and closes it.
    ///
    /// A FLAC file that does not say how long it is, as from a pipe, is decoded for it.
    ///
    /// - Throws: why it cannot be read.
    public init(path: String) throws(AudioFileError) {
        let file = try SoundFile(reading: path)
        self = try file.info(path: path)
    }

    init(
        path: String, format: AudioFileFormat, sampleRate: Double, channelCount: Int, frameCount: Int64,
        tags: [AudioFileTag: String], notice: String? = nil
    ) {
        self.path = path
        self.format = format
        self.sampleRate = sampleRate
        self.channelCount = channelCount
        self.frameCount = frameCount
        self.tags = tags
        self.notice = notice
    }

    /// How long it is.
    public var duration: Duration { .seconds(seconds) }

    /// How long it is, in seconds.
    public var seconds: Double { Double(frameCount) / sampleRate }
}

extension AudioFileInfo: CustomStringConvertible {
    /// One line.
    public var description: String {
        let channels = channelCount == 1 ? "1 channel" : "\(channelCount) channels"
        let hundredths = Int64((seconds * 100).rounded())
        let rest = hundredths % 100
        let line =
            "\(path): \(format), \(channels), \(Int64(sampleRate)) Hz, \(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) s"
        return notice.map { "\(line). \($0)" } ?? line
    }
}
