internal import Glibc
public import RenderCore

/// The progress of reading or writing a file.
///
/// Threads: control.
public struct AudioFileProgress: Sendable, Hashable {
    /// The number of frames done.
    public let frame: Int64
    /// The number of frames in all, as far as is known.
    public let frameCount: Int64
    /// A sentence that says what is wrong with the file although it can be read.
    public let notice: String?

    /// The share that is done, from 0 to 1.
    public var fraction: Double { frameCount > 0 ? min(1, Double(frame) / Double(frameCount)) : 1 }
}

extension AudioBlock {
    /// Loads a whole file, off the caller's thread.
    ///
    ///     let kick = try await AudioBlock.load(path: "kick.wav", sampleRate: renderer.sampleRate, channels: 2)
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - sampleRate: Frames per second that the block shall have; by default the file's.
    ///   - channels: Channels that the block shall have, 1 to 64; by default the file's. Mono goes to all, and many sum
    ///     into mono; otherwise channels meet by number.
    ///   - progress: Is called after each part, on a thread of the file's own, and at the end. Not after the task was
    ///     cancelled.
    /// - Returns: The frames that are really there, even where the header promises more; then the last `progress` has a
    ///   notice.
    /// - Throws: `AudioFileError`: why it cannot be read, or that it has no room in memory. `CancellationError` if the
    ///   task was cancelled.
    ///
    /// Threads: control.
    public static func load(
        path: String, sampleRate: Double? = nil, channels: Int? = nil,
        progress: (@Sendable (AudioFileProgress) -> Void)? = nil
    ) async throws -> AudioBlock {
        try await BlockingWork().run {
            var reader = try ConvertingReader(path: path, sampleRate: sampleRate, channels: channels)
            let promised = reader.size(of: reader.frameCount)
            if promised > 1 << 28 && promised / 64 > reader.reader.length { try reader.settleLength() }
            let memory = Double(sysconf(Int32(_SC_PHYS_PAGES))) * Double(sysconf(Int32(_SC_PAGESIZE)))
            guard Double(reader.size(of: reader.frameCount)) < memory / 2 else {
                throw AudioFileError(
                    path: path, reason: .tooLong, cannot: "load",
                    explanation: "it would take \(reader.size(of: reader.frameCount) >> 20) MB of memory; "
                        + "read it in blocks, or let a FilePlayer stream it")
            }
            return try reader.readAll(progress: progress)
        }
    }
}

extension ConvertingReader {
    /// Bytes that so many frames take.
    func size(of frames: Int64) -> Int64 {
        let (bytes, isTooMuch) = frames.multipliedReportingOverflow(by: Int64(4 * channelCount))
        return isTooMuch ? .max : bytes
    }

    /// Reads everything from here to the end.
    fileprivate mutating func readAll(progress: (@Sendable (AudioFileProgress) -> Void)?) throws -> AudioBlock {
        var whole = AudioBlock(channels: channelCount, frames: Int(frameCount))
        var part = AudioBlock(channels: channelCount, frames: 65_536)
        var done = 0
        while true {
            let count = try read(into: &part)
            try Task.checkCancellation()
            if count == 0 { break }
            whole.copy(from: part, to: done, frames: count)
            done = min(whole.frameCount, done + count)
            progress?(AudioFileProgress(frame: Int64(done), frameCount: frameCount, notice: reader.info.notice))
        }
        progress?(AudioFileProgress(frame: Int64(done), frameCount: Int64(done), notice: reader.info.notice))
        return done == whole.frameCount
            ? whole : AudioBlock(copying: whole, channels: 0..<channelCount, frames: 0..<done)
    }
}
