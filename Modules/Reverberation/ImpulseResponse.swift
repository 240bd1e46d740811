public import AudioFiles
public import RenderCore

/// The answer of a room or a device to one short click: all that a ``ConvolutionReverb`` needs to sound like it.
///
///     let hall = try await ImpulseResponse.load(path: "hall.wav")
///     let made = try ImpulseResponse(block, sampleRate: 48_000)
///     hall.duration                               // seconds
/// ///
/// It comes from a file or from a block, and never changes.
///
/// Threads: control.
public final class ImpulseResponse: Sendable {
    /// Frames per second.
    public let sampleRate: Double
    let block: AudioBlock

    /// Creates a response from samples.
    ///
    /// - Parameters:
    ///   - samples: The samples, which are copied.
    ///   - sampleRate: Frames per second, 1…1,000,000.
    /// - Throws: ``ImpulseResponseError``, if there is no frame, a sample is no number, or the rate is out of range.
    public init(_ samples: borrowing AudioBlock, sampleRate: Double) throws(ImpulseResponseError) {
        block = AudioBlock(copying: samples)
        self.sampleRate = sampleRate
        try check()
    }

    private init(taking samples: consuming AudioBlock, sampleRate: Double) throws(ImpulseResponseError) {
        block = samples
        self.sampleRate = sampleRate
        try check()
    }

    private func check() throws(ImpulseResponseError) {
        guard sampleRate >= 1 && sampleRate <= 1_000_000 else {
            throw ImpulseResponseError("it has a rate of \(sampleRate) frames per second; it must be 1…1,000,000")
        }
        guard block.frameCount > 0 else {
            throw ImpulseResponseError("it has no frame; a response needs one at least")
        }
        for channel in 0..<block.channelCount {
            for frame in 0..<block.frameCount where !(abs(block[channel, frame]) <= 1e10) {
                throw ImpulseResponseError(
                    "its sample at frame \(frame) of channel \(channel) is \(block[channel, frame]); mend the file, or make "
                        + "the response anew")
            }
        }
    }

    /// Loads a file: any that `AudioFileReader` reads.
    ///
    /// - Parameter path: The file.
    /// - Throws: `AudioFileError`, if the file cannot be read; ``ImpulseResponseError``, if there is no response in it.
    public static func load(path: String) async throws -> ImpulseResponse {
        let info = try AudioFileInfo(path: path)
        return try ImpulseResponse(taking: await AudioBlock.load(path: path), sampleRate: info.sampleRate)
    }

    /// Writes a WAV file with 32-bit floats.
    ///
    /// - Parameter path: The file, which is replaced if it exists. If the disk is full, that one stays.
    /// - Throws: `AudioFileError`, with a sentence that says why the file cannot be written.
    public func save(path: String) throws(AudioFileError) {
        var file = try AudioFileWriter(
            path: path, format: .wav(.float32), sampleRate: sampleRate.rounded(), channels: channelCount,
            replacesAtFinish: true)
        try file.write(block)
        try file.finish()
    }

    /// The number of channels, 1…64. A ``ConvolutionReverb`` takes 1, 2 or 4.
    public var channelCount: Int { block.channelCount }
    /// The number of frames.
    public var frameCount: Int { block.frameCount }
    /// The length in seconds.
    public var duration: Double { Double(frameCount) / sampleRate }
    /// A copy of the samples.
    public var samples: AudioBlock { AudioBlock(copying: block) }

    /// Returns one channel as an array.
    ///
    /// - Parameter channel: The channel. A number that none has becomes the nearest one, with a notice on standard error,
    ///   here and in ``decay(channel:octaves:)``.
    public func array(_ channel: Int) -> [Float] { block.array(existing(channel)) }

    func existing(_ channel: Int) -> Int {
        nearest(to: channel, in: 0...channelCount - 1, "ImpulseResponse: channel \(channel) of \(channelCount)")
    }
}

/// The reason why a response cannot be made or used: a sentence that says what to do.
///
/// Threads: control.
public struct ImpulseResponseError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ reason: String) { description = "The impulse response cannot be used: \(reason)." }

    init(measuring reason: String) { description = "The measurement failed: \(reason)." }
}
