package import AudioFiles
package import RenderCore

/// A file that can be streamed any number of times: its properties, and the way to open it.
///
/// It stays open between one stream and the next, so that starting again costs a seek.
package final class StreamFile: Sendable {
    /// The path of the file, as the program gave it.
    package let path: String
    /// Frames per second.
    package let sampleRate: Double
    /// The number of channels that it has.
    package let channelCount: Int
    /// The length of the file in frames.
    package let frameCount: Int64
    /// Indicates whether the file has two channels of 16-bit integers.
    let hasPairs: Bool
    private let open: @Sendable () throws(AudioFileError) -> any StreamSource
    private let idle: Lock<(any StreamSource)?>
    private let staysOpen: Bool

    /// Creates a file whose properties the caller has found out.
    ///
    /// - Parameter staysOpen: `false` to close the file when a stream has read it, for one of many that is heard once.
    package init(
        path: String, sampleRate: Double, channelCount: Int, frameCount: Int64, hasPairs: Bool = false,
        source: (any StreamSource)? = nil, staysOpen: Bool = true,
        open: @escaping @Sendable () throws(AudioFileError) -> any StreamSource
    ) {
        self.path = path
        self.sampleRate = sampleRate
        self.channelCount = channelCount
        self.frameCount = frameCount
        self.hasPairs = hasPairs
        self.open = open
        self.staysOpen = staysOpen
        idle = Lock(source)
    }

    /// Returns an open file for one stream.
    func take() throws(AudioFileError) -> any StreamSource {
        let waiting = idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
        return if let waiting { waiting } else { try open() }
    }

    /// Takes a file back. One is kept open, others are closed.
    func put(_ source: any StreamSource) { if staysOpen { idle.withLock { if $0 == nil { $0 = source } } } }

    /// Closes the file, until a stream takes it.
    package func close() { idle.change { $0 = nil } }
}

extension StreamFile {
    /// Opens a file, to find out its properties.
    ///
    /// - Throws: An error if the file cannot be read, or is empty.
    package convenience init(path: String, staysOpen: Bool = true) throws(AudioFileError) {
        try self.init(path, staysOpen: staysOpen) { () throws(AudioFileError) in
            ReaderSource(try AudioFileReader(path: path))
        }
    }

    /// Opens a sound of which all bytes are in memory.
    package convenience init(bytes: [UInt8], name: String) throws(AudioFileError) {
        try self.init(name) { () throws(AudioFileError) in
            ReaderSource(try AudioFileReader(bytes: bytes, name: name))
        }
    }

    private convenience init(
        _ path: String, staysOpen: Bool = true,
        open: @escaping @Sendable () throws(AudioFileError) -> ReaderSource
    ) throws(AudioFileError) {
        let source = try open()
        let info = source.reader.info
        if info.frameCount == 0 {
            throw AudioFileError(
                path: path, reason: .empty, cannot: "play", explanation: "there is no sound in it; choose another one")
        }
        try info.checkRate("play")
        self.init(
            path: path, sampleRate: info.sampleRate, channelCount: info.channelCount, frameCount: info.frameCount,
            hasPairs: source.reader.isDirect && info.channelCount == 2, source: source, staysOpen: staysOpen,
            open: { [isDirect = source.reader.isDirect] () throws(AudioFileError) in
                let again = try open()
                let found = again.reader.info
                if found.sampleRate != info.sampleRate || found.channelCount != info.channelCount
                    || again.reader.isDirect != isDirect
                {
                    throw AudioFileError(
                        path: path, reason: .damaged, cannot: "play",
                        explanation: "another file has taken its place since it was opened; open it again")
                }
                return again
            })
    }
}

/// A file to be streamed, behind a face that tests can put something else behind: a slow disk, one that fails.
///
/// A source is used by one thread at a time; it may wait.
package protocol StreamSource: AnyObject {
    /// Reads the next frames into a block; fewer only at the end.
    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int
    /// Reads the next frames of two channels of 16-bit integers, as they are, a pair in the place of a sample; fewer only at
    /// the end. For a ``StreamFile`` that has such.
    func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int
    /// Indicates whether its samples may be no numbers, as in a file of floats.
    var isFloat: Bool { get }
    /// Goes on reading from a frame.
    func seek(to frame: Int64) throws(AudioFileError)
}

extension StreamSource {
    package var isFloat: Bool { true }
    package func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int { 0 }
}

/// A file behind the face that streams have for it.
private final class ReaderSource: StreamSource {
    var reader: AudioFileReader

    init(_ reader: consuming AudioFileReader) { self.reader = reader }

    var isFloat: Bool { !reader.isDirect }

    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        try reader.read(into: &block, at: first, frames: frames)
    }

    func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int {
        try unsafe reader.readPairs(into: pairs)
    }

    func seek(to frame: Int64) throws(AudioFileError) { try reader.seek(to: frame) }
}
