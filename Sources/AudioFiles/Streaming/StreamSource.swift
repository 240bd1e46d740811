package import RenderCore

/// A file to be streamed, behind a face that tests can put something else behind: a slow disk, one that fails.
///
/// Used by one thread at a time; it may wait.
package protocol StreamSource: AnyObject {
    /// Reads the next frames into a block; fewer only at the end.
    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int
    /// Reads the next frames of two channels of 16-bit integers, as they are, into the memory of one channel. For a
    /// ``StreamFile`` that has such.
    func readPairs(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int
    /// Whether what it gives may be no numbers, as in a file of floats.
    var isFloat: Bool { get }
    /// Goes on reading from a frame.
    func seek(to frame: Int64) throws(AudioFileError)
}

extension StreamSource {
    package var isFloat: Bool { true }
    package func readPairs(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int { 0 }
}

/// A file that can be streamed any number of times: what it is, and how it is opened.
///
/// It stays open between one stream and the next, so that starting again costs a seek.
package final class StreamFile: Sendable {
    /// The file as it was named.
    package let path: String
    /// Frames per second.
    package let sampleRate: Double
    /// How many channels it has.
    package let channelCount: Int
    /// How long it is.
    package let frameCount: Int64
    /// Whether it is two channels of 16-bit integers.
    let hasPairs: Bool
    private let open: @Sendable () throws(AudioFileError) -> any StreamSource
    private let idle: Lock<(any StreamSource)?>

    /// A file of which somebody has found out what it is.
    package init(
        path: String, sampleRate: Double, channelCount: Int, frameCount: Int64, hasPairs: Bool = false,
        source: (any StreamSource)? = nil,
        open: @escaping @Sendable () throws(AudioFileError) -> any StreamSource
    ) {
        self.path = path
        self.sampleRate = sampleRate
        self.channelCount = channelCount
        self.frameCount = frameCount
        self.hasPairs = hasPairs
        self.open = open
        idle = Lock(source)
    }

    /// An open file for one stream.
    func take() throws(AudioFileError) -> any StreamSource {
        let waiting = idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
        return if let waiting { waiting } else { try open() }
    }

    /// Takes a file back. One is kept open, others are closed.
    func put(_ source: any StreamSource) { idle.withLock { if $0 == nil { $0 = source } } }
}
