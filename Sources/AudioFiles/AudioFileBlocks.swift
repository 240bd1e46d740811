public import RenderCore

/// A file, block by block, read off the caller's thread while the loop runs.
///
///     for try await part in AudioFileBlocks(path: "concert.flac", sampleRate: 48_000) {
///         print(part.block.peak, part.progress.fraction)
///     }
///
/// The next block is read when it is asked for. Once the task is cancelled nothing more is handed out: the loop ends with
/// a `CancellationError`.
///
/// Threads: control.
public struct AudioFileBlocks: AsyncSequence, Sendable {
    /// A block and its place.
    ///
    /// Threads: control.
    public final class Element: Sendable {
        /// Its first frame, counted at the rate that was asked for.
        public let start: Int64
        /// The samples: as many frames as were asked for, fewer at the end.
        public let block: AudioBlock
        /// The progress of the reading.
        public let progress: AudioFileProgress

        init(start: Int64, block: consuming AudioBlock, progress: AudioFileProgress) {
            self.start = start
            self.block = block
            self.progress = progress
        }
    }

    private let path: String
    private let frames: Int
    private let sampleRate: Double?
    private let channels: Int?

    /// Creates the sequence. It opens the file when the loop begins, and throws errors there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - frames: Frames in a block, 1 or more.
    ///   - sampleRate: Frames per second that the blocks shall have; by default the file's.
    ///   - channels: Channels that they shall have, 1 to 64; by default the file's.
    public init(path: String, frames: Int = 4_096, sampleRate: Double? = nil, channels: Int? = nil) {
        self.path = path
        self.frames = Swift.max(1, frames)
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// Begins at the first frame.
    public func makeAsyncIterator() -> Iterator { Iterator(source: Source(self)) }

    /// The position of a loop over the blocks.
    ///
    /// Threads: control.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: Source

        /// Returns the next block; `nil` at the end.
        ///
        /// - Throws: ``AudioFileError``, or `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> Element? {
            try Task.checkCancellation()
            let element = try await source.next()
            try Task.checkCancellation()
            return element
        }
    }

    fileprivate actor Source {
        private let blocks: AudioFileBlocks
        private let executor = BlockingExecutor()
        private var reader: ConvertingReader?
        private var position: Int64 = 0
        private var isAtEnd = false

        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

        init(_ blocks: AudioFileBlocks) { self.blocks = blocks }

        func next() throws -> Element? {
            if isAtEnd { return nil }
            if reader == nil {
                reader = try ConvertingReader(
                    path: blocks.path, sampleRate: blocks.sampleRate, channels: blocks.channels)
            }
            let channels = reader?.channelCount ?? 1
            var block = AudioBlock(channels: channels, frames: blocks.frames)
            let count = try reader?.read(into: &block) ?? 0
            isAtEnd = count < blocks.frames
            if count == 0 { return nil }
            if isAtEnd { block = AudioBlock(copying: block, channels: 0..<channels, frames: 0..<count) }
            let start = position
            position += Int64(count)
            let progress = AudioFileProgress(
                frame: position, frameCount: reader?.frameCount ?? position, notice: reader?.reader.info.notice)
            return Element(start: start, block: block, progress: progress)
        }
    }
}
