public import RenderCore

/// Hands the sound that it hears to control code, in buffers of a size of your choice. Reads the top.
///
///     let tap = BufferTap(frames: 4096)
///     …
///     context.run(tap)
///     …
///     for await buffer in tap.events { judge(buffer.channels[0], at: buffer.time) }     // anywhere
///     let subscription = tap.onMain { buffer in … }           // on the main actor
///     let subscription = tap.by({ queue.async(execute: $0) }) { buffer in … }           // on a dispatch queue
///
/// The size has nothing to do with the length of the cycles. A buffer is shorter only before a gap: if the tap was not
/// run for a while, or was not emptied in time. ``Buffer/missingFrames`` reports gaps, and ``lostFrameCount`` counts
/// lost frames. Buffers come within some 10 ms; rendering offline is faster than that, so call ``deliver()`` from time
/// to time there. Or take the samples yourself: ``read(into:)``.
///
/// Threads: control.
public final class BufferTap: Tap, EventSource {
    /// A part of the sound that was heard.
    ///
    /// Threads: control.
    public struct Buffer: Sendable {
        /// The time at which the first frame was rendered.
        public let time: RenderTime
        /// Frames per second.
        public let sampleRate: Double
        /// The samples, an array per channel.
        public let channels: [[Float]]
        /// The number of frames between the buffer before and this one; 0 if this one goes on from it.
        public let missingFrames: Int64
        /// Frames in each channel.
        public var frameCount: Int { channels[0].count }
    }

    /// Frames in a buffer.
    public let frames: Int
    /// Channels of a buffer.
    public let channels: Int
    private let feed: TapFeed
    private let hub = EventHub<Buffer>(limit: 64)
    private let reader: Lock<Reader>

    private final class Reader {
        var block: AudioBlock
        var next: Int64?
        init(_ block: consuming AudioBlock) { self.block = block }
    }

    /// Creates a tap.
    ///
    /// - Parameters:
    ///   - frames: Frames in a buffer, 1…16,777,216.
    ///   - channels: Channels of a buffer. Mono goes to every channel; else channel to channel.
    ///   - seconds: The time that may wait, in seconds, up to 96 kHz; never less than two buffers.
    /// - Precondition: The numbers are in range.
    public init(frames: Int = 4096, channels: Int = 2, seconds: Double = 2) {
        demand((1...1 << 24).contains(frames), "BufferTap: buffers of \(frames) frames; they must have 1…16,777,216")
        demand((1...64).contains(channels), "BufferTap: \(channels) channels; it must be 1…64")
        self.frames = frames
        self.channels = channels
        feed = TapFeed(channels: channels, seconds: max(seconds, 2 * Double(frames) / 96_000))
        reader = Lock(Reader(AudioBlock(channels: channels, frames: frames)), .module)
    }

    /// The number of frames that were not taken in time.
    public var lostFrameCount: Int { feed.lostFrameCount }

    /// Buffers from now on. A listener that does not keep up loses the oldest beyond 64, which is counted.
    public var events: AsyncStream<Buffer> {
        if !hub.hasListeners { reader.withLock { _ in _ = feed.ring.skip(frames: .max) } }
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    /// Hands over the frames that wait, on this thread, the last buffer also if it is short.
    public func deliver() { _ = handOver(alsoShort: true) }

    /// Takes the frames that wait into a block, at most as many as it holds: for programs that do without buffers, in
    /// one thread.
    ///
    /// - Returns: The number of frames, and the time at which the first was rendered.
    public func read(into block: inout AudioBlock) -> AudioRing.Chunk { feed.ring.read(into: &block) }

    /// Sets the ring's rate.
    public func prepare(_ preparation: Preparation) { feed.prepare(preparation) }

    /// Copies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { feed.write(context) }

    private func handOver(alsoShort: Bool) -> Bool {
        reader.withLock { reader in
            var wasBusy = false
            var limit = feed.waitingFrames
            while let buffer = take(reader, alsoShort: alsoShort, atMost: limit) {
                feed.countLost(hub.send(buffer) * frames)
                limit -= buffer.frameCount
                wasBusy = true
            }
            return wasBusy
        }
    }

    private func take(_ reader: Reader, alsoShort: Bool, atMost limit: Int) -> Buffer? {
        // The number is asked for first: more frames may come at any moment.
        let waiting = min(frames, limit)
        let chunk = feed.ring.peekContiguous(frames: waiting)
        guard chunk.frameCount > 0 else { return nil }
        // A buffer that ends before the waiting frames ends at a gap, and is whole.
        let isWhole = chunk.frameCount == frames || chunk.frameCount < waiting
        guard isWhole || alsoShort else { return nil }
        feed.ring.copy(chunk, into: &reader.block)
        feed.ring.consume(chunk)
        let first = chunk.time.sampleTime
        let missing = first.flatMap { first in reader.next.map { first.subtractingSaturated($0) } } ?? 0
        reader.next = first.map { $0.addingSaturated(Int64(chunk.frameCount)) }
        return Buffer(
            time: chunk.time, sampleRate: feed.ring.sampleRate,
            channels: (0..<reader.block.channelCount).map { Array(reader.block.array($0).prefix(chunk.frameCount)) },
            missingFrames: missing)
    }
}

extension BufferTap: Collectable {
    package func collect() -> Bool { hub.hasListeners ? handOver(alsoShort: false) : false }
}
