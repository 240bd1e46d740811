public import RenderCore

/// Reads an audio file into blocks, from any frame on.
///
///     var reader = try AudioFileReader(path: "bass.flac")
///     var block = AudioBlock(channels: reader.info.channelCount, frames: 4_096)
///     while case let count = try reader.read(into: &block), count > 0 {
///         …the first `count` frames of `block`…
///     }
///
/// Samples come as floats, full scale ±1; 16 and 24-bit integers become floats without loss. The reader waits for the
/// disk: it is not for the render thread.
///
/// Threads: control.
public struct AudioFileReader: ~Copyable, Sendable {
    /// The information that the file has about itself. If it turns out to end early, the reader corrects the length and
    /// adds a `notice`.
    public private(set) var info: AudioFileInfo
    /// The frame that is read next.
    public private(set) var position: Int64 = 0

    private var file: OpenFile
    /// All bytes of it, where they are in memory.
    private let bytes: [UInt8]?
    /// Indicates whether the library is not at `position` any more.
    private var isLost = false
    /// Frames that are read at once.
    private let chunk: Int
    /// Indicates whether the file is read as 16-bit integers.
    package let isDirect: Bool
    /// Samples with channels taking turns, on their way out of the file; none if it is read as integers.
    private var scratch: AudioBlock
    /// The samples of a file of 16-bit integers in one or two channels, once they are read that way.
    private var shorts: [Int16]
    private static let scratchSamples = 16_384

    /// Opens a file.
    ///
    /// - Throws: An error if the file cannot be read, or has more than the 64 channels of a block.
    public init(path: String) throws(AudioFileError) {
        try self.init(try OpenFile(path: path), path: path)
    }

    /// Opens a sound of which all bytes are in memory, as a file would have them: an MP3, say.
    ///
    /// - Parameters:
    ///   - bytes: The bytes. The reader keeps them, and can go back in them as in a file.
    ///   - name: The name that errors have for it, in the place of a path.
    /// - Throws: An error if they are no sound that can be read, or one of more than the 64 channels of a block.
    public init(bytes: [UInt8], name: String = "sound in memory") throws(AudioFileError) {
        try self.init(try OpenFile(path: name, bytes: bytes), path: name, bytes)
    }

    private init(_ file: consuming OpenFile, path: String, _ bytes: [UInt8]? = nil) throws(AudioFileError) {
        let info = try file.info(path: path)
        guard info.channelCount <= 64 else {
            throw AudioFileError(
                path: path, reason: .unsuitableFormat, cannot: "read",
                explanation: "it has \(info.channelCount) channels and a block up to 64; split it into several files")
        }
        chunk = max(64, AudioFileReader.scratchSamples / info.channelCount)
        isDirect = file.hasShorts && info.channelCount <= 2
        scratch = AudioBlock(channels: 1, frames: isDirect ? 0 : chunk * info.channelCount)
        shorts = []
        self.bytes = bytes
        self.info = info
        self.file = consume file
    }

    /// Reads the next frames into a block that has the file's channels.
    ///
    /// - Parameters:
    ///   - block: The block to fill.
    ///   - first: The first frame of the block to write.
    ///   - frames: The number of frames; by default up to the end of the block.
    /// - Returns: The number of frames that were read. Fewer only at the end, then 0; the rest of the block is as it
    ///   was.
    /// - Throws: That the disk could not be read (what came before is in the block, and ``position`` behind it), or
    ///   that the block does not fit.
    public mutating func read(
        into block: inout AudioBlock, at first: Int = 0, frames: Int? = nil
    ) throws(AudioFileError) -> Int {
        let frames = frames ?? block.frameCount - first
        try AudioFileError.checkRoom(for: frames, of: info.channelCount, in: block, at: first, path: info.path)
        var done = 0
        while let asked = left(frames - done) {
            let count = try readSome(asked, into: &block, at: first + done)
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads a file of 16-bit integers in two channels as they are, a pair in the place of a sample.
    package mutating func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int {
        guard isDirect, info.channelCount == 2, let base = pairs.baseAddress else { return 0 }
        var done = 0
        while let asked = left(pairs.count - done) {
            if isLost { try findBack() }
            let place = unsafe base + done
            let read =
                unsafe file.failure != 0
                ? 0
                : place.withMemoryRebound(to: Int16.self, capacity: 2 * asked) {
                    unsafe file.read(asked, into: $0)
                }
            let count = try advance(read)
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Returns how many of that many frames the file still has; `nil` for none.
    private func left(_ frames: Int) -> Int? {
        let count = min(Int64(frames), info.frameCount - position)
        return count > 0 ? Int(count) : nil
    }

    /// Goes on by as many frames as were read. An error is thrown once the frames before it have been handed out.
    private mutating func advance(_ count: Int) throws(AudioFileError) -> Int {
        if count == 0 && file.failure != 0 {
            isLost = true
            throw AudioFileError(path: info.path, systemError: file.failure, reading: true)
        }
        if count == 0 { endsHere() }
        position += Int64(count)
        return count
    }

    private mutating func readSome(
        _ frames: Int, into block: inout AudioBlock, at first: Int
    ) throws(AudioFileError) -> Int {
        let channels = info.channelCount
        if isLost { try findBack() }
        let count = try advance(file.failure == 0 ? decode(min(frames, chunk)) : 0)
        if isDirect {
            _ = unsafe shorts.withUnsafeBufferPointer { unsafe block.take($0, at: first, frames: count) }
            return count
        }
        for channel in 0..<channels {
            var output = block[channel, from: first, frames: count]
            let interleaved = scratch.samples(0, from: 0, frames: count * channels)
            Signal.deinterleave(interleaved, channel: channel, of: channels, into: &output)
        }
        return count
    }

    /// Opens the file again after a failed read: the library may be anywhere, and not every decoder recovers.
    private mutating func findBack() throws(AudioFileError) {
        var again = try OpenFile(path: info.path, bytes: bytes)
        guard again.seek(to: position) else { throw unfound(position, again.failure) }
        file = again
        isLost = false
    }

    private func unfound(_ frame: Int64, _ error: Int32) -> AudioFileError {
        if error != 0 { return AudioFileError(path: info.path, systemError: error, reading: true) }
        return AudioFileError(
            path: info.path, reason: .damaged, cannot: "read",
            explanation: "it is damaged (frame \(frame) cannot be found); get another copy of it")
    }

    private mutating func decode(_ frames: Int) -> Int {
        if !isDirect { return AudioFileReader.read(frames, from: &file, into: &scratch) }
        if shorts.isEmpty { shorts = [Int16](repeating: 0, count: chunk * info.channelCount) }
        return unsafe shorts.withUnsafeMutableBufferPointer { unsafe file.read(frames, into: $0.baseAddress!) }
    }

    private static func read(_ frames: Int, from file: inout OpenFile, into scratch: inout AudioBlock) -> Int {
        var samples = scratch[0]
        return unsafe samples.withUnsafeMutableBufferPointer { unsafe file.read(frames, into: $0.baseAddress!) }
    }

    /// Ends the file here, though its header promised more.
    private mutating func endsHere() {
        info.notice =
            "It was cut off or is damaged: its header promises \(info.frameCount) frames, and \(position) can be read."
        info.frameCount = position
    }

    /// Goes to a frame; the frame behind the last is one too.
    ///
    /// - Throws: An error if there is no such frame, or if the disk could not be read. The position then stays the
    ///   same.
    public mutating func seek(to frame: Int64) throws(AudioFileError) {
        guard frame >= 0 && frame <= info.frameCount else {
            throw AudioFileError(
                path: info.path, reason: .outOfRange, cannot: "read",
                explanation: "frame \(frame) is outside of it; choose 0 to \(info.frameCount)")
        }
        if isLost { try findBack() }
        if frame == position { return }
        guard file.seek(to: frame) else {
            isLost = true
            throw unfound(frame, file.failure)
        }
        position = frame
    }

    /// Bytes in the file.
    var length: Int64 { file.length }

    /// Makes reads beyond a byte of the file fail: for tests.
    mutating func fail(from byte: Int64, with error: Int32) { file.fail(from: byte, with: error) }
}
