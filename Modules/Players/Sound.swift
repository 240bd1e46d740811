public import AudioFiles
public import RenderCore

/// A sound in memory that never changes: a ``BufferPlayer`` or a ``SamplePlayer`` plays it, as often as you like and in
/// as many places at once.
///
///     let kick = try Sound(path: "kick.wav")
///     let attack = try Sound(path: "siren.wav", frames: 0..<22_050)
///     let click = Sound(block, sampleRate: 48_000)
///     let voice = try Sound(bytes: asset)                                 // the bytes of an MP3, say
///
/// All of it is in memory: 10 MB for half a minute of stereo at 44.1 kHz. Stream longer sounds with a ``FilePlayer``.
///
/// Threads: control.
public final class Sound: Sendable {
    /// Frames per second.
    public let sampleRate: Double
    /// The length of the sound in frames.
    public let frameCount: Int
    /// The number of channels.
    public let channelCount: Int

    let block: AudioBlock
    /// This sound at the rate that a player asked for last.
    private let other = Lock<Sound?>(nil, .part)

    /// Creates a sound from a block, which cannot be written any more.
    ///
    /// - Parameters:
    ///   - block: The samples.
    ///   - sampleRate: Its frames per second, 1…1,000,000; a rate outside becomes the nearest one, with a notice on
    ///     standard error.
    public init(_ block: consuming AudioBlock, sampleRate: Double) {
        frameCount = block.frameCount
        channelCount = block.channelCount
        self.sampleRate = nearestSampleRate(to: sampleRate, for: "Sound")
        self.block = block
    }

    /// Reads a file, or a segment of it. It waits for the disk; ``load(path:)`` does not.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - frames: The segment, in frames of the file; frames outside of the file are left out. By default all of it.
    /// - Throws: An error if the file cannot be read.
    public convenience init(path: String, frames: Range<Int64>? = nil) throws(AudioFileError) {
        try self.init(AudioFileReader(path: path), frames: frames)
    }

    /// Reads a sound of which all bytes are in memory, as a file would have them: an MP3, say.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - name: The name that errors have for it.
    /// - Throws: An error if the bytes are no sound that can be read.
    public convenience init(bytes: [UInt8], name: String = "sound in memory") throws(AudioFileError) {
        try self.init(AudioFileReader(bytes: bytes, name: name))
    }

    private convenience init(
        _ reader: consuming AudioFileReader, frames: Range<Int64>? = nil
    ) throws(AudioFileError) {
        try reader.info.checkRate("play")
        let all = 0..<reader.info.frameCount
        let wanted = (frames ?? all).clamped(to: all)
        // The memory is taken as the frames come: a header may promise more than there is.
        var block = AudioBlock(channels: reader.info.channelCount, frames: min(wanted.count, 1 << 20))
        if wanted.lowerBound > 0 { try reader.seek(to: wanted.lowerBound) }
        var done = 0
        while done < wanted.count {
            if done == block.frameCount {
                var longer = AudioBlock(channels: block.channelCount, frames: min(wanted.count, 2 * done))
                longer.copy(from: block)
                block = longer
            }
            let count = try reader.read(into: &block, at: done, frames: block.frameCount - done)
            if count == 0 { break }
            done += count
        }
        let rate = reader.info.sampleRate
        if done < block.frameCount {
            self.init(
                AudioBlock(copying: block, channels: 0..<block.channelCount, frames: 0..<done), sampleRate: rate)
        } else {
            self.init(block, sampleRate: rate)
        }
    }

    /// Reads a file off the caller's thread.
    ///
    /// - Throws: An error if the file cannot be read; `CancellationError` if the task was cancelled.
    public static func load(path: String) async throws -> Sound {
        let rate = try AudioFileInfo(path: path).sampleRate
        return Sound(try await AudioBlock.load(path: path), sampleRate: rate)
    }

    /// The length of the sound, in seconds.
    public var duration: Double { Double(frameCount) / sampleRate }

    /// Returns the same sound at another rate: itself if it has that rate. It is converted once.
    ///
    /// A file may say that it has one frame a second. A conversion makes no sound more than 32 times as long, or longer
    /// than 2²⁶ frames if that is more; the frames behind that are left out.
    func at(_ rate: Double) -> Sound {
        if rate == sampleRate { return self }
        return other.withLock { other in
            if let other, other.sampleRate == rate { return other }
            var converter = SampleRateConverter(from: sampleRate, to: rate, channels: channelCount)
            let longest = min(max(1 << 26, 32 * frameCount), 1 << 31 - 1)
            let frames = min(frameCount, Int(Double(longest) * sampleRate / rate))
            var result = AudioBlock(
                channels: channelCount,
                frames: SampleRateConverter.frameCount(of: frames, from: sampleRate, to: rate))
            let (_, produced) = converter.convert(block, frames: frames, into: &result)
            _ = converter.finish(into: &result, at: produced)
            let sound = Sound(result, sampleRate: rate)
            other = sound
            return sound
        }
    }
}
