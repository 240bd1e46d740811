public import AudioFiles
public import RenderCore

/// A sound in memory that never changes: a ``BufferPlayer`` or a ``SamplePlayer`` plays it, as often as you like and in
/// as many places at once.
///
///     let kick = try Sound(path: "kick.wav")
///     let attack = try Sound(path: "siren.wav", frames: 0..<22_050)
///     let click = Sound(block, sampleRate: 48_000)
///
/// All of it is in memory: 10 MB for half a minute of stereo at 44.1 kHz. Stream what is longer with a ``FilePlayer``.
public final class Sound: Sendable {
    /// Frames per second.
    public let sampleRate: Double
    /// How long it is.
    public let frameCount: Int
    /// How many channels it has.
    public let channelCount: Int

    let block: AudioBlock
    /// The same at the rate that was asked for last.
    private let other = Lock<Sound?>(nil)

    /// A sound from a block, which cannot be written any more.
    ///
    /// - Parameters:
    ///   - block: the samples.
    ///   - sampleRate: its frames per second, 1…1,000,000.
    /// - Precondition: the rate is in range.
    public init(_ block: consuming AudioBlock, sampleRate: Double) {
        precondition(
            sampleRate >= 1 && sampleRate <= 1_000_000,
            "Sound: a sample rate of \(sampleRate) Hz; it must be 1…1,000,000")
        frameCount = block.frameCount
        channelCount = block.channelCount
        self.sampleRate = sampleRate
        self.block = block
    }

    /// Reads a file, or a segment of it. It waits for the disk; ``load(path:)`` does not.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - frames: the segment, in frames of the file; what lies outside of the file is left out. All if nothing is
    ///     said.
    /// - Throws: why it cannot be read.
    public convenience init(path: String, frames: Range<Int64>? = nil) throws(AudioFileError) {
        var reader = try AudioFileReader(path: path)
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
    /// - Throws: why it cannot be read; `CancellationError` where the task was cancelled.
    public static func load(path: String) async throws -> Sound {
        let rate = try AudioFileInfo(path: path).sampleRate
        return Sound(try await AudioBlock.load(path: path), sampleRate: rate)
    }

    /// How long it is, in seconds.
    public var duration: Double { Double(frameCount) / sampleRate }

    /// The same sound at another rate: itself if it has that rate. It is converted once.
    func at(_ rate: Double) -> Sound {
        if rate == sampleRate { return self }
        return other.withLock { other in
            if let other, other.sampleRate == rate { return other }
            var converter = SampleRateConverter(from: sampleRate, to: rate, channels: channelCount)
            var result = AudioBlock(
                channels: channelCount,
                frames: SampleRateConverter.frameCount(of: frameCount, from: sampleRate, to: rate))
            let (_, produced) = converter.convert(block, into: &result)
            _ = converter.finish(into: &result, at: produced)
            let sound = Sound(result, sampleRate: rate)
            other = sound
            return sound
        }
    }
}
