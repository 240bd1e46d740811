internal import RenderCore

/// A reader whose frames have the sample rate and the channels that the caller wants.
struct ConvertingReader: ~Copyable, Sendable {
    let sampleRate: Double
    let channelCount: Int
    private(set) var reader: AudioFileReader
    private var converter: SampleRateConverter?
    /// Frames with the file's channels, and the same frames with the channels wanted.
    private var input: AudioBlock
    private var mapped: AudioBlock
    /// The frames of `mapped` that the converter has not taken yet.
    private var waiting = 0..<0
    private static let inputFrames = 4_096

    init(path: String, sampleRate: Double?, channels: Int?) throws(AudioFileError) {
        let reader = try AudioFileReader(path: path)
        let info = reader.info
        let rate = sampleRate ?? info.sampleRate
        guard rate >= 1 && rate <= 1_000_000 && info.sampleRate <= 1_000_000 && (1...64).contains(channels ?? 1) else {
            throw AudioFileError(
                path: path, reason: .unsuitableFormat, cannot: "read",
                explanation: "\(channels ?? info.channelCount) channels at \(rate) Hz cannot be made of it; "
                    + "choose 1 to 64 channels, and 1 to 1,000,000 Hz")
        }
        self.sampleRate = rate
        channelCount = channels ?? info.channelCount
        converter =
            rate == info.sampleRate
            ? nil : SampleRateConverter(from: info.sampleRate, to: rate, channels: channels ?? info.channelCount)
        input = AudioBlock(channels: info.channelCount, frames: ConvertingReader.inputFrames)
        mapped = AudioBlock(channels: channels ?? info.channelCount, frames: ConvertingReader.inputFrames)
        self.reader = consume reader
    }

    /// Frames at the rate that is wanted.
    var frameCount: Int64 {
        if sampleRate == reader.info.sampleRate { return reader.info.frameCount }
        return Int64(
            SampleRateConverter.frameCount(
                of: Int(reader.info.frameCount), from: reader.info.sampleRate, to: sampleRate))
    }

    mutating func seek(to frame: Int64) throws(AudioFileError) { try reader.seek(to: frame) }

    /// Decodes all of the file once if its header promises a length that would take more memory than a file of this
    /// size should.
    mutating func settleLength() throws(AudioFileError) {
        while try reader.read(into: &input) > 0 {}
        try reader.seek(to: 0)
    }

    /// Reads the next frames.
    ///
    /// - Returns: The number of frames; fewer only at the end.
    mutating func read(into block: inout AudioBlock, at first: Int = 0) throws(AudioFileError) -> Int {
        let room = block.frameCount - first
        if converter == nil && channelCount == reader.info.channelCount {
            return try reader.read(into: &block, at: first)
        }
        var done = 0
        while done < room {
            if converter == nil {
                let count = try reader.read(into: &input, frames: min(room - done, ConvertingReader.inputFrames))
                if count == 0 { return done }
                block.copy(from: input, to: first + done, frames: count)
                done += count
                continue
            }
            if waiting.isEmpty {
                let count = try reader.read(into: &input)
                mapped.copy(from: input, frames: count)
                waiting = 0..<count
                if count == 0 {
                    return done + (converter?.finish(into: &block, at: first + done, room: room - done) ?? 0)
                }
            }
            let (consumed, produced) =
                converter?.convert(
                    mapped, from: waiting.lowerBound, frames: waiting.count, into: &block, at: first + done,
                    room: room - done) ?? (0, 0)
            waiting = (waiting.lowerBound + consumed)..<waiting.upperBound
            done += produced
        }
        return done
    }
}
