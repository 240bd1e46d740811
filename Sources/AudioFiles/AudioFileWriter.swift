internal import DiskFiles
internal import Glibc
public import RenderCore

/// Writes an audio file, which is playable at any moment, even if the program is killed.
///
///     var writer = try AudioFileWriter(path: "take.flac", sampleRate: 48_000, channels: 2)
///     try writer.write(block)
///     try writer.finish()
///
/// After every ``write(_:from:frames:)`` the header of a WAV, AIFF or CAF file is up to date, and a FLAC, Ogg or MP3
/// file is whole up to its last frame or page. If the disk fills up, the frames written until then stay and are
/// playable. A writer that goes without ``finish()`` finishes its file, but cannot report errors.
///
/// Integers and lossy encoders hold samples from -1 to 1: samples beyond are clipped and counted, and a sample that is
/// not a number becomes 0 and is counted too. Floats are written as they are.
///
/// The writer waits for the disk: it is not for the render thread.
///
/// Threads: control.
public struct AudioFileWriter: ~Copyable, Sendable {
    /// The path of the file, as the program gave it.
    public let path: String
    /// The format of the samples.
    public let format: AudioFileFormat
    /// Frames per second: a whole number.
    public let sampleRate: Double
    /// The number of channels, 1 to 64.
    public let channelCount: Int
    /// The number of frames that were written. After a failure: how many of them are in the file; where samples are
    /// lost, the file itself knows better.
    public private(set) var frameCount: Int64 = 0
    /// The number of samples that did not fit into integers, or into a lossy encoder.
    public private(set) var clippedCount = 0

    private var sink: AudioFileSink
    /// The file's way to its name, if it gets that at the end.
    private var replacement: Replacement?
    private var failure: AudioFileError?
    private let quantizer: Quantizer?
    /// Samples with channels taking turns, on their way into the file.
    private var floats: [Float]
    private var integers: [Int32]
    private var bytes: [UInt8]
    /// For 16 bits in one or two channels without dither, which need no detour.
    private var shorts: [Int16]
    private var lastLook = HostClock.now

    /// Samples that are converted at once, and written: 64 kB of 16 bits.
    private static let scratchSamples = 32_768
    private var scratchFrames: Int { AudioFileWriter.scratchSamples / channelCount }

    /// Creates the file, or empties the one that is there, and writes its header. A file that is there keeps its mode and its owner;
    /// where the path is a symlink, the file to which it leads is meant.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - format: The format of the samples; by default the one that the extension stands for.
    ///   - sampleRate: Frames per second, a whole number that the format can have.
    ///   - channels: The number of channels, 1 to 64, as far as the format can have them.
    ///   - tags: The texts to write into the file, as far as the format can keep them.
    ///   - marks: Named places in the file, as far as the format can keep them.
    ///   - dither: `true` to make integers with triangular noise of one step, so that rounding becomes hiss and no
    ///     distortion. It is the same noise each time.
    ///   - replacesAtFinish: `true` to give the file its name in ``finish()``, when it is whole. Until then, and after any failure,
    ///     a file that has the name stays as it is; and a writer that goes without ``finish()`` leaves nothing.
    /// - Throws: An error with the reason why the file cannot be made. If the format is the reason, or the path is one of a device,
    ///   a pipe or a folder, no file is made or emptied.
    public init(
        path: String, format: AudioFileFormat? = nil, sampleRate: Double, channels: Int,
        tags: [AudioFileTag: String] = [:], marks: [AudioFileMark] = [], dither: Bool = false,
        replacesAtFinish: Bool = false
    ) throws(AudioFileError) {
        guard let format = format ?? AudioFileFormat(path: path) else {
            if path.isEmpty { throw AudioFileError(path: path, systemError: ENOENT) }
            throw AudioFileError(
                path: path, reason: .unsuitableFormat,
                explanation: "its name does not say which format it shall have; "
                    + "end it with .wav, .aiff, .caf, .flac, .ogg, .opus or .mp3, or name a format")
        }
        if let refusal = format.refusal(sampleRate: sampleRate, channels: channels) {
            let isKnown = format.libraryCode != nil && (1...64).contains(channels)
            let isMissing = isKnown && !format.isAvailable
            throw AudioFileError(
                path: path, reason: isMissing ? .unavailable : .unsuitableFormat, explanation: refusal)
        }
        var replacement: Replacement?
        if replacesAtFinish {
            replacement = try onDisk { () throws(DiskFault) in try Replacement(of: path) }
        }
        let place = replacement?.temporaryPath ?? path
        let file = try onDisk { () throws(DiskFault) in try FileDescriptor(creating: place, named: path) }
        let sink = try AudioFileSink.begin(
            file, path: path, format: format, sampleRate: sampleRate, channels: channels, tags: tags,
            marks: marks)
        self.init(
            path: path, format: format, sampleRate: sampleRate, channels: channels, dither: dither, sink: sink,
            replacement: replacement)
    }

    private init(
        path: String, format: AudioFileFormat, sampleRate: Double, channels: Int, dither: Bool,
        sink: consuming AudioFileSink,
        replacement: consuming Replacement?
    ) {
        self.path = path
        self.format = format
        self.sampleRate = sampleRate
        channelCount = channels
        self.sink = sink
        self.replacement = replacement
        let samples = AudioFileWriter.scratchSamples / channels * channels
        let bits = format.integerBits
        quantizer = bits.map { Quantizer(bits: $0, dither: dither) }
        let isDirect = format.container == .wav && bits == 16 && channels <= 2 && !dither
        shorts = [Int16](repeating: 0, count: isDirect ? samples : 0)
        floats = [Float](repeating: 0, count: bits == nil ? samples : 0)
        integers = [Int32](repeating: 0, count: bits == nil || isDirect ? 0 : samples)
        let isPacked = format.container == .wav && !isDirect
        bytes = [UInt8](repeating: 0, count: isPacked ? bits.map { samples * $0 / 8 } ?? 0 : 0)
    }

    /// The number of frames that the file has room for yet: an AIFF file ends at 4 GB.
    public var remainingFrames: Int64 {
        if format.container != .aiff { return .max - frameCount }
        let size = Int64(channelCount * (format.integerBits ?? 32) / 8)
        return (Int64(UInt32.max) - sink.dataStart - 4_096) / size - frameCount
    }

    /// Returns how many of so many frames to write at once: a WAV file then ends where pages of the system's memory do, which
    /// halves the time of the writing; 0 while it is better to wait for more.
    mutating func wholeBlocks(of frames: Int) -> Int {
        sink.wav?.wholeBlocks(of: frames, bytes: 2 * AudioFileWriter.scratchSamples) ?? frames / 8_192 * 8_192
    }

    /// Writes frames of a block behind those that are there; by default all from `first` on.
    ///
    /// - Throws: An error if the disk is full (the frames that found room are kept), if the file was removed, if it
    ///   would become longer than its format allows (nothing of the block is written), if the block has other channels
    ///   than the file or fewer frames, and after ``finish()``.
    public mutating func write(
        _ block: borrowing AudioBlock, from first: Int = 0, frames: Int? = nil
    ) throws(AudioFileError) {
        let frames = frames ?? max(0, block.frameCount - first)
        if let failure { throw failure }
        if sink.wav == nil && sink.library == nil {
            throw AudioFileError(path: path, reason: .finished, explanation: "it is finished; begin another file")
        }
        guard
            block.channelCount == channelCount && first >= 0 && frames >= 0 && first <= block.frameCount
                && frames <= block.frameCount - first
        else {
            throw AudioFileError(
                path: path, reason: .unsuitableFormat,
                explanation: "\(frames) frames of \(channelCount) channels cannot come from frame \(first) on of "
                    + "a block of \(block.frameCount) frames of \(block.channelCount); give one that has them")
        }
        guard Int64(frames) <= remainingFrames else {
            throw AudioFileError(
                path: path, reason: .tooLong,
                explanation: "it would become longer than the 4 GB that an AIFF file can have; "
                    + "begin another file, or choose WAV or CAF")
        }
        var done = 0
        while done < frames {
            let count = min(frames - done, scratchFrames)
            interleave(block, from: first + done, frames: count)
            try append(frames: count)
            done += count
        }
        try updateHeader()
    }

    /// Writes the remaining frames and closes the file. A second call does nothing.
    ///
    /// - Throws: An error if the rest could not be written, or the system could not store earlier frames; the file is
    ///   closed in any case. An error that ``write(_:from:frames:)`` threw is not thrown again.
    public mutating func finish() throws(AudioFileError) {
        let failed = failure
        var code: Int32 = 0
        var isDeleted = false
        if let file = sink.wav.take() {
            isDeleted = file.isDeleted
            code = file.close()
        }
        // The library writes no header before the first sample.
        if frameCount == 0 && format.container == .flac && failed == nil { sink.library?.updateHeader() }
        let surplus = failed == nil ? padOpus() : 0
        if let file = sink.library.take() {
            isDeleted = file.isDeleted
            code = file.close(correcting: soundSize, surplus: surplus)
        }
        let replacement = self.replacement.take()
        if failed != nil { return }
        if code != 0 { failure = AudioFileError(path: path, systemError: code) }
        if failure == nil && isDeleted { failure = deleted }
        if failure == nil, let replacement {
            do throws(DiskFault) { try replacement.keep() } catch { failure = AudioFileError(error) }
        }
        if let failure { throw failure }
    }

    /// The library counts the byte that fills up an odd number of them as sound.
    private var soundSize: (position: Int64, bytes: [UInt8])? {
        let size = frameCount * Int64(channelCount * (format.integerBits ?? 32) / 8) + 8
        guard format.container == .aiff && size % 2 == 1 else { return nil }
        return (sink.dataStart - 12, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) })
    }

    /// Gives the encoder silence at the end. Its output is 312 frames of 48 kHz late, and the library does not wait for
    /// the last of them. Returns the number of such frames, by which the file's end is then corrected.
    private mutating func padOpus() -> Int64 {
        guard format.encoding == .opus && frameCount > 0 else { return 0 }
        let frames = Int((312 * sampleRate / 48_000).rounded(.up))
        for index in 0..<min(floats.count, frames * channelCount) { floats[index] = 0 }
        guard sink.library?.write(frames, from: floats) == frames else { return 0 }
        return Int64(Double(frames) * 48_000 / sampleRate)
    }

    /// Counts silent frames without writing them: for tests of long files. A WAV file is sparse then; others only
    /// count.
    mutating func skip(_ frames: Int64) {
        sink.wav?.skip(frames)
        frameCount += frames
    }

    private var deleted: AudioFileError {
        AudioFileError(
            path: path, reason: .deleted,
            explanation: "another program removed the file during the writing; begin another file")
    }
}

// MARK: - Samples

extension AudioFileWriter {
    /// Fills the scratch memory.
    private mutating func interleave(_ block: borrowing AudioBlock, from first: Int, frames: Int) {
        if !shorts.isEmpty {
            clippedCount += unsafe shorts.withUnsafeMutableBufferPointer { shorts in
                unsafe block.convert(from: first, frames: frames, into: shorts) ?? 0
            }
            return
        }
        for channel in 0..<channelCount {
            let samples = block.samples(channel, from: first, frames: frames)
            if let quantizer {
                clippedCount += quantizer.convert(
                    samples, channel: channel, of: channelCount, frame: frameCount, into: &integers)
            } else {
                AudioFileWriter.interleave(samples, channel: channel, of: channelCount, into: &floats)
            }
        }
        // An encoder may never return from a sample that is not a number.
        if format.isLossy {
            for i in 0..<frames * channelCount where !(abs(floats[i]) <= 1) {
                clippedCount += 1
                floats[i] = floats[i].isNaN ? 0 : max(-1, min(1, floats[i]))
            }
        }
    }

    private static func interleave(
        _ samples: borrowing Samples, channel: Int, of channels: Int, into floats: inout [Float]
    ) {
        var output = floats.mutableSpan
        Signal.interleave(samples, channel: channel, of: channels, into: &output)
    }

    /// Writes the samples in the scratch memory.
    private mutating func append(frames: Int) throws(AudioFileError) {
        let error = sink.wav != nil ? appendToWAV(frames) : appendToLibrary(frames)
        if error == 0 { return }
        failure = AudioFileError(path: path, systemError: error)
        throw failure!
    }

    private mutating func appendToWAV(_ frames: Int) -> Int32 {
        let count = frames * channelCount
        let error: Int32?
        if !shorts.isEmpty {
            // A WAV file has the lowest byte first.
            if Int16(1).littleEndian != 1 { for i in 0..<count { shorts[i] = shorts[i].littleEndian } }
            error = unsafe shorts.withUnsafeBytes { all in
                unsafe sink.wav?.append(UnsafeRawBufferPointer(rebasing: all[..<(count * 2)]))
            }
        } else if let bits = format.integerBits {
            AudioFileWriter.pack(integers, count: count, bits: bits, into: &bytes)
            error = unsafe bytes.withUnsafeBytes { all in
                unsafe sink.wav?.append(UnsafeRawBufferPointer(rebasing: all[..<(count * bits / 8)]))
            }
        } else {
            error = unsafe floats.withUnsafeBytes { all in
                unsafe sink.wav?.append(UnsafeRawBufferPointer(rebasing: all[..<(count * 4)]))
            }
        }
        frameCount = sink.wav?.frameCount ?? frameCount
        if error != 0 { _ = sink.wav?.updateHeader() }
        return error ?? EBADF
    }

    /// Writes the upper bits of each integer, the lowest byte first.
    private static func pack(_ integers: borrowing [Int32], count: Int, bits: Int, into bytes: inout [UInt8]) {
        let size = bits / 8
        var output = bytes.mutableSpan
        for i in 0..<count {
            let value = integers[i] >> Int32(32 - bits)
            for byte in 0..<size { output[i * size + byte] = UInt8(truncatingIfNeeded: value >> Int32(8 * byte)) }
        }
    }

    private mutating func appendToLibrary(_ frames: Int) -> Int32 {
        let written =
            (quantizer != nil ? sink.library?.write(frames, from: integers) : sink.library?.write(frames, from: floats))
        let failure = sink.library?.failure ?? EBADF
        if failure == 0 && written == frames {
            frameCount += Int64(frames)
            return 0
        }
        keepWhatIsWhole()
        return failure != 0 ? failure : EIO
    }

    /// Shortens the file to its whole frames after a failed write.
    private mutating func keepWhatIsWhole() {
        switch format.container {
        case .aiff, .caf:
            let size = Int64(channelCount * (format.integerBits ?? 32) / 8)
            frameCount = max(frameCount, ((sink.library?.length ?? 0) - sink.dataStart) / size)
            sink.library?.truncate(to: sink.dataStart + frameCount * size)
            sink.library?.updateHeader()
        case .flac:
            sink.library?.cutFailedWrite()
            let whole = framesInFLAC
            patchFLAC(whole)
            frameCount = whole
        default:
            sink.library?.cutFailedWrite()
        }
    }

    /// Updates the header after each write, and looks once a second whether the file is still there.
    private mutating func updateHeader() throws(AudioFileError) {
        var error = sink.wav?.updateHeader() ?? 0
        if format.hasLivingHeader { sink.library?.updateHeader() }
        if format.container == .flac { patchFLAC(framesInFLAC) }
        if error == 0 { error = sink.library?.failure ?? 0 }
        if error != 0 { failure = AudioFileError(path: path, systemError: error) }
        let now = HostClock.now
        if failure == nil && now - lastLook >= 1_000_000_000 {
            lastLook = now
            if sink.wav?.isDeleted ?? sink.library?.isDeleted ?? false { failure = deleted }
        }
        if let failure { throw failure }
    }
}

// MARK: - FLAC

extension AudioFileWriter {
    /// Frames in whole FLAC frames of 4096, which libFLAC writes as soon as it has one sample more.
    private var framesInFLAC: Int64 { max(0, frameCount - 1) / 4_096 * 4_096 }

    /// Writes the number of frames into the header, which the library does only at the end: without it the length of a
    /// file whose program was killed is not known (RFC 9639, 8.2: rate 20 bits, channels 3, bits 5, frames 36).
    private mutating func patchFLAC(_ count: Int64) {
        guard let bits = format.integerBits else { return }
        let high = UInt64(sampleRate) << 44 | UInt64(channelCount - 1) << 41 | UInt64(bits - 1) << 36
        let number = (high | UInt64(count)).bigEndian
        let bytes = unsafe withUnsafeBytes(of: number) { unsafe [UInt8]($0) }
        sink.library?.patch(bytes, at: 18)
    }
}
