public import RenderCore

/// Reads sound that arrives bit by bit, once, from the first frame to the last.
///
///     var reader = try AudioStreamReader(AudioBytes(fileDescriptor: 0), sampleRate: 48_000, channels: 2)
///     var block = AudioBlock(channels: reader.channelCount, frames: 4_096)
///     while case let count = try reader.read(into: &block), count > 0 {
///         …the first `count` frames of `block`…
///     }
///
/// It takes MP3, Ogg Vorbis, Ogg Opus and FLAC, and WAV, AIFF, CAF and AU with plain samples behind their header, and finds out
/// from the bytes which it is. Of a stream in Ogg that is a chain of several sounds, as internet radio is, it reads one after
/// the other, and ``info`` tells about the present one. It waits for the bytes: it is not for the render thread. What goes
/// back in a file, or needs its length, needs an ``AudioFileReader``.
///
/// Threads: control.
public struct AudioStreamReader: ~Copyable, @unchecked Sendable {
    // Unchecked because the decoder and its input have one owner, this value, and the functions that use them are
    // `mutating`.

    /// The information about the sound that is read now.
    public var info: AudioStreamInfo { decoder.info }
    /// Frames per second of the blocks.
    public private(set) var sampleRate: Double
    /// The number of channels of the blocks.
    public let channelCount: Int
    /// The number of frames that have been read.
    public private(set) var position: Int64 = 0
    /// The number of sounds that have begun: 1, and one more for each that follows in the stream.
    public private(set) var soundCount = 1

    private let input: StreamInput
    private var decoder: any StreamDecoder
    private var converter: SampleRateConverter?
    /// Indicates whether the converter gives what it still holds, before the next sound or the end.
    private var isDraining = false
    private var isOver = false
    /// Samples whose channels take turns, the same channel by channel, and with the channels that are wanted.
    private var scratch: [Float] = []
    private var block: AudioBlock
    private var mapped: AudioBlock
    /// The frames of `mapped` that have not been taken yet.
    private var waiting = 0..<0
    private static var step: Int { 1_024 }

    /// Waits for the first bytes, and finds out what they are.
    ///
    /// - Parameters:
    ///   - bytes: The stream. A reader takes it to its end; nobody else may read it.
    ///   - sampleRate: Frames per second that the blocks shall have, 1…1,000,000; by default the stream's.
    ///   - channels: Channels that the blocks shall have, 1…64; by default the stream's. Mono goes to all, and many sum into
    ///     mono; otherwise channels meet by number.
    /// - Throws: An error if the bytes are no sound that can be read here.
    public init(
        _ bytes: AudioBytes, sampleRate: Double? = nil, channels: Int? = nil
    ) throws(AudioFileError) {
        let input = StreamInput(bytes)
        let decoder = try AudioStreamReader.decoder(of: input)
        let info = decoder.info
        let (rate, channels) = (sampleRate ?? info.sampleRate, channels ?? info.channelCount)
        guard rate >= 1 && rate <= 1_000_000 && (1...64).contains(channels) else {
            throw AudioFileError(
                path: bytes.name, reason: .unsuitableFormat, cannot: "read",
                explanation: "\(channels) channels at \(rate) Hz cannot be made of it; "
                    + "choose 1 to 64 channels, and 1 to 1,000,000 Hz")
        }
        self.input = input
        self.decoder = decoder
        self.sampleRate = rate
        channelCount = channels
        block = AudioBlock(channels: info.channelCount, frames: AudioStreamReader.step)
        mapped = AudioBlock(channels: channels, frames: AudioStreamReader.step)
        converter = AudioStreamReader.converter(from: info.sampleRate, to: rate, channels)
    }

    /// Reads the next frames into a block, and waits for them.
    ///
    /// - Parameters:
    ///   - block: A block of ``channelCount`` channels.
    ///   - first: The first frame of the block to write.
    ///   - frames: The number of frames; by default up to the end of the block.
    /// - Returns: The number of frames that were read. Fewer only at the end, then 0.
    /// - Throws: The reason why the stream ended where it did, once what came before has been read; or that the block does
    ///   not fit.
    public mutating func read(
        into block: inout AudioBlock, at first: Int = 0, frames: Int? = nil
    ) throws(AudioFileError) -> Int {
        let frames = frames ?? block.frameCount - first
        try AudioFileError.checkRoom(for: frames, of: channelCount, in: block, at: first, path: info.name)
        var done = 0
        while done < frames {
            let count = produce(into: &block, at: first + done, room: frames - done)
            if count == 0 { break }
            done += count
        }
        position += Int64(done)
        if done == 0 && frames > 0, let failure { throw failure }
        return done
    }

    /// Reads the frames that come next without a wait between them, as many as there is room for: fewer also before the end.
    /// Returns 0 at the end.
    package mutating func readSome(into block: inout AudioBlock) -> Int {
        let count = produce(into: &block, at: 0, room: block.frameCount)
        position += Int64(count)
        return count
    }

    /// The reason why the stream ended before its end.
    package var failure: AudioFileError? { input.failure }

    /// Has the frames from here on another rate.
    package mutating func convert(to rate: Double) {
        sampleRate = rate
        isDraining = false
        converter = AudioStreamReader.converter(from: info.sampleRate, to: rate, channelCount)
    }

    // MARK: Frames

    /// Makes frames: 0 only at the end.
    private mutating func produce(into target: inout AudioBlock, at first: Int, room: Int) -> Int {
        while true {
            if isDraining {
                let count = converter?.finish(into: &target, at: first, room: room) ?? 0
                if count > 0 { return count }
                isDraining = false
                converter =
                    isOver ? nil : AudioStreamReader.converter(from: info.sampleRate, to: sampleRate, channelCount)
            }
            if waiting.isEmpty {
                if isOver { return 0 }
                refill()
                continue
            }
            if converter == nil {
                let count = min(room, waiting.count)
                target.copy(from: mapped, sourceOffset: waiting.lowerBound, to: first, frames: count)
                waiting = waiting.lowerBound + count..<waiting.upperBound
                return count
            }
            let (consumed, produced) =
                converter?.convert(
                    mapped, from: waiting.lowerBound, frames: waiting.count, into: &target, at: first, room: room)
                ?? (0, 0)
            waiting = waiting.lowerBound + consumed..<waiting.upperBound
            if produced > 0 { return produced }
        }
    }

    /// Decodes the next frames, or finds that there are none.
    private mutating func refill() {
        let channels = info.channelCount
        if scratch.count < channels * AudioStreamReader.step {
            scratch = [Float](repeating: 0, count: channels * AudioStreamReader.step)
        }
        let count = unsafe scratch.withUnsafeMutableBufferPointer {
            unsafe decoder.read(AudioStreamReader.step, into: $0.baseAddress!)
        }
        if count == 0 { return goOn() }
        for channel in 0..<channels {
            for frame in 0..<count {
                let sample = scratch[frame * channels + channel]
                block[channel, frame] = sample.isFinite ? sample : 0
            }
        }
        mapped.copy(from: block, frames: count)
        waiting = 0..<count
    }

    /// Goes on with the sound behind the one that has ended.
    private mutating func goOn() {
        let rate = info.sampleRate
        if !decoder.goOn() {
            guard let next = AudioStreamReader.next(of: input) else {
                (isOver, isDraining) = (true, converter != nil)
                return
            }
            decoder = next
        }
        soundCount += 1
        if block.channelCount != info.channelCount {
            block = AudioBlock(channels: info.channelCount, frames: AudioStreamReader.step)
        }
        if info.sampleRate == rate { return }
        isDraining = converter != nil
        if converter == nil {
            converter = AudioStreamReader.converter(from: info.sampleRate, to: sampleRate, channelCount)
        }
    }

    /// Returns the decoder of the next sound of a chain that can be read.
    private static func next(of input: StreamInput) -> (any StreamDecoder)? {
        while input.beginNext() {
            if let decoder = try? decoder(of: input) { return decoder }
        }
        return nil
    }

    private static func decoder(of input: StreamInput) throws(AudioFileError) -> any StreamDecoder {
        let decoder: any StreamDecoder
        switch try StreamKind(input) {
        case .mpeg: decoder = try MPEGStream(input)
        case .ogg:
            input.expectPages()
            decoder = try LibraryStream(input)
        case .library: decoder = try LibraryStream(input)
        case .foreign(let name): decoder = try foreign(name, input)
        }
        let info = decoder.info
        guard (1...64).contains(info.channelCount) && info.sampleRate >= 1 && info.sampleRate <= 1_000_000 else {
            throw AudioFileError(
                path: input.name, reason: .unsuitableFormat, cannot: "read",
                explanation:
                    "it claims \(info.channelCount) channels at \(Int64(info.sampleRate)) Hz, and 1 to 64 channels at "
                    + "1 to 1,000,000 Hz can be read; send another one")
        }
        return decoder
    }

    private static func foreign(_ name: String, _ input: StreamInput) throws(AudioFileError) -> any StreamDecoder {
        #if FFmpeg
            if let decoder = ForeignStream(input) { return decoder }
            throw AudioFileError(
                path: input.name, reason: .damaged, cannot: "read",
                explanation:
                    "it is no \(name) that can be read from a stream; an M4A file must have its index in front "
                    + "(ffmpeg -movflags +faststart)")
        #else
            throw AudioFileError(
                path: input.name, reason: .unavailable, cannot: "read",
                explanation: "it is \(name), which RenderStack reads if it is built with its trait FFmpeg; "
                    + "build it so, or send MP3, Ogg, FLAC or WAV")
        #endif
    }

    private static func converter(from: Double, to: Double, _ channels: Int) -> SampleRateConverter? {
        from == to ? nil : SampleRateConverter(from: from, to: to, channels: channels)
    }
}
